package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/text"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/weburl"
)

// crawlJob is a crawl to run, with display options.
type crawlJob struct {
	view       *view.View
	cfg        crawler.Config
	seeds      []weburl.URL
	stdoutFree bool // whether the summary may be printed on stdout
	introduced bool // whether the crawl was already announced on the terminal
	pages      bool // whether every URL has a line on stdout
	noSummary  bool // whether the command prints its result instead of a summary

	watch liveFlags
	dir   string      // job directory; "" if the crawl is not kept
	job   *job.Config // settings from which cfg was made; may be nil

	advice string                               // printed when a signal stops the crawl: how to resume it, or ""
	open   func(crawler.Config) (opened, error) // makes the crawl ready to run
}

// opened is a crawl that is ready to run.
type opened interface {
	Crawler() *crawler.Crawler
	Run(ctx context.Context) (*crawler.Report, error)
	HostPending(host string) int
}

// ending describes how a crawl ended.
type ending struct {
	*crawler.Report
	signal int    // exit code of the signal that ended the crawl; 0 if none did
	seeds  string // outcomes of the first seeds that were not fetched, one per line

	vain *crawler.UnreachableError // set if no host responded
}

// how returns why a crawl ended if the report does not have the reason, otherwise "".
func (e *ending) how(err error) string {
	switch {
	case errors.Is(err, cli.ErrClosed):
		return "stdout was closed"
	case e.signal != 0:
		return "interrupted"
	}
	return ""
}

// crawl runs a crawl with status display, summary and signal handling. The ending is nil if the crawl could not begin.
func (a *app) crawl(j *crawlJob) (*ending, error) {
	w := j.view.Follow(j.cfg.Politeness.RobotsGiveUp, j.pages)
	j.cfg.Trace = w.Trace()
	look := plan.NewOutlook(j.cfg.Politeness.Rate)
	look.Trace(j.cfg.Trace)
	page, err := j.watch.page(j)
	if err != nil {
		return nil, err
	}
	if page != nil {
		defer page.Close()
	}
	endBrowser, err := j.startBrowser()
	if err != nil {
		return nil, err
	}
	defer endBrowser()
	if j.cfg.Follow.Documents && j.cfg.Documents == nil {
		j.cfg.Documents = document.Links{Reader: documents()}
	}
	if j.job != nil && j.job.Text {
		j.job.TextReader = text.Reader(document.Articles{Reader: documents()})
	}
	run, err := j.open(j.cfg)
	switch {
	case errors.Is(err, job.ErrSpace):
		return nil, cli.Exit(cli.ExitLimit, err)
	case err != nil:
		return nil, keyflags.Errors(err)
	}
	c := run.Crawler()
	look.Watch(run, c.Gate())
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if !j.introduced {
		j.view.Begin(&j.cfg, j.seeds)
	}
	if page != nil {
		if err := j.serve(a, page, run, look); err != nil {
			return nil, err
		}
		tellPage(j.view, page.URL(), page.Public())
	}
	stopSignals := a.watchSignals(c, cancel, j.view, j.advice)
	stopStatus := j.view.Watch(c, &j.cfg, look)
	rep, err := run.Run(ctx)
	stopStatus()
	end := &ending{Report: rep, signal: stopSignals(), seeds: w.SeedsFate()}
	if rep == nil {
		return nil, keyflags.Errors(err)
	}
	if !j.noSummary {
		j.view.Summary(rep, end.how(err), err, j.stdoutFree)
	}
	if errors.As(err, &end.vain) {
		err = nil
	}
	return end, err
}

// unkeptCrawler returns the configuration of the crawler for a crawl that is not kept.
func (a *app) unkeptCrawler(cfg *job.Config, seeds []weburl.URL) (crawler.Config, error) {
	x, err := cfg.Crawler()
	if err == nil {
		x.ShareMachine(cfg.State)
		err = errors.Join(cfg.Access(&x, seeds...), x.Validate())
	}
	if err != nil {
		return x, keyflags.Errors(err)
	}
	a.warnAlone(&x)
	return x, nil
}

// memoryCrawl is a crawl that is not kept.
type memoryCrawl struct {
	crawler *crawler.Crawler
	queue   *frontier.Memory
	seeds   []weburl.URL
}

