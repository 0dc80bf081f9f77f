package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/enginetest"
	"github.com/amble-crawler/amble/internal/long"
)

// servers represents nats-servers that run in this process.
type servers struct {
	all  []*server.Server
	opts []*server.Options
}

// start starts n servers on loopback, as a cluster if n is more than one.
func start(t *testing.T, n int) *servers {
	t.Helper()
	s := &servers{opts: options(t, n)}
	s.run(t)
	t.Cleanup(s.stop)
	return s
}

// options returns the settings of n servers.
func options(t *testing.T, n int) (all []*server.Options) {
	t.Helper()
	host := ownHost()
	ports := freePorts(t, host, 2*n)
	var routes []*url.URL
	for i := range n {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("%s:%d", host, ports[n+i])})
	}
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprintf("s%d", i), Host: host, Port: ports[i], JetStream: true, StoreDir: t.TempDir(),
			SyncAlways: true, NoSigs: true, NoLog: true,
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "test", Host: host, Port: ports[n+i]}
			o.Routes = routes
		}
		all = append(all, o)
	}
	return all
}

func (s *servers) run(t *testing.T) {
	t.Helper()
	s.all = nil
	for _, o := range s.opts {
		x, err := server.NewServer(o.Clone())
		if err != nil {
			t.Fatal(err)
		}
		x.Start()
		s.all = append(s.all, x)
	}
	for _, x := range s.all {
		if !x.ReadyForConnections(time.Minute) {
			t.Fatal("a server does not start")
		}
	}
}

func (s *servers) stop() {
	for _, x := range s.all {
		x.Shutdown()
	}
	for _, x := range s.all {
		x.WaitForShutdown()
	}
}

func (s *servers) urls() string {
	var all []string
	for _, o := range s.opts {
		all = append(all, fmt.Sprintf("nats://%s:%d", o.Host, o.Port))
	}
	return strings.Join(all, ",")
}

// ownHost returns a loopback address for one test, so that no other test takes a stopped server's port. Only Linux has several.
func ownHost() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

func freePorts(t *testing.T, host string, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// create creates a job as soon as the servers have found each other.
func create(t *testing.T, c Config) {
	t.Helper()
	soon(t, func(ctx context.Context) error {
		if err := Create(ctx, c); !errors.Is(err, ErrExists) {
			return err
		}
		return nil
	})
}

// remove deletes the streams of a job. Otherwise, servers that start again would have to elect a leader for each of these streams.
func remove(t *testing.T, c Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if err := Delete(ctx, c); err != nil && !errors.Is(err, ErrNoJob) {
		t.Error(err)
	}
}

// soon calls f until it succeeds.
func soon(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := f(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
}

func connect(t *testing.T, c Config) *Engine {
	t.Helper()
	var e *Engine
	soon(t, func(ctx context.Context) (err error) {
		e, err = Connect(ctx, c)
		return err
	})
	t.Cleanup(e.Close)
	return e
}

func TestEngineConforms(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("R%d", n), func(t *testing.T) {
			if n > 1 && testing.Short() {
				t.Skip("three servers")
			}
			t.Parallel()
			s := start(t, n)
			var jobs atomic.Int64
			enginetest.Run(t, func(t *testing.T) enginetest.Job {
				c := Config{URLs: s.urls(), Job: fmt.Sprintf("job-%d", jobs.Add(1)), Shards: 16, Replicas: n, part: 1 << 20}
				create(t, c)
				t.Cleanup(func() { remove(t, c) })
				restart := func(t *testing.T) {
					s.stop()
					s.run(t)
				}
				if n > 1 && !long.Full() {
					restart = nil // after a restart, three servers need ten seconds to elect leaders
				}
				return enginetest.Job{
					Connect: func(t *testing.T) cluster.Engine { return connect(t, c) },
					Beside: func(t *testing.T) cluster.Engine {
						other := c
						other.Job += "-beside"
						create(t, other)
						t.Cleanup(func() { remove(t, other) })
						return connect(t, other)
					},
					Restart: restart,
					GoBack: func(t *testing.T, shard int) {
						e := connect(t, c)
						last, err := e.Last(t.Context(), shard)
						if err != nil {
							t.Fatal(err)
						}
						stream, _ := e.log(shard)
						if err := stream.DeleteMsg(t.Context(), last.Seq); err != nil {
							t.Fatal(err)
						}
					},
				}
			}, enginetest.Options{Parallel: true})
		})
	}
}

