package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// crawlCmd is "amble crawl". Its flags' names are also the keys of the job file.
type crawlCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	Config      configFile `placeholder:"FILE" help:"Job file (YAML); its keys are these flags' names."`
	PrintConfig bool       `help:"Print every value and where it came from, and stop."`

	Agent   string `placeholder:"NAME/VERSION" default:"${agent}" help:"Who crawls: the User-Agent, and the name robots.txt is read for (${default})."`
	Contact string `placeholder:"URL|MAIL" help:"Where site owners reach you. Required unless every seed is on loopback."`

	Seeds   string   `short:"i" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	Depth   count    `short:"d" default:"5" placeholder:"N" help:"Links followed from a seed (${default})."`
	Scope   string   `enum:"host,domain,prefix,any" default:"host" help:"How far from the seeds: host, domain, prefix or any (${default})."`
	Include patterns `placeholder:"RE" help:"Take in URLs that match; rules are ordered, the last match wins."`
	Exclude patterns `placeholder:"RE" help:"Leave out URLs that match."`

	Delay       duration `short:"w" default:"1s" placeholder:"D" help:"Least time from the end of one request to a host to the start of the next (${default})."`
	DelayFactor float64  `default:"1" placeholder:"F" help:"Wait at least F times the last response time (${default})."`
	MaxDelay    duration `default:"1m" placeholder:"D" help:"Cap of what --delay-factor adds (${default})."`
	PerHost     int      `default:"1" placeholder:"N" help:"Requests in flight per host; more only with --own-hosts (${default})."`
	OwnHosts    string   `placeholder:"FILE" help:"Hosts you own, one a line: the only ones --per-host applies to."`
	Concurrency int      `short:"c" default:"64" placeholder:"N" help:"Requests in flight in all (${default})."`
	Rate        float64  `default:"0" placeholder:"R" help:"Requests per second in all; 0 is no limit."`

	MaxPages   count    `default:"1000" placeholder:"N" help:"Pages fetched, exactly (${default})."`
	MaxBytes   size     `default:"none" placeholder:"SIZE" help:"Octets received (${default})."`
	MaxTime    duration `default:"none" placeholder:"D" help:"Time until the last request starts (${default})."`
	MaxPerHost count    `default:"none" placeholder:"N" help:"Pages fetched per host (${default})."`
	MaxBody    size     `default:"10MiB" placeholder:"SIZE" help:"Octets of one body, decoded; longer ones are cut and flagged (${default})."`
	Retries    count    `default:"2" placeholder:"N" help:"Attempts after the first (${default})."`
	Sitemaps   bool     `help:"Also crawl what the sitemaps in robots.txt list."`

	FollowNofollow bool           `help:"Follow links marked rel=nofollow."`
	AllowAddress   []netip.Prefix `placeholder:"CIDR" help:"Address ranges that links may lead to although they are private or special."`

	Out         string `short:"o" placeholder:"DIR" help:"Write visits, ledger and robots.txt files to this new directory instead of stdout."`
	FailOnLimit bool   `help:"Exit 5 when a limit ended the crawl."`

	outputFlags
}

// outputFlags are shared by the commands that crawl.
type outputFlags struct {
	JSON      bool   `help:"Print the summary as JSON."`
	Quiet     bool   `short:"q" help:"No status and no summary."`
	Verbose   bool   `short:"v" help:"Log every request and wait."`
	LogFormat string `enum:"text,json" default:"text" help:"Form of log lines: text or json (${default})."`
	Color     string `enum:"auto,always,never" default:"auto" help:"Colour on stderr: auto, always or never (${default})."`
}

// Run executes the command.
func (c *crawlCmd) Run(a *app, o *originTracker) error {
	if c.PrintConfig {
		return a.printConfig(o)
	}
	seeds, err := c.seeds(a.in)
	if err != nil {
		return err
	}
	cfg, err := c.crawlerConfig()
	if err != nil {
		return err
	}
	cfg.Politeness.OwnHosts, err = c.ownHosts()
	if err != nil {
		return err
	}
	out, err := c.openOutput(a.out)
	if err != nil {
		return &exitError{exitOutput, err}
	}
	cfg.Sinks = []sink.Sink{out.visits}
	cfg.Politeness.Ledger = out.ledger
	res, err := a.crawl(cfg, c.outputFlags, seeds)
	err = errors.Join(err, out.close())
	return c.verdict(res, err)
}

// verdict turns the end of a crawl into the command's.
func (c *crawlCmd) verdict(res *crawler.Report, err error) error {
	switch {
	case isBrokenPipe(err):
		return nil
	case err != nil && res != nil && res.Finish == crawler.FinishError:
		return &exitError{exitOutput, err}
	case err != nil:
		return err
	case res.Finish == crawler.FinishDrained:
		return nil // the signal's code is set where the signal was seen
	case res.Requests > 0 && res.Outcomes[crawler.Fetched]+res.Outcomes[crawler.Redirected] == 0, res.Requests == 0:
		return &exitError{exitNothing, errors.New("nothing was fetched: see the reasons above")}
	case c.FailOnLimit && res.Finish.Limit():
		return &exitError{exitLimit, fmt.Errorf("the crawl ended by its limit %s with %d URLs left", res.Finish, res.Left)}
	}
	return nil
}

// seeds are the arguments and the lines of the seed file.
func (c *crawlCmd) seeds(stdin io.Reader) ([]string, error) {
	seeds := c.URLs
	if c.Seeds != "" {
		lines, err := readLines(c.Seeds, stdin)
		if err != nil {
			return nil, usage("seeds: %w", err)
		}
		seeds = append(seeds, lines...)
	}
	if len(seeds) == 0 {
		return nil, usage("no seeds: give at least one URL, or a file of them with -i")
	}
	var errs []error
	for _, s := range seeds {
		if _, err := weburl.Parse(s); err != nil {
			errs = append(errs, usage("seed %q is no URL that can be crawled (%s): write it in full, for example https://site.to.crawl/", s, weburl.ReasonOf(err)))
		}
	}
	return seeds, errors.Join(errs...)
}

// readLines reads the lines of a file that are not blank and no comments; "-" is stdin.
func readLines(path string, stdin io.Reader) ([]string, error) {
	r := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	var lines []string
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if l := strings.TrimSpace(sc.Text()); l != "" && !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	return lines, sc.Err()
}

// crawlerConfig is the crawl that the flags describe.
func (c *crawlCmd) crawlerConfig() (crawler.Config, error) {
	if c.Delay < 0 {
		c.Delay = 0
	}
	cfg := crawler.Config{
		Agent: c.Agent, Contact: c.Contact,
		MaxDepth: c.Depth.value(crawler.SeedsOnly), MaxPages: int(c.MaxPages), MaxPerHost: max(0, int(c.MaxPerHost)),
		MaxBytes: max(0, int64(c.MaxBytes)), MaxTime: c.MaxTime.limit(), Concurrency: c.Concurrency,
		Scope: crawler.ScopeKind(c.Scope), Rules: mergePatterns(c.Include, c.Exclude),
		Retries: c.Retries.value(crawler.None), Sitemaps: c.Sitemaps, FollowNoFollow: c.FollowNofollow,
		Politeness: politeness.Config{
			Delay: c.Delay.value(), DelayFactor: factor(c.DelayFactor), MaxDelay: max(time.Nanosecond, time.Duration(c.MaxDelay)), Rate: c.Rate,
		},
		Fetch: fetcher.Config{MaxBody: int(c.MaxBody), AllowAddresses: c.AllowAddress},
	}
	if c.MaxPages == 0 {
		return cfg, usage("--max-pages 0: would fetch nothing; give a number or none")
	}
	if c.Concurrency < 1 {
		return cfg, usage("--concurrency %d: must be 1 or more", c.Concurrency)
	}
	if c.PerHost < 1 || c.PerHost > 1 && c.OwnHosts == "" {
		return cfg, usage("--per-host %d: more than one request in flight at a host needs --own-hosts FILE with the hosts you own", c.PerHost)
	}
	if err := cfg.Validate(); err != nil {
		return cfg, &exitError{exitUsage, err}
	}
	return cfg, nil
}

func factor(f float64) float64 {
	if f == 0 {
		return politeness.None
	}
	return f
}

// ownHosts reads the hosts the operator owns: lines of host, host:port or URL.
func (c *crawlCmd) ownHosts() (func(string) int, error) {
	if c.OwnHosts == "" {
		return nil, nil
	}
	lines, err := readLines(c.OwnHosts, nil)
	if err != nil {
		return nil, usage("own hosts: %w", err)
	}
	own := make(map[string]bool, len(lines))
	for _, l := range lines {
		hosts, err := hostKeys(l)
		if err != nil {
			return nil, usage("own hosts: %s: %q: want host, host:port or a URL", c.OwnHosts, l)
		}
		for _, h := range hosts {
			own[h] = true
		}
	}
	return func(host string) int {
		if own[host] {
			return c.PerHost
		}
		return 0
	}, nil
}

// hostKeys are the hosts a line names: a bare name stands for its http and its https port.
func hostKeys(line string) ([]string, error) {
	if strings.Contains(line, "://") {
		u, err := weburl.Parse(line)
		return []string{u.Host()}, err
	}
	var keys []string
	for _, scheme := range []string{"http://", "https://"} {
		u, err := weburl.Parse(scheme + line + "/")
		if err != nil {
			return nil, err
		}
		keys = append(keys, u.Host())
	}
	return keys, nil
}

// crawl runs a crawl with its status line, its summary and its signals.
func (a *app) crawl(cfg crawler.Config, f outputFlags, seeds []string) (*crawler.Report, error) {
	ui := newUI(a.err, f)
	cfg.Trace = ui.trace()
	c, err := crawler.New(cfg)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := a.watchSignals(c, cancel, ui)
	stopStatus := ui.watch(c)
	rep, err := c.Run(ctx, seeds...)
	stopStatus()
	sig := stop()
	if rep == nil {
		return nil, &exitError{exitUsage, err}
	}
	ui.summary(rep)
	if sig != 0 {
		return rep, &exitError{sig, nil}
	}
	return rep, err
}
