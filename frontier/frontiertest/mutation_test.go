package frontiertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
)

func naiveOptions() Options {
	return Options{
		Virtual:      true,
		ClaimTimeout: naiveTimeout,
		ReopenDelay:  naiveDelay,
		Crash:        func(_ *testing.T, f frontier.Frontier) frontier.Frontier { return f.(*naive).crashed() },
		Runs:         40,
	}
}

func TestNaiveConforms(t *testing.T) {
	Run(t, func(*testing.T) frontier.Frontier { return newNaive("") }, naiveOptions())
}

// TestSuiteNoticesEachBug gives the naive store one bug at a time. The named tests must fail.
func TestSuiteNoticesEachBug(t *testing.T) {
	if long.Race {
		t.Skip("no bug is a race")
	}
	const random, crowd, commits = "random operations", "many workers", "workers release"
	for _, tc := range []struct {
		bug     string
		noticed []string // prefixes of the names of tests that must fail
	}{
		{"known counts", []string{"F1 Add counts", random}},
		{"done is forgotten", []string{"F1 Add counts", random, crowd}},
		{"add checks, then inserts", []string{"F1 of concurrent"}},
		{"add up to the bad one", []string{"F1 Add is all"}},
		{"add with an ended context", []string{"F1 Add is all"}},
		{"two holders of one URL", []string{"F2 ", random, crowd}},
		{"all claims have one ID", []string{"F2 "}},
		{"a host has many holders", []string{"F3 a host has one", random, crowd}},
		{"ReadyAt is ignored", []string{"F4 not before the host's", "F4 ReadyAt outlives", "F10 Claim wakes when a time", random, crowd}},
		{"ReadyAt is early", []string{"F4 not before the host's", "F4 ReadyAt outlives", random, crowd}},
		{"idle hosts are forgotten", []string{"F4 ReadyAt outlives", random}},
		{"NotBefore is ignored", []string{"F4 not before the URL's", random}},
		{"NotBefore holds the host", []string{"F4 not before the URL's", random}},
		{"priority is ignored", []string{"F5 priority", random}},
		{"priority is inverted", []string{"F5 priority", random}},
		{"last in, first out", []string{"F5 priority", "F5 Again keeps", random}},
		{"again loses the arrival", []string{"F5 Again keeps", random}},
		{"a retry keeps its arrival", []string{"F5 a retry arrives", random}},
		{"a retry goes behind what comes later", []string{"F5 a retry arrives", random}},
		{"again goes first", []string{"F5 Again keeps", random}},
		{"again goes in order of return", []string{"F5 Again with NotBefore", random}},
		{"NotBefore loses the arrival", []string{"F5 Again with NotBefore", random}},
		{"latest due first", []string{"F6 the host due", "F6 a host does not pass", random}},
		{"most queued first", []string{"F6 the host due", "F6 a host does not pass", random}},
		{"fewest queued first", []string{"F6 of hosts due together", random}},
		{"new hosts first", []string{"F6 a host does not pass", random}},
		{"all new hosts first", []string{"F6 new hosts and", random}},
		{"new hosts last", []string{"F6 new hosts and", random}},
		{"no turns", []string{"F6 new hosts and", random}},
		{"an idle host is not new", []string{"F6 a host that was idle"}},
		{"links are dropped", []string{"F7 Settle takes", "F7 no one sees", random, crowd}},
		{"failed settle is done", []string{"F7 a failed"}},
		{"settle with an ended context", []string{"F7 a failed"}},
		{"settle in two steps", []string{"F7 no one sees"}},
		{"again is new", []string{"F8 Again does not", random}},
		{"again loses the depth", []string{"F8 Again does not", "F8 Again keeps", random}},
		{"retries do not count", []string{"F8 a retry", random, crowd}},
		{"postponements count", []string{"F8 a retry", random, crowd}},
		{"again loses the meta", []string{"F8 Again keeps", random}},
		{"retry loses the via", []string{"F8 Again keeps", random}},
		{"an empty store blocks", []string{"F9 an empty"}},
		{"drained while queued", []string{"F9 not drained", random}},
		{"drained while waiting", []string{"F9 not drained", random}},
		{"drained while claimed", []string{"F9 not drained", random}},
		{"drained wakes one", []string{"F9 becoming"}},
		{"add wakes nobody", []string{"F10 Claim wakes on Add"}},
		{"settle wakes nobody", []string{"F10 Claim wakes on Settle", "F9 becoming"}},
		{"nobody watches the clock", []string{"F10 Claim wakes when a time", random}},
		{"ended context is ignored", []string{"F10 Claim wakes when its context"}},
		{"claims never expire", []string{"F11 an expired", "F11 Settle of", random}},
		{"expiry counts an attempt", []string{"F11 an expired", random}},
		{"settled after expiry", []string{"F11 Settle of", random}},
		{"lost settle adds links", []string{"F11 Settle of", "F11 a claim is settled once", random}},
		{"any holder settles", []string{"F11 Settle of", "F11 a claim is settled once", random}},
		{"settled twice", []string{"F11 a claim is settled once", random}},
		{"crash loses what was added", []string{"F12 a crash loses", random}},
		{"crash loses the order", []string{"F12 a crash loses", random}},
		{"crash loses the meta", []string{"F12 a crash loses", random}},
		{"crash revives", []string{"F12 a crash revives", "F12 a closed store", random}},
		{"crash loses the done", []string{"F12 a crash revives", random}},
		{"crash loses attempts", []string{"F12 a crash revives", "F12 a crash makes", random}},
		{"crash loses claims", []string{"F12 a crash returns", "F12 a closed store", random}},
		{"crash counts an attempt", []string{"F12 a crash returns", random}},
		{"claim IDs begin anew", []string{"F12 a crash returns"}},
		{"crash loses ReadyAt", []string{"F12 a crash makes", random}},
		{"crash loses NotBefore", []string{"F12 a crash makes", "F12 a closed store", random}},
		{"ready at once after a crash", []string{"F12 a crash makes", random}},
		{"close wakes nobody", []string{"F13 Close wakes"}},
		{"add after close", []string{"F13 every call"}},
		{"closed twice", []string{"F13 every call"}},
		{"depth is not lowered", []string{"F14", random}},
		{"the last depth wins", []string{"F14", random}},
		{"depth of a claimed URL is lowered", []string{"F14", random}},
		{"depth of a waiting URL is not lowered", []string{"F14"}},
		{"nothing is raised", []string{"F20 a higher", random}},
		{"raised without arriving anew", []string{"F20 a higher", random}},
		{"raising counts", []string{"F20 a higher", random}},
		{"raising loses the depth", []string{"F20 a higher", random}},
		{"raising loses the meta", []string{"F20 a Request", random}},
		{"lowered as well as raised", []string{"F20 a higher", random}},
		{"raised while claimed", []string{"F20 a raised"}},
		{"known at any priority", []string{"F20 a higher", random}},
		{"crash loses the raise", []string{"F20 a crash", random}},
		{"nothing is rescored", []string{"F23 new scores", "F23 many", random}},
		{"rescored upwards alone", []string{"F23 new scores", "F23 many", "F23 a lower", random}},
		{"rescored without arriving anew", []string{"F23 new scores", random}},
		{"asked twice", []string{"F23 new scores", "F23 Rescore asks"}},
		{"rescore hides the depth", []string{"F23 Rescore asks"}},
		{"rescore loses the meta", []string{"F23 Rescore asks", random}},
		{"rescore frees the host", []string{"F23 Rescore keeps ReadyAt", random}},
		{"rescore with an ended context", []string{"F23 a failed"}},
		{"crash loses scores", []string{"F23 a crash", random}},
		{"release keeps the place", []string{"F15 a release frees", "F15 Claim wakes", random}},
		{"release ignores ReadyAt", []string{"F15 a release frees", "F15 a crash", random, commits}},
		{"release wakes nobody", []string{"F15 Claim wakes"}},
		{"release ends the claim", []string{"F15 a released claim is", random}},
		{"release queues", []string{"F15 a released claim is", random, commits}},
		{"the released expire", []string{"F15 a released claim never", random}},
		{"a lost release delays", []string{"F15 a released claim never"}},
		{"released twice", []string{"F15 a claim is released once", random}},
		{"the released can be settled", []string{"F15 a claim is released once", random}},
		{"release with an ended context", []string{"F15 a failed"}},
		{"release after close", []string{"F13 every call"}},
		{"crash ends the released", []string{"F15 a crash", random}},
		{"crash loses the ReadyAt of releases", []string{"F15 a crash", random}},
		{"commit wakes nobody", []string{"F15 a released claim is", "F15 Claim wakes"}},
		{"commit in reverse order", []string{"F16 Commit takes", random}},
		{"commit drops links", []string{"F16 Commit takes", random, commits}},
		{"commit drops offsets", []string{"F16 Commit takes", "F16 a nil", random}},
		{"commit drops values", []string{"F16 Commit takes", "F16 a nil", random}},
		{"commit ignores ReadyAt", []string{"F16 Commit ends", random}},
		{"commit shortens ReadyAt", []string{"F16 Commit ends", random}},
		{"commit ignores Again", []string{"F16 Commit ends", random}},
		{"commit frees the host again", []string{"F15 a release frees", random}},
		{"commit up to the bad one", []string{"F16 a failed", random}},
		{"commit of the held", []string{"F16 a failed", "F15 a claim is released once", random}},
		{"commit ends a claim twice", []string{"F16 a failed"}},
		{"commit with an ended context", []string{"F16 a failed"}},
		{"failed commit stores", []string{"F16 a failed"}},
		{"commit in two steps", []string{"F16 a crash during"}},
		{"nil is a value", []string{"F16 a nil", random}},
		{"empty is nil", []string{"F16 a nil", random}},
		{"the first value stays", []string{"F16 a nil", "F16 a Commit of a thousand", random}},
		{"offsets are shared", []string{"F16 a nil"}},
		{"values in any order", []string{"F16 Values"}},
		{"values ignore the prefix", []string{"F16 Values"}},
		{"values continue after an error", []string{"F16 Values"}},
		{"large values are cut", []string{"F16 a Commit of a thousand"}},
		{"crash loses offsets", []string{"F16 a crash keeps", random}},
		{"crash loses values", []string{"F16 a crash keeps", random}},
		{"owners share names", []string{"F17 owners", "F17 a crash"}},
		{"crash loses other owners", []string{"F17 a crash"}},
		{"revive does nothing", []string{"F18 Revive queues", "F18 a crash", random}},
		{"revive adds nothing", []string{"F18 Revive queues", random}},
		{"revive counts the new", []string{"F18 Revive queues", random}},
		{"revive keeps the depth", []string{"F18 Revive queues", "F18 a crash", random}},
		{"revive keeps the attempts", []string{"F18 Revive queues", "F18 a crash", random}},
		{"revive keeps the arrival", []string{"F18 a crash", random}},
		{"revive queues the held", []string{"F18 Revive leaves", random}},
		{"revive with an ended context", []string{"F18 a failed"}},
		{"failed revive revives", []string{"F18 a failed"}},
		{"crash forgets what was revived", []string{"F18 a crash", random}},
		{"take adds nothing", []string{"F19 Take adds", "F19 Claim wakes", "F19 a crash keeps", random}},
		{"take adds one", []string{"F19 Take adds", "F19 a crash keeps", random}},
		{"take counts the known", []string{"F19 Take adds", random}},
		{"take stores nothing", []string{"F19 Take adds", "F19 a crash keeps", random}},
		{"take wakes nobody", []string{"F19 Claim wakes"}},
		{"take with an ended context", []string{"F19 a failed"}},
		{"failed take stores", []string{"F19 a failed"}},
		{"take in two steps", []string{"F19 a crash during"}},
		{"hold frees the host", []string{"F21 no URL", "F21 Claim wakes", random}},
		{"hold ends the claim", []string{"F21 no URL", random}},
		{"hold does nothing", []string{"F21 no URL", random}},
		{"the held expire", []string{"F21 a claim on hold never", random}},
		{"held twice", []string{"F21 a claim is put on hold once", random}},
		{"hold with an ended context", []string{"F21 a failed"}},
		{"hold after close", []string{"F13 every call"}},
		{"hops are lost", []string{"a Claim returns", random}},
		{"kind is lost", []string{"a Claim returns", random}},
		{"meta is lost", []string{"a Claim returns", random}},
		{"via is lost", []string{"a Claim returns", random}},
		{"queued is lost", []string{"a Claim returns", random}},
		{"scheme is lost", []string{"a Claim returns"}},
		{"waiting counts as queued", []string{"Stats", random}},
		{"hosts are counted for ever", []string{"Stats", random}},
		{"all is known", []string{"Known", random}},
		{"known at any depth", []string{"Known", random}},
		{"the done are pending", []string{"Known", random}},
		{"the claimed are not pending", []string{random}},
	} {
		for _, prefix := range tc.noticed {
			t.Run(tc.bug+"/"+prefix, func(t *testing.T) {
				open := func() frontier.Frontier { return newNaive(tc.bug) }
				if r := runOne(t, naiveOptions(), prefix, open); !r.failed {
					t.Errorf("not noticed (skipped: %t)", r.skipped)
				}
			})
		}
	}
}

