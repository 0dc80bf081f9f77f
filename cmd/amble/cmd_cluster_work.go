package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/natsserver"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/cmd/amble/internal/live"
	"github.com/amble-crawler/amble/cmd/amble/internal/monitor"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// clusterWorkCmd is "amble cluster work".
type clusterWorkCmd struct {
	engineFlags
	Name      string `group:"Node:" placeholder:"NAME" help:"Name of this node alone (the machine's)."`
	Out       string `group:"Node:" short:"o" required:"" placeholder:"DIR" help:"Directory of this node, on a disk of its own machine: what it crawls is there, and nowhere else."`
	Store     string `group:"Node:" placeholder:"URL" help:"Copy what is finished to s3://BUCKET/PREFIX or file:///DIRECTORY, each hour and at the end."`
	MaxShards int    `group:"Node:" placeholder:"N" help:"Own at most N shards; 0: a fair share."`
	Verbose   bool   `group:"Node:" help:"Say what happens to each shard."`
	LogFormat string `group:"Node:" enum:"text,json" default:"text" placeholder:"FORM" help:"Form of log lines: text or json (${default})."`

	Page      string `group:"Node:" placeholder:"ADDR" help:"Serve a page on which the whole job is watched and controlled, such as on loopback:0, with metrics. Its address, which opens it, is printed."`
	PageToken string `group:"Node:" placeholder:"FILE" help:"With --page: file with the page's token. Without it each start has a new one."`

	AllowEnv  []string `group:"Node:" sep:"none" placeholder:"NAME" help:"Let the job's settings read this environment variable, as header 'Name: env:NAME' does. Repeatable; without it, none."`
	AllowFile []string `group:"Node:" sep:"none" placeholder:"PATH" help:"Let the job's settings read this file, as --own-hosts, --opt-out, --since and header 'Name: @PATH' do. Repeatable; without it, none."`

	browserFlags `group:"Browser:"`

	WithServer bool        `group:"Server:" name:"serve" help:"Run a server of the engine in this process, too, in DIR/engine: for the first three nodes. It remains when the job is over, for collect, until it is told to stop."`
	Server     serverFlags `embed:"" group:"Server:"`
}

// Help returns the beginning of the command's help.
func (*clusterWorkCmd) Help() string {
	return `Examples:

	amble cluster work --job shops --name node1 -o node1
	amble cluster work --cluster nats://10.0.0.1:4222 --job shops -o node1
	amble cluster work --job shops -o node1 --page loopback:0

Takes a share of the job's shards and crawls them until the job is over: exit code 0. When it is told to stop
(SIGTERM, Ctrl-C), it gives its shards to the other nodes, which takes up to half a minute. The same command, with
the same directory, continues.

A job whose settings name a variable or a file that this node lets no job read is refused, and the flag that allows it is
named: exit code 2.`
}