// TestUnmarkedEraIsWaitedFor: a new era begins when the servers have lost the host clocks. If a process has counted the first era but not
// yet marked it, another process must wait: otherwise it would consider the clocks lost, and all crawls would pause.
func TestUnmarkedEraIsWaitedFor(t *testing.T) {
	s := start(t, 1)
	e, err := dial(Config{URLs: s.urls(), Job: "j", Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	k := e.k
	if err := k.createClocks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.store(t.Context(), eraStream, eraSubject, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := k.begin(t.Context(), time.Hour); !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("%v: want that the other process is waited for", err)
	}
	if err := k.begin(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if era, since, err := k.Era(t.Context()); era != 2 || since.IsZero() || err != nil {
		t.Errorf("%d, %v, %v: want the second era, if the other process does not come", era, since, err)
	}
}

// TestRestartedServersBeginAnEra checks that servers that were all restarted report that they have lost the host clocks.
func TestRestartedServersBeginAnEra(t *testing.T) {
	t.Parallel()
	s := start(t, 1)
	var k *Clocks
	soon(t, func(ctx context.Context) (err error) {
		k, err = ConnectClocks(ctx, Config{URLs: s.urls()})
		return err
	})
	defer k.Close()
	first, since, err := k.Era(t.Context())
	if err != nil || first == 0 || !since.IsZero() {
		t.Fatalf("era %d since %v, %v", first, since, err)
	}
	if _, err := k.StoreClock(t.Context(), "h:a.test", []byte("x"), 0, time.Hour); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.run(t)
	soon(t, func(ctx context.Context) error {
		era, since, err := k.Era(ctx)
		if err == nil && (era <= first || since.IsZero()) {
			t.Errorf("era %d since %v behind %d", era, since, first)
		}
		return err
	})
	if v, rev, err := k.LoadClock(t.Context(), "h:a.test"); err != nil || v != nil || rev != 0 {
		t.Errorf("%q, %d, %v", v, rev, err)
	}
	if _, err := k.StoreClock(t.Context(), "h:a.test", []byte("y"), 0, time.Hour); err != nil {
		t.Error(err)
	}
}

// A read, complete or not, leaves nothing on the servers. They would have to store leftovers, and restore them at the next start.
func TestReadingLeavesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, 1)
	c := Config{URLs: s.urls(), Job: "job", Shards: 2, Replicas: 1}
	create(t, c)
	e, last := connect(t, c), uint64(0)
	for i := range 5 {
		var err error
		if last, err = e.Append(t.Context(), 1, cluster.Nonce{byte(i)}, []byte("record"), last); err != nil {
			t.Fatal(err)
		}
		if err := e.Send(t.Context(), 1, fmt.Sprint(i), []byte("offer")); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		for _, all := range []iter.Seq2[cluster.Entry, error]{e.Read(t.Context(), 1, 0), e.Inbox(t.Context(), 1, 0)} {
			n := 0
			for _, err := range all {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 3 {
					break
				}
			}
		}
	}
	for name := range e.js.StreamNames(t.Context()).Name() {
		stream, err := e.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := stream.CachedInfo().State.Consumers; n > 0 {
			t.Errorf("%s has %d consumers", name, n)
		}
	}
}

// TestServersThatBegin checks that a job can be created while a server still waits for the other servers. Before the servers have elected a
// leader, that server answers nothing.
func TestServersThatBegin(t *testing.T) {
	all := options(t, 3)
	first, others := &servers{opts: all[:1]}, &servers{opts: all[1:]}
	first.run(t)
	t.Cleanup(first.stop)
	c := Config{URLs: first.urls(), Job: "job", Shards: 4, Replicas: 3, patience: time.Minute}
	done := make(chan error, 1)
	go func() {
		err := Check(t.Context(), c)
		if err == nil {
			err = Create(t.Context(), c)
		}
		done <- err
	}()
	for first.all[0].NumClients() == 0 && len(done) == 0 {
		runtime.Gosched()
	}
	others.run(t)
	t.Cleanup(others.stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServerThatIsMissing checks that a job that needs a replica on every server can be created although one server starts later.
func TestServerThatIsMissing(t *testing.T) {
	t.Parallel()
	s := start(t, 3)
	probe := Config{URLs: s.urls(), Job: "probe", Shards: 1, Replicas: 3}
	create(t, probe)
	s.stop()
	two, last := &servers{opts: s.opts[:2]}, &servers{opts: s.opts[2:]}
	two.run(t)
	t.Cleanup(two.stop)
	e := connect(t, probe)
	soon(t, func(ctx context.Context) error {
		_, err := e.js.CreateStream(ctx, e.settings("PROBE", "probe"))
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == errNoPeers {
			return nil
		}
		return fmt.Errorf("the servers do not miss one: %w", err)
	})
	done := make(chan error, 1)
	go func() {
		done <- Create(t.Context(), Config{URLs: s.urls(), Job: "job", Shards: 4, Replicas: 3, patience: time.Minute})
	}()
	last.run(t)
	t.Cleanup(last.stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCreationIsAskedForAgain checks that the creation of a stream is repeated if the servers do not answer, have no leader or are too few,
// but not after other errors, and that attempts without an answer end after the time limit.
func TestCreationIsAskedForAgain(t *testing.T) {
	for _, c := range []struct {
		says string
		err  error // first answer of the servers; nil: no answer
		want int   // number of requests to the servers
	}{
		{"nothing", nil, 2},
		{"no leader", &jetstream.APIError{ErrorCode: noLeader}, 2},
		{"too few servers", &jetstream.APIError{ErrorCode: errNoPeers}, 2},
		{"no room", &jetstream.APIError{ErrorCode: errNoStorage}, 1},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				err := Config{}.placed(t.Context(), func(ctx context.Context) error {
					if asked++; asked > 1 {
						return nil
					}
					if c.err != nil {
						return c.err
					}
					<-ctx.Done()
					return ctx.Err()
				})
				if asked != c.want || (err == nil) != (c.want == 2) {
					t.Errorf("asked %d times, %v", asked, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := Config{}.placed(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if took := time.Since(begun); err == nil || took != patience {
			t.Errorf("servers that never answer: %v after %v", err, took)
		}
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s := start(t, 1)
	c := Config{URLs: s.urls(), Job: "job", Shards: 8, Replicas: 1}
	create(t, c)
	if err := Create(t.Context(), c); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "choose another name") {
		t.Errorf("a job of that name: %v", err)
	}
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"another job":     {Config{URLs: c.URLs, Job: "other", Shards: 8}, "create it first"},
		"more shards":     {Config{URLs: c.URLs, Job: "job", Shards: 64}, "or not with 64 shards"},
		"a bad name":      {Config{URLs: c.URLs, Job: "a.b", Shards: 8}, "other characters"},
		"no shards":       {Config{URLs: c.URLs, Job: "job"}, "at least one shard"},
		"two replicas":    {Config{URLs: c.URLs, Job: "job", Shards: 8, Replicas: 2}, "must be 1, 3 or 5"},
		"no server":       {Config{URLs: "nats://127.0.0.1:1", Job: "job", Shards: 8}, "is the server running"},
		"too few servers": {Config{URLs: c.URLs, Job: "new", Shards: 8, Replicas: 3}, "stream AMBLE_new_LOG_0"},
	} {
		_, err := Connect(t.Context(), tc.c)
		if name == "too few servers" {
			err = Create(t.Context(), tc.c)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestRobotsFilesAreBounded checks that the servers drop the oldest robots.txt files when all files together exceed the limit of bytes.
func TestRobotsFilesAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, 1)
	k, err := ConnectClocks(t.Context(), Config{URLs: s.urls()})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	soon(t, func(ctx context.Context) error { return k.StoreRobots(ctx, "a", []byte("x"), time.Hour) })
	stream, err := k.js.Stream(t.Context(), robotsStream)
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.MaxBytes != 64<<20 || c.Discard != jetstream.DiscardOld || c.MaxMsgsPerSubject != 1 || c.Storage != jetstream.FileStorage {
		t.Errorf("%+v", c)
	}
}