// TestSuiteNoticesWrongSlots runs the suite on a memory store with more or fewer slots per host than promised.
func TestSuiteNoticesWrongSlots(t *testing.T) {
	o := Options{Virtual: true, Slots: 3}
	for slots, fails := range map[int]bool{1: true, 2: true, 3: false, 4: true} {
		open := func() frontier.Frontier {
			return frontier.NewMemory(frontier.MemoryConfig{HostSlots: func(string) int { return slots }})
		}
		if r := runOne(t, o, "F3 a host has as many", open); r.failed != fails {
			t.Errorf("%d slots: failed %t, want %t", slots, r.failed, fails)
		}
	}
}

// TestSuiteSkipsWhatAStoreCannotDo checks that tests of optional features are skipped, not passed.
func TestSuiteSkipsWhatAStoreCannotDo(t *testing.T) {
	for _, prefix := range []string{"F3 a host has as many", "F11 an expired", "F11 Settle of", "F12 a crash loses", "F12 a closed store",
		"F15 a release frees", "F15 a crash", "F16 Commit takes", "F16 a crash during", "F17 owners", "F18 Revive queues", "F19 Take adds", "F21 no URL",
	} {
		r := runOne(t, Options{Virtual: true}, prefix, func() frontier.Frontier {
			return frontier.NewMemory(frontier.MemoryConfig{})
		})
		if !r.skipped || r.failed {
			t.Errorf("%s: skipped %t, failed %t", prefix, r.skipped, r.failed)
		}
	}
}

// runOne runs the test of the suite whose name begins with prefix, and returns the result.
func runOne(t *testing.T, o Options, prefix string, open func() frontier.Frontier) *recorder {
	t.Helper()
	r := &recorder{}
	found := 0
	each(o, func(name string, check func(*kit)) {
		if !strings.HasPrefix(name, prefix) {
			return
		}
		found++
		synctest.Test(t, func(t *testing.T) {
			k := newKit(r, o, open())
			k.crash = hook(t, o.Crash)
			r.run(func() { check(k) })
			k.close()
		})
	})
	if found != 1 {
		t.Fatalf("%d tests begin with %q", found, prefix)
	}
	return r
}

// recorder is a testing.TB that only records how a test ends.
type recorder struct {
	mu              sync.Mutex
	failed, skipped bool
	said            []string
}

type stopped struct{}

// run calls f and returns when f returns or ends its test.
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

func (r *recorder) Skipf(string, ...any) {
	r.skipped = true
	panic(stopped{})
}