// Run executes the command.
func (c *clusterWorkCmd) Run(a *app) error {
	if c.Name == "" {
		c.Name, _ = os.Hostname() // if this fails, the node refuses the empty name
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	if given := c.Server.given(); !c.WithServer && given != "" {
		return cli.Usage("%s is for a server in this process, and there is none: add --serve, or leave it out; what a node itself says is in amble cluster job status", given)
	}
	page, err := listenOn("--page", c.Page, c.PageToken)
	if err != nil {
		return err
	}
	if page != nil {
		defer page.Close()
	}
	if c.WithServer {
		s, err := c.Server.start(a.logs(c.LogFormat), c.Name, work.EngineDir(c.Out), nats.Access{Creds: c.ClusterCreds})
		if err != nil {
			return err
		}
		defer s.Close()
	}
	t := &nodeTeller{logs: a.logs(c.LogFormat), verbose: c.Verbose, owned: map[int]bool{}}
	e, err := c.await(ctx, t)
	if err != nil {
		return err
	}
	defer e.Close()
	n := &work.Node{Engine: e, Name: c.Name, Dir: c.Out, Store: c.Store, MaxShards: c.MaxShards, JobName: c.Job}
	n.Allow = work.Allowed{Env: c.AllowEnv, Files: c.AllowFile}
	n.Trace, n.Note, n.Browser = t.trace, t.tell, c.browser(c.Job, t.tell)
	if page != nil {
		if err := c.show(page, e, n, t); err != nil {
			return err
		}
	}
	t.tell(fmt.Sprintf("node %s works on job %s; to stop it: Ctrl-C", c.Name, c.Job))
	err = n.Run(ctx)
	code := endedBy(ctx)
	switch {
	case errors.Is(err, cluster.ErrName):
		return cli.Usage("another node of the job is named %s, or was lately: give each its own --name; after a kill, use its directory again, or wait for the lease", c.Name)
	case err != nil:
		return clusterError(err)
	case code != 0:
		t.tell("the shards of this node are given back")
		return cli.Exit(code, nil)
	}
	return c.linger(ctx, e, t)
}

// show starts serving the page of the job, and connects the page to the node's crawls.
func (c *clusterWorkCmd) show(page *live.Server, e *nats.Engine, n *work.Node, t *nodeTeller) error {
	watcher, counts := &work.Watcher{Engine: e}, metrics.New()
	numbers := monitor.NewNode(c.Name, watcher)
	if err := counts.Add(numbers); err != nil {
		return err
	}
	n.Engine = numbers.Count(e)
	n.Program = func(cfg *job.Config) {
		cfg.Crawl.Trace = counts.Trace()
		cfg.Crawl.Fetch.Listeners = append(cfg.Crawl.Fetch.Listeners, page.Addr())
	}
	page.Serve(live.NewCluster(live.ClusterConfig{
		Name: c.Job, Watcher: watcher, Metrics: counts.Handler(), Ready: numbers.Ready,
		Operator: &work.Operator{Engine: e, Name: "the page of " + c.Name},
	}))
	t.tell("watch the job at " + page.URL())
	if page.Public() {
		t.tell("other machines can reach that address, and nothing is encrypted: anyone who sees the token controls the job")
	}
	return nil
}

// listenOn listens on the address given by a flag; the access token is in a file. Without an address it returns nil.
func listenOn(flag, address, token string) (*live.Server, error) {
	if address == "" {
		return nil, cli.Refuse(token != "", "%s-token: the token is that of the page: name its address with %s", flag, flag)
	}
	s, err := live.Listen(address)
	if err != nil {
		return nil, cli.UsageOf(flag+": ", err)
	}
	if token != "" {
		if err := s.TokenFile(token); err != nil {
			s.Close()
			return nil, cli.UsageOf(flag+"-token: ", err)
		}
	}
	return s, nil
}

// await connects to the job, and waits for servers that are not running yet, for example when three machines start together.
func (c *clusterWorkCmd) await(ctx context.Context, t *nodeTeller) (*nats.Engine, error) {
	for told := false; ; told = true {
		e, err := c.open(ctx)
		if code := endedBy(ctx); code != 0 && err != nil {
			return nil, cli.Exit(code, nil)
		}
		if !nats.Away(err) {
			return e, err
		}
		if !told {
			t.tell(fmt.Sprintf("%v; the node waits for it; to stop it: Ctrl-C", err))
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// linger reports how the job ended. If this process runs a server, it keeps running until it is stopped: collecting needs the server's
// data.
func (c *clusterWorkCmd) linger(ctx context.Context, e *nats.Engine, t *nodeTeller) error {
	end, err := cluster.LoadEnd(ctx, e)
	if err != nil {
		return clusterError(err)
	}
	t.tell(fmt.Sprintf("job %s is over: %s", c.Job, endText(end)))
	if c.WithServer {
		t.tell("the server in this process remains, for amble cluster job collect: Ctrl-C ends it")
		<-ctx.Done()
	}
	return nil
}

// endText describes why a job is over.
func endText(end string) string {
	switch end {
	case "":
		return "it runs"
	case cluster.EndDone:
		return "everything is crawled"
	case cluster.EndStopped:
		return "it was stopped; amble cluster job resume lets nodes continue"
	}
	return "the limit --" + strings.ReplaceAll(end, "_", "-") + " is reached"
}

// nodeTeller reports the events of a node.
type nodeTeller struct {
	logs    func(text string)
	verbose bool

	mu    sync.Mutex
	owned map[int]bool
}

func (t *nodeTeller) tell(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.logs(cli.Printable(text))
}

// trace prints an event of a shard.
func (t *nodeTeller) trace(e cluster.Event) {
	t.mu.Lock()
	switch e.What {
	case cluster.Taken:
		t.owned[e.Shard] = true
	case cluster.Aside:
	default:
		delete(t.owned, e.Shard)
	}
	n := len(t.owned)
	t.mu.Unlock()
	switch {
	case e.What == cluster.Skewed, e.What == cluster.Waits:
		t.tell(strings.TrimPrefix(e.Err.Error(), "cluster: "))
	case e.What == cluster.Aside:
		t.tell(fmt.Sprintf("a message was put aside, and links in it are lost: %s; amble cluster job check names all of them", strings.TrimPrefix(e.Err.Error(), "cluster: ")))
	case e.Err != nil && !errors.Is(e.Err, work.ErrFull):
		why, _, _ := strings.Cut(e.Err.Error(), "\n") // further lines report consequences
		t.tell(fmt.Sprintf("shard %d is lost to this node: %s; another one takes it over (%d owned)", e.Shard, strings.TrimPrefix(why, "cluster: "), n))
	case t.verbose:
		t.tell(fmt.Sprintf("shard %d, epoch %d: %s (%d owned)", e.Shard, e.Epoch, e.What, n))
	}
}

// serverFlags configure how a server of the engine listens.
type serverFlags struct {
	Listen       string   `group:"Server:" default:"127.0.0.1:4222" placeholder:"ADDR" help:"Address for nodes: host:port (${default})."`
	RoutesListen string   `group:"Server:" placeholder:"ADDR" help:"Address for the other servers: host:port."`
	Routes       []string `group:"Server:" placeholder:"ADDR,..." help:"The other servers' addresses for servers, this one's among them or not."`
	Insecure     bool     `group:"Server:" help:"Admit anyone who can reach the address, without credentials."`
	TLSCert      string   `group:"Server:" name:"tls-cert" placeholder:"FILE" help:"Certificate of the server (PEM)."`
	TLSKey       string   `group:"Server:" name:"tls-key" placeholder:"FILE" help:"Its key."`
	TLSCA        string   `group:"Server:" name:"tls-ca" placeholder:"FILE" help:"Certificates that those of nodes and other servers must be signed by."`
}

// given returns the name of a flag that was given, "" if none was.
func (f *serverFlags) given() string {
	switch {
	case f.Listen != defaultListen:
		return "--listen"
	case f.RoutesListen != "":
		return "--routes-listen"
	case len(f.Routes) > 0:
		return "--routes"
	case f.Insecure:
		return "--insecure"
	case f.TLSCert != "":
		return "--tls-cert"
	case f.TLSKey != "":
		return "--tls-key"
	case f.TLSCA != "":
		return "--tls-ca"
	}
	return ""
}

// defaultListen is the default of --listen.
const defaultListen = "127.0.0.1:4222"

// start starts a server that requires the given credentials or certificates, or else a token that it generates.
func (f *serverFlags) start(logs func(string), name, dir string, by nats.Access) (*clusterServer, error) {
	c := natsserver.Config{Name: name, Dir: dir, Listen: f.Listen, RoutesListen: f.RoutesListen, Routes: f.Routes}
	s, given := &clusterServer{forget: func() {}}, by.Creds != ""
	var err error
	if !given && f.TLSCA == "" && !f.Insecure {
		if f.RoutesListen != "" || len(f.Routes) > 0 {
			return nil, cli.UsageOf("", errOpen("--routes: servers that belong together need the same credentials"))
		}
		if by.Creds, err = makeToken(dir); err != nil {
			return nil, clusterError(err)
		}
		if s.forget, err = noteToken(f.Listen, by.Creds); err != nil { // must happen before the server accepts connections
			return nil, clusterError(err)
		}
	}
	if err := f.secure(&c, by); err != nil {
		s.forget()
		return nil, err
	}
	c.Log = func(text string) { logs("server: " + cli.Printable(text)) }
	if s.Server, err = natsserver.Start(c); err != nil {
		s.forget()
		return nil, cli.UsageOf("", err)
	}
	if u, err := url.Parse(s.URL()); err == nil && strings.HasSuffix(f.Listen, ":0") && by.Creds != "" && !given { // the server has chosen the port
		forget, err := noteToken(u.Host, by.Creds)
		if err != nil {
			s.Close()
			return nil, clusterError(err)
		}
		s.forget = forget
	}
	s.heal(c.Log)
	return s, nil
}

// healEvery is the interval at which a server is checked for lack of disk space.
const healEvery = 2 * time.Second

// heal starts a goroutine that restarts the server when it stores nothing and there is disk space again, until the server is closed.
func (s *clusterServer) heal(logs func(string)) {
	s.done = make(chan struct{})
	s.healing.Go(func() {
		ticks := time.NewTicker(healEvery)
		defer ticks.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-ticks.C:
			}
			switch healed, err := s.Heal(); {
			case err != nil:
				logs("there is room again, but it does not start: " + err.Error())
			case healed:
				logs("there is room on its disk again, and it was started again")
			}
		}
	})
}

// secure sets the authentication and encryption of the server.
func (f *serverFlags) secure(c *natsserver.Config, by nats.Access) (err error) {
	if c.User, c.Password, c.Token, err = by.Secret(); err != nil {
		return cli.UsageOf("--cluster-creds: ", err)
	}
	if by.Creds != "" && c.User == "" && c.Token == "" {
		return cli.Usage("--cluster-creds: %s has NATS credentials, which a server of your own can check: give this one a file with one line, a token or user:password", by.Creds)
	}
	if f.TLSCert == "" && f.TLSKey == "" && f.TLSCA == "" {
		return nil
	}
	if c.TLS, err = (nats.Access{CA: f.TLSCA, Cert: f.TLSCert, Key: f.TLSKey}).TLS(); err != nil {
		return cli.UsageOf("--tls-cert, --tls-key, --tls-ca: ", err)
	}
	c.TLS.ClientCAs = c.TLS.RootCAs
	return nil
}

// clusterServer is a server in this process.
type clusterServer struct {
	*natsserver.Server
	forget  func() // removes the record of the token file
	done    chan struct{}
	healing sync.WaitGroup
}

// Close ends the server.
func (s *clusterServer) Close() {
	if s.done != nil {
		close(s.done)
		s.healing.Wait()
	}
	s.Server.Close()
	s.forget()
}
