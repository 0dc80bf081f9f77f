package main

import (
	"os"

	"github.com/amble-crawler/amble/cmd/amble/internal/explain"
	"github.com/amble-crawler/amble/cmd/amble/internal/live"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
)

// liveFlags configure the page of a running crawl.
type liveFlags struct {
	Listen string `placeholder:"ADDR" help:"Serve a page on which the crawl is watched and controlled, such as on loopback:0, with metrics: any free port of a random address of 127.0.0.0/8 (127.0.0.1 if the system has no others). Its address, which opens it, is printed, with --quiet too."`
	Debug  bool   `help:"With --listen: also serve the profiles of net/http/pprof."`

	ListenToken string `placeholder:"FILE" help:"With --listen: file with the page's token, for programs that read the metrics. Without it each start has a new one."`
}

// check returns an error for flags that have no effect.
func (f *liveFlags) check() error {
	if err := cli.Refuse(f.ListenToken != "" && f.Listen == "", "--listen-token: the token is that of the page: name its address with --listen"); err != nil {
		return err
	}
	return cli.Refuse(f.Debug && f.Listen == "", "--debug: profiles are served on the page: name its address with --listen")
}

// page opens the page of a crawl. It returns nil if no page is requested.
func (f *liveFlags) page(j *crawlJob) (*live.Opening, error) {
	if f.Listen == "" {
		return nil, nil
	}
	p, err := live.Open(f.Listen)
	if err != nil {
		return nil, cli.UsageOf("--listen: ", err)
	}
	if f.ListenToken != "" {
		if err := p.TokenFile(f.ListenToken); err != nil {
			p.Close()
			return nil, cli.UsageOf("--listen-token: ", err)
		}
	}
	p.Configure(&j.cfg, j.dir != "")
	return p, nil
}

// serve starts serving the page of a crawl that is about to begin.
func (j *crawlJob) serve(a *app, p *live.Opening, run opened, look *plan.Outlook) error {
	c := live.Config{
		Seeds: operator.Texts(j.seeds), Agent: j.cfg.Agent, Dir: j.dir, Limits: j.cfg.Limits, Crawler: run.Crawler(), Outlook: look,
		Control: live.Over{Crawler: run.Crawler()}, Timeout: j.cfg.Fetch.FetchTimeout, Debug: j.watch.Debug,
	}
	if j.dir == "" {
		rules, err := j.job.Audit()
		if err != nil {
			return err
		}
		p.Serve(c, rules, nil)
		return nil
	}
	r, err := job.Read(j.dir)
	if err != nil {
		return err
	}
	rules, err := r.AuditConfig()
	if err != nil {
		return err
	}
	c.Source, c.Why = r.Follow(), explain.Job(a.err, j.dir)
	if control, ok := run.(live.Control); ok {
		c.Control = control
	}
	if kept, ok := run.(*job.Job); ok {
		c.Space = kept.Space
	}
	p.Serve(c, rules, r.RobotsBody)
	return nil
}

// tellPage prints the URL of a page, even with -q, because its token cannot be guessed.
func tellPage(v *view.View, url string, public bool) {
	v.Answer("watch it at %s", url)
	if public {
		v.Tell("other machines can reach that address, and nothing is encrypted: anyone who sees the token controls the crawl")
	}
}

// showPage serves a read-only page of a crawl that has ended, was killed, or runs in another process.
func showPage(a *app, dir, listen string) error {
	r, err := job.Read(dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	m, err := r.Manifest()
	if err != nil {
		return err
	}
	rules, err := r.AuditConfig()
	if err != nil {
		return err
	}
	cfg, err := explain.SettingsOf(r)
	if err != nil {
		return err
	}
	s, err := live.Show(listen, live.Config{
		Seeds: m.Seeds, Agent: cfg.Agent, Dir: dir, Limits: cfg.Limits, Source: r.Follow(), Why: explain.Job(a.err, dir),
		Digest: digest.New(digest.Config{Audit: rules, Body: r.RobotsBody}), State: func() live.State { return stateOf(r) },
	})
	if err != nil {
		return cli.UsageOf("--listen: ", err)
	}
	defer s.Close()
	signals := make(chan os.Signal, 1)
	a.notify(signals) // before the address is printed, because its reader may end the process at once
	defer a.ignore(signals)
	tellPage(a.view(view.Flags{}), s.URL(), s.Public())
	return cli.Exit(signalCode(<-signals), nil)
}

// stateOf returns the state of a job.
func stateOf(r *job.Reader) live.State {
	m, err := r.Manifest()
	if err != nil {
		return live.State{Text: "its manifest cannot be read"}
	}
	state := live.State{Text: r.Standing(m), Running: m.Unfinished() && r.Running()}
	if !m.Unfinished() {
		state.Left = m.Last().Left
	}
	return state
}
