// Package replay repeats the crawl of a job from its archive, without making requests, and compares each visit with the record.
//
//	r, err := job.Read("site") // a job with an archive
//	defer r.Close()
//	result, err := replay.Run(ctx, r)
//	fmt.Println(result.Text())
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Result summarizes the comparison of a repeated crawl with its record.
type Result struct {
	Visits  int      `json:"visits"`          // visits compared
	Differ  int      `json:"differ"`          // visits that differ, and URLs without a counterpart
	Taken   int      `json:"taken,omitempty"` // visits that were not repeated, because time, network or the operator decided about them
	Left    int      `json:"left,omitempty"`  // URLs that were queued and not visited, as in the job
	Changes []Change `json:"differences,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Change is a difference between a recorded visit and its repetition.
type Change struct {
	URL   string `json:"url"`
	Field string `json:"field"` // JSON name of the field; "visit" for the whole visit
	Was   string `json:"was"`
	Is    string `json:"is"`
}

// String returns the difference as one line.
func (c *Change) String() string {
	return fmt.Sprintf("%s: %s was %s, is %s", c.URL, c.Field, orNothing(c.Was), orNothing(c.Is))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// maxChanges limits the recorded differences; all are counted.
const maxChanges = 1000

// Run repeats the crawl of the job that r reads. It needs some 500 bytes of memory for each URL that the job knows. The error is an
// error of reading, or the reason why a job cannot be repeated.
func Run(ctx context.Context, r *job.Reader) (*Result, error) { return repeat(ctx, r) }

// repeat is like Run, with additional sinks.
func repeat(ctx context.Context, r *job.Reader, more ...sink.Sink) (*Result, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	cfg, err := config(r)
	if err != nil {
		return nil, err
	}
	if cfg.Sample.N > 0 && !m.Finished() {
		return nil, cli.Usage("%s draws a sample and has not come to its end: what was not drawn yet cannot be told from what was; finish it first", r.Dir())
	}
	rec, err := job.Replay(r.Dir())
	if err != nil {
		return nil, err
	}
	defer func() { _ = rec.Close() }() // only read, so an error of closing loses nothing
	x := &comparison{result: &Result{Notes: notes(m)}, byProgram: len(m.Program) > 0}
	if err := x.read(r); err != nil {
		return nil, err
	}
	if err := rec.Apply(&cfg); err != nil {
		return nil, err
	}
	if err := x.crawl(ctx, cfg, m.Seeds, r, more); err != nil {
		return nil, err
	}
	x.end(m)
	return x.result, nil
}

// Check returns an error if the settings of the job do not allow its crawl to be repeated.
func Check(r *job.Reader) error {
	_, err := config(r)
	return err
}

// config returns the configuration of the job for one worker, without limits that end a crawl early: the record decides where it ended.
func config(r *job.Reader) (crawler.Config, error) {
	c, err := r.Config()
	if err != nil {
		return crawler.Config{}, err
	}
	if c.Since != "" {
		return crawler.Config{}, cli.Usage("%s was crawled with since %s: pages that had not changed are not in its archive, so that it cannot be repeated", r.Dir(), c.Since)
	}
	if mode := c.Crawl.Render.Mode; c.Crawl.Render.Renders() {
		return crawler.Config{}, cli.Usage("%s was crawled with render %s: rendering is not repeated, and without it pages have other links", r.Dir(), mode)
	}
	if c.Crawl.Follow.Documents {
		return crawler.Config{}, cli.Usage("%s was crawled with documents: they are not read again, and without their links it cannot be repeated", r.Dir())
	}
	if scope, err := c.Crawl.SeedScope(); err == nil && !scope.JudgeType(weburl.URL{}, "text/html").In && scope.WantsType("text/html") {
		return crawler.Config{}, cli.Usage("%s was crawled with accept and without text/html: pages that led to others are not in its archive, so that it cannot be repeated", r.Dir())
	}
	cfg, err := r.Crawler(&c)
	if err != nil {
		return crawler.Config{}, err
	}
	l := &cfg.Limits
	cfg.Concurrency, l.Pages, l.Bytes, l.Time, l.Errors = 1, math.MaxInt32, 0, 0, 0
	cfg.Politeness.MaxFailures, cfg.Politeness.MaxSilence, cfg.Politeness.OptOut = crawler.Unlimited, crawler.Forever, nil
	return cfg, nil
}

// notes returns reasons for which an intact job may differ.
func notes(m *job.Manifest) (all []string) {
	if len(m.Program) > 0 {
		all = append(all, fmt.Sprintf("a program made the job with %v: what it did with pages is not repeated", m.Program))
	}
	for i, run := range m.Runs {
		for _, c := range run.Changes {
			if c.Key != "" {
				all = append(all, fmt.Sprintf("process %d changed %s from %q to %q: what came before was decided otherwise", i+1, c.Key, c.From, c.To))
			}
		}
	}
	return all
}

// crawl repeats the crawl of the job, and compares its visits.
func (x *comparison) crawl(ctx context.Context, cfg crawler.Config, seeds []string, r *job.Reader, more []sink.Sink) error {
	key := cfg.Canonical.Key
	next, stop := pull(r.Visits())
	defer stop()
	x.script = &script{next: next, key: key, skipped: x.skipped, lost: x.lost, begun: x.began, urls: map[weburl.Key]*entry{}, draws: cfg.Sample.N > 0}
	cfg.Frontier, cfg.Sinks = x.script, append([]sink.Sink{x}, more...)
	c, err := crawler.New(cfg)
	if err != nil {
		return fmt.Errorf("%s cannot be repeated with its settings: %w", r.Dir(), err)
	}
	_, err = c.Run(ctx, seeds...)
	var unreachable *crawler.UnreachableError
	if errors.As(err, &unreachable) {
		err = nil
	}
	return errors.Join(err, x.script.err, x.err)
}

// began returns the time when the visit of a URL began, if it is known.
func (x *comparison) began(url string) (time.Time, bool) {
	p := x.pages[hashOf(url)]
	if p == nil {
		return time.Time{}, false
	}
	return p.from, true
}

// Links calls f with each link of the pages of a job, in the order of its visits: from the job's links file (job.Config.Links), or
// otherwise from the archived pages, repeating the crawl like [Run], whose Result it returns. f must not keep the link. The error comes
// from f or from Run.
func Links(ctx context.Context, r *job.Reader, f func(*sink.Outlink) error) (*Result, error) {
	for l, err := range r.Links() {
		if errors.Is(err, fs.ErrNotExist) {
			return repeat(ctx, r, &reread{f: f})
		}
		if err == nil {
			err = f(l)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // nothing was repeated
}

// reread is a sink that passes links to a function.
type reread struct {
	sink.Base
	f func(*sink.Outlink) error
}

// Needs implements sink.Sink.
func (*reread) Needs() sink.Needs { return sink.Needs{Links: true} }

// Append implements sink.Sink.
func (l *reread) Append(_ context.Context, r *sink.Record) error {
	for i := range r.Outlinks {
		if err := l.f(&r.Outlinks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Sync implements sink.Sink.
func (*reread) Sync(_ context.Context) (int64, error) { return 0, nil }

// Restore implements sink.Sink.
func (*reread) Restore(context.Context, int64) error { return nil }

// Close implements sink.Sink.
func (*reread) Close(_ context.Context) error { return nil }
