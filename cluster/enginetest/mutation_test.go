package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
)

// buggy is an in-memory engine into which a test puts one bug.
type buggy struct {
	cluster.Engine
	bug string
	job *buggyJob
}

type buggyJob struct {
	mu      sync.Mutex
	dropped map[string]bool
	aside   uint64
}

func (b buggy) is(bug string) bool { return b.bug == bug }

func (b buggy) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (uint64, error) {
	switch b.bug {
	case "a nonce is stored again", "an unknown outcome is stored twice":
		n = nonce()
		if e, err := b.Engine.Last(ctx, shard); err == nil && last < e.Seq && b.is("a nonce is stored again") {
			last = e.Seq
		}
	case "nobody is fenced":
		if e, err := b.Engine.Last(ctx, shard); err == nil {
			last = e.Seq
		}
	case "the beginning is never fenced":
		if e, err := b.Engine.Last(ctx, shard); err == nil && last == 0 {
			last = e.Seq
		}
	case "journals share a fence":
		if e, err := b.Engine.Last(ctx, 1); err == nil && last == 0 {
			last = e.Seq
		}
	case "an append ignores its context":
		ctx = context.WithoutCancel(ctx)
	case "records are cut":
		data = data[:min(len(data), 100<<10)]
	}
	seq, err := b.Engine.Append(ctx, shard, n, data, last)
	if b.is("gone back is fenced") && errors.Is(err, cluster.ErrWentBack) {
		err = cluster.ErrFenced
	}
	return seq, err
}

func (b buggy) Now(ctx context.Context) (time.Time, error) {
	at, err := b.Engine.Now(ctx)
	if b.is("the clock stands still") {
		at = time.Time{}
	}
	return at, err
}

func (b buggy) Last(ctx context.Context, shard int) (cluster.Entry, error) {
	e, err := b.Engine.Last(ctx, shard)
	if b.is("the last record is never news") {
		return cluster.Entry{}, err
	}
	if b.is("the nonce is lost") {
		e.Nonce = cluster.Nonce{}
	}
	return e, err
}

func (b buggy) Read(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	switch b.bug {
	case "journals are one":
		shard = 1
	case "read begins at the record":
		after = max(1, after) - 1
	}
	all, err := collect(b.Engine.Read(ctx, shard, after))
	switch {
	case b.is("trimmed is a hole") && errors.Is(err, cluster.ErrTrimmed):
		err = nil
	case b.is("read skips") && len(all) > 10:
		all = slices.Delete(all, 9, 10)
	case b.is("read misses the end") && len(all) > 10:
		all = all[:len(all)-1]
	}
	return give(all, err)
}

