package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/explain"
	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// allowedIn holds the arguments of the tool allowed.
type allowedIn struct {
	URL string `json:"url" jsonschema:"an http or https URL"`
}

// allowedOut is the result of the tool allowed.
type allowedOut struct {
	progress
	Allowed bool     `json:"allowed"`
	Explain string   `json:"explain,omitempty" jsonschema:"the line and the file that decide"`
	Delay   float64  `json:"crawl_delay_s,omitempty" jsonschema:"seconds between two requests that the file asks for"`
	Refused []string `json:"refused_uses,omitempty" jsonschema:"purposes for which the file forbids to collect the page, even where it may be requested"`
}

// robotsAge limits the age of a stored robots.txt that is used for a call.
const robotsAge = time.Hour

// allowed judges a URL by the robots.txt of its origin. It requests that file as a job, like a page.
func (t *tools) allowed(ctx context.Context, in allowedIn) (out allowedOut, err error) {
	u, err := parse(in.URL)
	if err != nil {
		return out, err
	}
	file := u.RobotsURL()
	settings := map[string]any{"max-pages": 1, "depth": 0, "scope": "any", "keep-links": false}
	r, last, err := t.visit(ctx, "robots "+u.Origin(), robotsAge, t.request(keepBody, settings, file.String()), &out.progress)
	if last == nil || err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	var body []byte
	if len(last.Data) > 0 {
		if err := json.Unmarshal(last.Data[0], &body); err != nil {
			return out, fmt.Errorf("job %s: %w", out.Job, err)
		}
	}
	agent := (&crawler.Config{}).Identity().Product
	q := explain.Question{Agent: agent, Policy: consent.Policy{Purposes: consent.Purposes()}}
	j := q.ByAnswer(u, politeness.OriginInfo{
		Known: last.Status != 0, Source: robots.Source{RobotsURL: file.String(), Status: last.Status, FetchedAt: last.Ended},
		Rules: robots.Parse(body, robots.WithOrigin(u.Origin())),
	})
	out.Allowed, out.Explain = j.Allowed, j.Explain
	if j.CrawlDelay != nil {
		out.Delay = *j.CrawlDelay
	}
	for _, r := range j.Refused {
		out.Refused = append(out.Refused, r.Purpose+": "+r.Why)
	}
	return out, nil
}
