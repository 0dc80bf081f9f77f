package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/crawler"
)

// config returns the configuration of the crawl: whole sites, HTML only, with near duplicates named.
func (o options) config(c crawler.Config) crawler.Config {
	o.Set(&c)
	c.Limits.Depth = crawler.None
	c.Duplicates.NearBits = nearBits
	c.Politeness.RefuseUsage = o.refuse
	c.Fetch.Wanted = isHTML
	c.Fetch.MaxBody = maxPage
	return c
}

const (
	nearBits = 3       // of 64
	maxPage  = 4 << 20 // bytes: a longer page is left out, because its text would end anywhere
)

// collect crawls and writes. whole reports whether the crawl was complete, not ended by a limit or an interrupt.
func collect(ctx context.Context, o options, stdout, stderr io.Writer, base crawler.Config) (whole bool, err error) {
	k := &collector{options: o, out: json.NewEncoder(stdout), left: map[string]int{}}
	k.out.SetEscapeHTML(false)
	cfg := o.config(base)
	cfg.Handler = k
	c, err := crawler.New(cfg)
	if err != nil {
		return false, err
	}
	if o.markdown != "" {
		if err := os.MkdirAll(o.markdown, 0o755); err != nil {
			return false, err
		}
	}
	defer context.AfterFunc(ctx, c.Drain)()
	rep, err := c.Run(context.WithoutCancel(ctx), o.seeds...)
	if rep != nil {
		fmt.Fprintf(stderr, "%d texts of %d pages (%s); %s\n", k.written, rep.Pages, rep.Finish, k.summary())
	}
	if err = errors.Join(err, k.err); err != nil {
		return false, err
	}
	return rep.Finish == crawler.FinishDone, nil
}

// collector writes the texts of a crawl. It is the crawl's Handler.
type collector struct {
	options
	mu      sync.Mutex
	out     *json.Encoder
	written int
	left    map[string]int // left out, by reason
	err     error          // the output cannot be written
}

// Handle implements crawler.Handler.
func (k *collector) Handle(_ context.Context, v *crawler.Visit) error {
	d, why := k.read(v)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.err != nil:
		return crawler.Stop
	case why == "":
		k.written++
		k.err = k.write(d)
	default:
		k.left[why]++
	}
	return nil
}

// read makes the document of a visited page, or returns why it has none.
func (k *collector) read(v *crawler.Visit) (d document, why string) {
	if why := judge(v); why != "" {
		return d, why
	}
	page, err := v.Page.Text()
	if err != nil {
		return d, "unreadable"
	}
	if d, err = newDocument(v, page); err != nil {
		return d, "unreadable"
	}
	switch {
	case !inLanguage(d.Lang, k.lang):
		return d, "language"
	case d.Words < k.minWords || d.Words == 0:
		return d, "short"
	}
	return d, ""
}

// judge returns why a page is left out, before it is parsed.
func judge(v *crawler.Visit) string {
	switch {
	case v.Outcome == crawler.Redirected:
		return "redirect"
	case v.Outcome != crawler.Fetched:
		return cmp.Or(v.Reason, string(v.Outcome))
	case v.Status() != http.StatusOK:
		return fmt.Sprintf("status_%d", v.Status())
	case v.Doc == nil:
		return "not_html"
	case v.Page.Truncated != "":
		return "truncated"
	case v.Directives.NoIndex:
		return "noindex"
	case v.Directives.NoArchive:
		return "noarchive"
	case v.SameAs != "":
		return "same"
	case v.NearOf != "":
		return "nearly_same"
	}
	return ""
}

// inLanguage reports whether a language tag is the requested one, or a subtag of it (RFC 4647 section 3.3.1: basic
// filtering).
func inLanguage(tag, want string) bool {
	tag, want = strings.ToLower(tag), strings.ToLower(want)
	return want == "" || tag == want || strings.HasPrefix(tag, want+"-")
}

// write writes a document, and its file if files are requested.
func (k *collector) write(d document) error {
	if k.markdown != "" {
		if err := d.save(k.markdown); err != nil {
			return err
		}
	}
	return k.out.Encode(d)
}

// summary returns what was left out, by reason.
func (k *collector) summary() string {
	if len(k.left) == 0 {
		return "nothing left out"
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(k.left)) {
		parts = append(parts, fmt.Sprintf("%s %d", why, k.left[why]))
	}
	return "left out: " + strings.Join(parts, ", ")
}

// isHTML reports whether a media type is that of a page.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}