func collect(from iter.Seq2[cluster.Entry, error]) (all []cluster.Entry, err error) {
	for e, err := range from {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func give(all []cluster.Entry, err error) iter.Seq2[cluster.Entry, error] {
	return func(yield func(cluster.Entry, error) bool) {
		if err != nil {
			yield(cluster.Entry{}, err)
			return
		}
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (b buggy) Trim(ctx context.Context, shard int, below uint64) error {
	if b.is("trim takes more") {
		below += 2
	}
	if b.is("trim does nothing") {
		return nil
	}
	return b.Engine.Trim(ctx, shard, below)
}

func (b buggy) Send(ctx context.Context, shard int, id string, offer []byte) error {
	switch {
	case b.is("inboxes are one"):
		shard = 6
	case b.is("an offer is lost") && id == "1:3":
		return nil
	case b.is("offers overtake") && id == "1:3":
		time.AfterFunc(time.Second, func() { _ = b.Engine.Send(context.Background(), shard, id, offer) })
		return nil
	}
	return b.Engine.Send(ctx, shard, id, offer)
}

func (b buggy) Watch(shard int, f func()) (stop func(), err error) {
	switch b.bug {
	case "nobody is told of offers":
		f = func() {}
	case "all are told of all offers":
		return b.Engine.Watch(2, f)
	}
	stop, err = b.Engine.Watch(shard, f)
	if b.is("whoever watched is told for ever") {
		stop = func() {}
	}
	return stop, err
}

func (b buggy) Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	if b.is("the inbox is always whole") {
		after = 0
	}
	all, err := collect(b.Engine.Inbox(ctx, shard, after))
	if b.is("an offer is read once") {
		b.job.mu.Lock()
		defer b.job.mu.Unlock()
		all = slices.DeleteFunc(all, func(e cluster.Entry) bool {
			id := fmt.Sprint(shard, e.Seq)
			was := b.job.dropped[id]
			b.job.dropped[id] = true
			return was
		})
	}
	return give(all, err)
}

func (b buggy) Drop(ctx context.Context, shard int, through uint64) error {
	if b.is("drop leaves one") {
		through--
	}
	return b.Engine.Drop(ctx, shard, through)
}

func (b buggy) PutAside(ctx context.Context, shard int, message cluster.Entry) error {
	switch b.bug {
	case "nothing is put aside":
		return nil
	case "what is put aside is dropped with it":
		return errors.Join(b.Engine.PutAside(ctx, shard, message), b.Engine.Drop(ctx, shard, message.Seq))
	case "what is put aside again is there again":
		b.job.mu.Lock()
		b.job.aside++
		message.Seq += b.job.aside
		b.job.mu.Unlock()
	case "boxes of dead letters are one":
		shard = 3
	}
	return b.Engine.PutAside(ctx, shard, message)
}

func (b buggy) Load(ctx context.Context, name string) ([]byte, uint64, error) {
	if b.is("registers are one") {
		name = "x"
	}
	return b.Engine.Load(ctx, name)
}

func (b buggy) Store(ctx context.Context, name string, value []byte, rev uint64) (uint64, error) {
	if b.is("registers are one") {
		name = "x"
	}
	if b.is("any revision will do") {
		_, rev, _ = b.Engine.Load(ctx, name)
	}
	return b.Engine.Store(ctx, name, value, rev)
}

func (b buggy) Put(ctx context.Context, name string, r io.Reader) error {
	if b.is("half a file is a file") {
		all, _ := io.ReadAll(r)
		return b.Engine.Put(ctx, name, bytes.NewReader(all))
	}
	return b.Engine.Put(ctx, name, r)
}

func (b buggy) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := b.Engine.Get(ctx, name)
	if b.is("no file is an empty one") && errors.Is(err, cluster.ErrNotFound) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return r, err
}

func (b buggy) Answer(shard int, f func([]byte) []byte) (func(), error) {
	stop, err := b.Engine.Answer(shard, f)
	if b.is("whoever answered answers for ever") {
		stop = func() {}
	}
	return stop, err
}

func (b buggy) Clocks() cluster.ClockStore { return buggyClocks{b.Engine.Clocks(), b} }

type buggyClocks struct {
	cluster.ClockStore
	b buggy
}

func (c buggyClocks) StoreClock(ctx context.Context, key string, value []byte, rev uint64, life time.Duration) (uint64, error) {
	switch {
	case c.b.is("any revision of a clock will do"):
		_, rev, _ = c.ClockStore.LoadClock(ctx, key)
	case c.b.is("clocks have no end"):
		life = time.Hour
	}
	return c.ClockStore.StoreClock(ctx, key, value, rev, life)
}

func (c buggyClocks) StoreRobots(ctx context.Context, name string, file []byte, life time.Duration) error {
	switch {
	case c.b.is("robots.txt files are one"):
		name = "a2"
	case c.b.is("robots.txt files have no end"):
		life = time.Hour
	}
	return c.ClockStore.StoreRobots(ctx, name, file, life)
}

// TestSuiteNoticesEachBug runs the suite once for each bug of the in-memory engine. The tests named with the bug must fail.
func TestSuiteNoticesEachBug(t *testing.T) {
	for bug, noticed := range map[string][]string{
		"":                                       nil,
		"a nonce is stored again":                {"E3", "E4"},
		"an unknown outcome is stored twice":     {"E3", "E4"},
		"nobody is fenced":                       {"E1 one", "E1 an old", "E4", "E10"},
		"the beginning is never fenced":          {"E1 one", "E1 an old", "E6"},
		"journals share a fence":                 {"E1 journals"},
		"an append ignores its context":          {"calls end"},
		"records are cut":                        {"E5 a record"},
		"gone back is fenced":                    {"E10"},
		"the last record is never news":          {"E9"},
		"the nonce is lost":                      {"E5 a record"},
		"journals are one":                       {"E1 journals"},
		"read begins at the record":              {"E5 Read is"},
		"read skips":                             {"E5 Read is"},
		"read misses the end":                    {"E5 Read is"},
		"trimmed is a hole":                      {"E5 Read of"},
		"trim takes more":                        {"E5 Read of"},
		"trim does nothing":                      {"E5 Read of"},
		"inboxes are one":                        {"E7 an inbox"},
		"an offer is lost":                       {"E7 an inbox"},
		"offers overtake":                        {"E7 an inbox"},
		"the inbox is always whole":              {"E7 an offer"},
		"an offer is read once":                  {"E7 an offer"},
		"drop leaves one":                        {"E7 an offer"},
		"nobody is told of offers":               {"who watches"},
		"all are told of all offers":             {"who watches"},
		"whoever watched is told for ever":       {"who watches"},
		"nothing is put aside":                   {"E12"},
		"what is put aside is dropped with it":   {"E12"},
		"what is put aside again is there again": {"E12"},
		"boxes of dead letters are one":          {"E12"},
		"registers are one":                      {"E8 Store"},
		"any revision will do":                   {"E8 one", "E8 Store"},
		"any revision of a clock will do":        {"E13"},
		"clocks have no end":                     {"E13 jobs"},
		"clocks are each job's":                  {"E13 one", "E13 jobs", "E14"},
		"robots.txt files are one":               {"E14"},
		"robots.txt files have no end":           {"E14"},
		"the clock stands still":                 {"E11"},
		"half a file is a file":                  {"a file"},
		"no file is an empty one":                {"a file"},
		"whoever answered answers for ever":      {"a question"},
	} {
		each(func(name string, check func(*kit)) {
			must := slices.ContainsFunc(noticed, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			if !must && bug != "" {
				return
			}
			t.Run(bug+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if r := runOn(t, bug, check); r.failed != must {
						t.Errorf("failed %t, want %t: %v", r.failed, must, r.said)
					}
					time.Sleep(time.Minute) // let pending goroutines end
				})
			})
		})
	}
}