// inMemory returns a function that opens a crawl of these seeds with its queue in memory.
func inMemory(seeds []weburl.URL) func(crawler.Config) (opened, error) {
	return func(cfg crawler.Config) (opened, error) {
		m := &memoryCrawl{seeds: seeds}
		m.queue = frontier.NewMemory(frontier.MemoryConfig{HostSlots: cfg.Politeness.OwnHosts, Key: cfg.Canonical.Key})
		cfg.Frontier = m.queue
		var err error
		m.crawler, err = crawler.New(cfg)
		return m, err
	}
}

// Crawler returns the crawler.
func (m *memoryCrawl) Crawler() *crawler.Crawler { return m.crawler }

// HostPending returns the number of queued URLs of a host.
func (m *memoryCrawl) HostPending(host string) int { return m.queue.HostPending(host) }

// Run runs the crawl.
func (m *memoryCrawl) Run(ctx context.Context) (*crawler.Report, error) {
	defer func() { _ = m.queue.Close() }() // closing a memory store cannot fail
	return m.crawler.Run(ctx, operator.Texts(m.seeds)...)
}

// kept runs a crawl in the directory of --out.
func (c *crawlFlags) kept(a *app, v *view.View, cfg *job.Config, seeds []weburl.URL, open func(job.Config) (*job.Job, error)) error {
	var uploading atomic.Bool
	cfg.Note = func(text string) {
		if uploading.Load() { // shown at once, because during an upload nothing else shows that the command works
			v.Answer("%s", text)
			return
		}
		v.Note(text)
	}
	leave, err := c.join(cfg, v.Tell)
	if err != nil {
		return err
	}
	defer leave()
	var j *job.Job
	var finished error
	end, err := a.crawl(&crawlJob{
		view: v, cfg: cfg.Crawl, seeds: seeds, stdoutFree: c.named == "", pages: v.ShowsPages() && !c.Quiet, advice: "to resume it later: " + resumeCommand(kept.Name(c.Out)),
		watch: c.liveFlags, dir: c.Out, job: cfg,
		open: func(x crawler.Config) (opened, error) {
			cfg.Crawl = x
			var err error
			if j, err = open(*cfg); errors.Is(err, job.ErrFinished) {
				finished = err
			}
			if err != nil {
				return nil, err
			}
			for _, note := range j.Notes() {
				v.Tell("%s", note)
			}
			return j, nil
		},
	})
	if finished != nil && job.Unstored(c.Out) {
		return a.uploadRest(v, c.Out)
	}
	if finished != nil {
		v.Tell("%v%s", finished, remedy(finished))
		return nil //nolint:nilerr // there is nothing to do
	}
	if j == nil {
		return err
	}
	if err == nil && end.signal == 0 {
		err = writePage(c.Out)
	}
	uploading.Store(true)
	switch {
	case err != nil:
	case end.signal == 0:
		err = a.upload(j)
	default:
		if err := a.upload(j); err != nil {
			v.Answer("%v", err)
		}
	}
	closed := j.Close()
	c.tellNext(v, cfg, end)
	return errors.Join(c.verdict(cfg, end, err), closed)
}

// upload stores the files of a job that the store does not have yet. A signal aborts it, even while the store does not answer.
func (a *app) upload(j *job.Job) error {
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	err := j.Upload(ctx)
	if code := endedBy(ctx); code != 0 {
		return cli.Exit(code, err)
	}
	return err
}

// uploadRest completes the interrupted upload of a job whose crawl has ended.
func (a *app) uploadRest(v *view.View, dir string) error {
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	err := job.UploadRest(ctx, dir, func(text string) { v.Answer("%s", text) })
	if code := endedBy(ctx); code != 0 {
		return cli.Exit(code, err)
	}
	if err == nil {
		v.Tell("job %s had ended; the files that its store lacked are there now", kept.Name(dir))
	}
	return err
}

// reportCommands are the commands that reports mention.
var reportCommands = report.Commands{
	Verify: "amble verify", URLs: "amble export --to urls", Check: "amble check", Explain: "amble explain", Resume: "amble resume", Crawl: "amble crawl --config",
}

// resumeCommand returns the command line that resumes the job in a directory.
func resumeCommand(dir string) string { return "amble resume " + cli.ShellWord(dir) }

// writePage writes the report of a job as an HTML page into the job's directory.
func writePage(dir string) error {
	r, err := job.Read(dir)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(r, reportCommands), r.Close())
}

