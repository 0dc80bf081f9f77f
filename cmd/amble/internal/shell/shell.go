package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Shell shows pages at a prompt. Its fields must not change while it runs.
type Shell struct {
	// Crawl is the configuration with which pages are read. Its sinks and other outputs are not used.
	Crawl crawler.Config
	Seeds []weburl.URL // seeds of the crawl, which set its scope
	// Offline changes a configuration so that all responses come from a recording: job.Recording.Apply or Capture.Apply.
	Offline func(*crawler.Config) error

	In   Lines
	Out  io.Writer // writer for the output of commands
	Errs io.Writer // writer for errors about lines
	Most int       // maximum number of results shown per command; 0: all
	// Greet shows the first page before any line is read.
	Greet bool
}

// Lines supplies the input, line by line. After the last line it returns io.EOF.
type Lines interface{ ReadLine() (string, error) }

// PageError is the error for a URL that has no page to show.
type PageError struct {
	URL    weburl.URL
	Record *sink.Record // record of the visit; nil if nothing is known about the URL
}

func (e *PageError) Error() string {
	if e.Record == nil {
		return fmt.Sprintf("%s was not fetched", e.URL)
	}
	if e.Record.Reason == fetcher.ReasonNotRecorded {
		return fmt.Sprintf("%s is not recorded, and nothing is requested here", e.Record.URL)
	}
	facts := []string{e.Record.Outcome, e.Record.Reason, e.Record.Detail, e.Record.Error}
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	return e.Record.URL + ": " + strings.Join(facts, ", ")
}

// Run shows the page at u, and executes lines until they end or "quit". wrong is the number of lines that failed; Errs has their errors.
// The error is a *[PageError], or concerns the configuration or Out.
func (s *Shell) Run(ctx context.Context, u weburl.URL) (wrong int, err error) {
	p := &prompt{Shell: s}
	for next := u; !next.IsZero(); next = p.next {
		p.next = weburl.URL{}
		if p.record == nil {
			if p.record, err = s.look(ctx, next); err != nil {
				return p.wrong, err
			}
		}
		if err := p.show(ctx, next); err != nil {
			return p.wrong, err
		}
	}
	return p.wrong, p.failed
}

// config returns the configuration of a crawl that visits only the page at u and its redirects.
func (s *Shell) config(u weburl.URL) (crawler.Config, error) {
	c := s.Crawl
	scope, err := c.SeedScope(append([]weburl.URL{u}, s.Seeds...)...)
	if err != nil {
		return c, err
	}
	c.Scope.Custom, c.Hosts = scope, nil // scope includes the rules of Hosts, whose other settings do not matter offline
	c.Concurrency, c.Limits.Pages, c.Limits.Depth, c.Limits.PagesPerHost = 1, 1, crawler.Unlimited, 0
	c.Seeds, c.Since, c.Sinks, c.Frontier, c.Trace, c.KeepRobots, c.AtCommit = nil, nil, nil, nil, nil, nil, nil
	return c, s.Offline(&c)
}

// look reads the page at u and returns the record of the visit.
func (s *Shell) look(ctx context.Context, u weburl.URL) (*sink.Record, error) {
	c, err := s.config(u)
	if err != nil {
		return nil, err
	}
	var last recordOf
	c.Sinks = []sink.Sink{&last}
	c.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error { return stopAt(v) })
	crawl, err := crawler.New(c)
	if err != nil {
		return nil, err
	}
	_, err = crawl.Run(ctx, u.String())
	var vain *crawler.UnreachableError
	if err != nil && !errors.As(err, &vain) {
		return nil, err
	}
	if last.r == nil || last.r.Status == 0 || last.r.Outcome != string(crawler.Fetched) {
		return nil, &PageError{u, last.r}
	}
	return last.r, nil
}

// stopAt is a handler that ends the crawl when the page is found.
func stopAt(v *crawler.Visit) error {
	if v.Outcome == crawler.Redirected {
		return nil
	}
	return crawler.Stop
}

// recordOf is a sink that keeps only the last record.
type recordOf struct {
	sink.Base
	r *sink.Record
}

func (s *recordOf) Append(_ context.Context, r *sink.Record) error {
	s.r = r
	return nil
}

func (*recordOf) Sync(_ context.Context) (int64, error) { return 0, nil }
func (*recordOf) Restore(context.Context, int64) error  { return nil }
func (*recordOf) Close(_ context.Context) error         { return nil }

// show executes lines for the page at u, once look has found it.
func (p *prompt) show(ctx context.Context, u weburl.URL) error {
	c, err := p.config(u)
	if err != nil {
		return err
	}
	var crawl *crawler.Crawler
	c.Handler = crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
		if v.Outcome == crawler.Fetched {
			p.visit, p.client = v, &fetcher.Client{Gate: crawl.Gate(), Fetcher: c.Fetcher}
			p.scope, _ = c.Scope.Custom.(*crawler.SeedScope) // the function config has set Custom
			if p.Greet && !p.greeted {
				p.greeted, _ = true, p.page(ctx, "")
				p.print("help lists what can be tried here; nothing is requested")
			}
			p.run(ctx)
		}
		return stopAt(v)
	})
	if crawl, err = crawler.New(c); err != nil {
		return err
	}
	_, err = crawl.Run(ctx, u.String())
	return errors.Join(err, p.failed)
}

// oneLine returns text with white space collapsed, cut to the maximum number of characters.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	for i := range text {
		if most--; most < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