func runOn(t *testing.T, bug string, check func(*kit)) *recorder {
	s, r, job := mem.New(), &recorder{}, &buggyJob{dropped: map[string]bool{}}
	wrap := func(e cluster.Engine) cluster.Engine { return buggy{e, bug, job} }
	k := newKit(r, t, Job{
		Connect: func(*testing.T) cluster.Engine { return wrap(s.Connect()) },
		Beside: func(*testing.T) cluster.Engine {
			if bug == "clocks are each job's" {
				return wrap(mem.New().Connect())
			}
			return wrap(s.NewJob().Connect())
		},
		Restart: func(*testing.T) {},
		GoBack:  func(_ *testing.T, shard int) { s.GoBack(shard, 1) },
		Flaky: func(*testing.T) cluster.Engine {
			c := s.Connect()
			c.Misbehave(mem.Faults{Seed: 1, Unheard: 0.4})
			return wrap(c)
		},
	})
	r.run(func() { check(k) })
	return r
}

// recorder is a tb that only records whether a test fails, and with which messages.
type recorder struct {
	mu     sync.Mutex
	failed bool
	said   []string
}

type stopped struct{}

func (r *recorder) run(f func()) {
	defer func() {
		if e := recover(); e != nil && e != (stopped{}) {
			panic(e)
		}
	}()
	f()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stopped{})
}

func (r *recorder) Skipf(string, ...any) { panic(stopped{}) }