// tellNext prints a suggested command and, unless the user named it, the directory of the kept job.
func (c *crawlFlags) tellNext(v *view.View, cfg *job.Config, end *ending) {
	if end == nil {
		return
	}
	word := cli.ShellWord(kept.Name(c.Out))
	if c.named != "" {
		size, _ := job.SizeOf(c.Out) // on an error, the size of what can be read
		v.Tell("kept as %s, %s; to remove it: amble jobs rm %s", c.named, cli.Bytes(size), word)
	}
	switch {
	case end.Finish == crawler.FinishDone:
		v.Next("its report", "amble show "+word)
	case end.Finish == crawler.FinishMinFree:
		v.Next("to resume it once there is room", resumeCommand(kept.Name(c.Out)))
	case end.Finish.Limit() || end.Finish == crawler.FinishErrors:
		v.Next("to resume it with a higher limit", resumeCommand(kept.Name(c.Out))+doubled(cfg, end.Finish))
	default:
		v.Next("to resume it", resumeCommand(kept.Name(c.Out)))
	}
}

// doubled returns a flag with twice the limit that ended a crawl, "" if only more free disk space helps.
func doubled(cfg *job.Config, by crawler.Finish) string {
	if by == crawler.FinishMinFree {
		return ""
	}
	l := &cfg.Crawl.Limits
	value := map[crawler.Finish]any{
		crawler.FinishPages: 2 * l.Pages, crawler.FinishBytes: cli.Size(2 * l.Bytes), crawler.FinishTime: cli.Duration(2 * l.Time), crawler.FinishErrors: 2 * l.Errors,
		crawler.FinishMaxDisk: cli.Size(2 * cfg.MaxDisk),
	}[by]
	return fmt.Sprintf(" --%s %v", report.LimitName(by), value)
}

// cutShort reports whether an error or a signal ended the crawl early, and returns the command's error for it.
func cutShort(end *ending, err error) (cut bool, _ error) {
	switch {
	case errors.Is(err, cli.ErrClosed), end == nil:
		return true, err
	case end.Finish == crawler.FinishError:
		return true, outputError(err)
	case err != nil:
		return true, err
	case end.signal != 0:
		return true, cli.Exit(end.signal, nil)
	}
	return false, nil
}

// verdict returns the command's error for the end of a crawl, nil for success.
func (c *crawlFlags) verdict(cfg *job.Config, end *ending, err error) error {
	if cut, err := cutShort(end, err); cut {
		return err
	}
	switch {
	case end.vain == nil && end.Finish == crawler.FinishErrors:
		return cli.Exit(cli.ExitFailures, fmt.Errorf("ended because %s failed (--max-errors)", cli.Plural(int(cfg.Crawl.Limits.Errors), "URL")))
	case end.vain == nil && end.Finish == crawler.FinishMinFree:
		return cli.Exit(cli.ExitLimit, fmt.Errorf("the disk is nearly full: the crawl ended with %s left, to keep the space of --min-free free", cli.Plural(end.Left, "URL")))
	}
	if err := end.noPages(); err != nil {
		return err
	}
	if c.FailOnLimit && end.Finish.Limit() {
		return cli.Exit(cli.ExitLimit, fmt.Errorf("the limit %s ended the crawl with %s left", report.LimitName(end.Finish), cli.Plural(end.Left, "URL")))
	}
	return nil
}

// noPages returns the command's error for a crawl that got nothing, or that met a bot wall at a seed. Otherwise it returns nil.
func (e *ending) noPages() error {
	switch {
	case e.vain != nil:
		return cli.Exit(cli.ExitNothing, errors.New(view.Unreachable(e.vain)))
	case len(e.WalledSeeds) > 0:
		return cli.Exit(cli.ExitWall, errors.New(view.Walled(e.WalledSeeds)))
	case e.Pages+e.Outcomes[crawler.NotModified] == 0:
		return cli.Exit(cli.ExitNothing, errors.New("nothing was fetched"+e.seeds))
	}
	return nil
}

// outputError gives an error of writing results its exit code, unless it has one.
func outputError(err error) error {
	if err == nil || errors.As(err, new(*cli.Error)) || errors.As(err, new(*job.Error)) || errors.Is(err, cli.ErrClosed) {
		return err
	}
	return cli.Exit(cli.ExitOutput, err)
}

// restrain limits the connections of a crawl to the number of files that may be open, and tells the user if this allows
// fewer concurrent requests than requested.
func restrain(v *view.View, c *crawler.Config) {
	s, wanted := openfiles.Share(openfiles.Limit()), c.Concurrency
	s.Restrain(c)
	if note := s.Note(wanted, c.Concurrency); note != "" {
		v.Tell("%s", note)
	}
}
