package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/localweb"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/text"
	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/jobs/server"
)

// serveCmd is "amble serve".
type serveCmd struct {
	Old string `arg:"" optional:"" type:"job" name:"job" help:"The old form of amble show --listen ADDR JOB."`

	Jobs   string `placeholder:"DIR" help:"Directory of the jobs, made if it is missing."`
	Listen string `placeholder:"ADDR" help:"Address to listen on (127.0.0.1:8420)."`
	Token  string `placeholder:"FILE" help:"Lines of NAME TOKEN SCOPES (DIR/tokens, which is made with one token)."`

	MaxRunning   int      `default:"4" placeholder:"N" help:"Jobs that run at a time; others wait (${default})."`
	Contact      string   `placeholder:"CONTACT" help:"Page or mail address for site owners, in jobs that give none."`
	AllowAddress []string `placeholder:"RANGE" help:"Private address ranges that seeds may have (loopback, if it listens there)."`
	Webhooks     string   `placeholder:"FILE" help:"Lines of PREFIX SECRET: URLs that clients may have told of events (none)."`
	Host         []string `placeholder:"NAME" help:"Host names of proxies in front of it."`
	Proxied      bool     `help:"A proxy in front of it encrypts, and says so: X-Forwarded-Proto."`
	TLSCert      string   `name:"tls-cert" placeholder:"FILE" help:"Certificate (PEM), to encrypt."`
	TLSKey       string   `name:"tls-key" placeholder:"FILE" help:"Its key."`
}

// Help returns the beginning of the command's help.
func (*serveCmd) Help() string {
	return `Examples:

	amble serve --jobs data --contact me@university.edu
	amble serve --jobs data --listen :8420 --tls-cert cert.pem --tls-key key.pem
	amble serve --jobs data --max-running 20 --webhooks hooks

Runs jobs for other programs, which start them, follow their results and download them by an
HTTP API: docs/services.md. For people there is a page that does the same and opens with a
token. SCOPES are read, or read,write; limits such as jobs=10 and rate=5 (a second) may follow.
Clients set the keys of a job file, except those that name files or programs of this machine or
lead into its network.

When it is stopped, requests in flight end first, for up to a minute. Jobs go on when it is
started again, after kill -9 too; those that are paused stay paused. Every request with its
token is logged in DIR/audit.jsonl.`
}

// stopPatience is the time that running requests have to end after a signal.
const stopPatience = time.Minute

// Run executes the command.
func (c *serveCmd) Run(a *app) error {
	switch {
	case c.Old != "" && c.Jobs == "":
		fmt.Fprintln(a.err, "amble: this is amble show --listen ADDR JOB now; the old form works in this version")
		return showPage(a, c.Old, cmp.Or(c.Listen, "loopback:0"))
	case c.Jobs == "" || c.Old != "":
		return cli.Usage("name the directory of the jobs, and nothing else: amble serve --jobs DIR")
	}
	conf, err := c.config(a)
	if err != nil {
		return err
	}
	done, err := c.listen(conf, cmp.Or(c.Listen, "127.0.0.1:8420"), " (--tls-cert, --proxied)")
	if err != nil {
		return err
	}
	defer done()
	if localweb.OnLoopback(conf.Listener.Addr()) && !c.Proxied {
		// All clients are on this machine, and can reach these addresses directly.
		conf.AllowAddresses = append(conf.AllowAddresses, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	s, err := server.Open(c.Jobs, *conf)
	if err != nil {
		return errors.Join(cli.Exit(cli.ExitOutput, err), conf.Listener.Close())
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	fmt.Fprintf(a.err, "amble: serves the jobs of %s at %s://%s/; tokens are in %s; to stop it: Ctrl-C\n", cli.Printable(c.Jobs), scheme, localweb.HostPort(conf.Listener.Addr()), cli.Printable(c.Token))
	return endService(ctx, s.Serve(ctx, stopPatience))
}

// endService returns the exit error of a command that serves until a signal stops it; err is the error of serving.
func endService(ctx context.Context, err error) error {
	if err != nil && endedBy(ctx) == 0 {
		return cli.Exit(cli.ExitOutput, err)
	}
	return cli.Exit(endedBy(ctx), nil)
}

// listen listens on an address and opens the audit log of a server. other names flags without which only this machine may connect. done
// closes the log.
func (c *serveCmd) listen(conf *server.Config, address, other string) (done func(), err error) {
	log, err := os.OpenFile(filepath.Join(c.Jobs, "audit.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, cli.Exit(cli.ExitOutput, err)
	}
	done = func() { _ = log.Close() } // no line is buffered, so an error of closing loses nothing
	conf.Audit = log
	if conf.Listener, err = server.Listen(address, c.TLSCert, c.TLSKey, c.Proxied); err == nil {
		return done, nil
	}
	done()
	if errors.Is(err, server.ErrOpen) {
		return nil, cli.Usage("--listen: %w%s", err, other)
	}
	return nil, cli.UsageOf("--listen: ", err)
}

// config returns the configuration of the server, and makes the directory for its jobs.
func (c *serveCmd) config(a *app) (*server.Config, error) {
	conf := &server.Config{Contact: c.Contact, Hosts: c.Host, Proxied: c.Proxied, Kinds: exportKinds(export.Filter{})}
	if c.MaxRunning < 1 {
		return nil, cli.Usage("--max-running %d: give 1 or more", c.MaxRunning)
	}
	if c.Contact != "" {
		if err := operator.CheckContact(c.Contact); err != nil {
			return nil, err
		}
	}
	for _, one := range c.AllowAddress {
		p, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, cli.Usage("--allow-address %q: want a range such as 10.0.0.0/8", one)
		}
		conf.AllowAddresses = append(conf.AllowAddresses, p.Masked())
	}
	if err := os.MkdirAll(c.Jobs, 0o755); err != nil {
		return nil, cli.Exit(cli.ExitOutput, err)
	}
	if c.Token == "" {
		c.Token = filepath.Join(c.Jobs, "tokens")
		if err := server.MakeTokens(c.Token); err != nil {
			return nil, cli.Exit(cli.ExitOutput, err)
		}
	}
	var err error
	if conf.Tokens, err = server.ReadTokens(c.Token); err != nil {
		return nil, cli.UsageOf("--token: ", err)
	}
	if c.Webhooks != "" {
		if conf.Webhooks, err = server.ReadWebhooks(c.Webhooks); err != nil {
			return nil, cli.UsageOf("--webhooks: ", err)
		}
	}
	conf.Jobs = jobs.Config{Running: c.MaxRunning, Concurrency: 4 * crawler.DefaultConcurrency, InFlight: 4 * crawler.DefaultMaxInFlight, Check: func(_ jobs.Request, x *job.Config) error {
		if x.Crawl.Follow.Documents {
			x.Crawl.Documents = document.Links{Reader: documents()}
		}
		if x.Text {
			x.TextReader = text.Reader(document.Articles{Reader: documents()})
		}
		return nil
	}, Note: func(id, said string) {
		fmt.Fprintf(a.err, "amble: %s\n", cli.Printable(strings.TrimSpace(id+" "+said)))
	}}
	return conf, nil
}
