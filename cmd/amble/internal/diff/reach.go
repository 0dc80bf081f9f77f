package diff

import (
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// reach describes which URLs a crawl would have requested, had links led to them.
type reach struct {
	ended string // why the crawl did not request all known URLs; "" if it did
	depth crawler.Limit
	scope *crawler.SeedScope
}

func reachOf(r *job.Reader) (*reach, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	var seeds []weburl.URL
	for _, s := range m.Seeds {
		if u, err := weburl.Parse(s); err == nil {
			seeds = append(seeds, u)
		}
	}
	x := &reach{depth: c.Crawl.Limits.Depth}
	if x.scope, err = c.Crawl.SeedScope(seeds...); err != nil {
		return nil, err
	}
	switch last := m.Last(); {
	case m.Finished():
	case r.Running():
		x.ended = "it is not finished"
	case last.Ended.IsZero():
		x.ended = "it was killed"
	default:
		x.ended = fmt.Sprintf("it ended before (%s)", last.Finish)
	}
	return x, nil
}

// missed returns the reason why the crawl would not have requested a URL, found at this depth by the other crawl; "" if it would have.
func (x *reach) missed(url string, depth int) string {
	u, err := weburl.Parse(url)
	if err != nil {
		return "no valid URL"
	}
	if d := x.scope.Decide(u); !d.In {
		return "out of its scope: " + d.Rule
	}
	if int64(depth) > x.depth.Value() {
		return fmt.Sprintf("deeper than its depth of %d", x.depth.Value())
	}
	return x.ended
}
