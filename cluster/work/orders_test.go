package work

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
)

// TestOrders pauses a job, leaves one host out and slows another host down, while a node is cut off and a new one joins. The test checks
// the requests at the servers. The collected job has every order, and verify takes the orders into account.
func TestOrders(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w)
		a := l.begin("a")
		l.begin("b")
		x := &Operator{Engine: l.server.Connect(), Name: "me"}
		order := func(what string, args ...string) {
			t.Helper()
			if _, err := x.Order(t.Context(), what, args...); err != nil {
				t.Errorf("%s %v: %v", what, args, err)
			}
		}
		time.Sleep(6 * time.Second)
		order("slower", "h2.test", "7s")
		order("leave-out", "h3.test")
		time.Sleep(5 * time.Second)
		slow := time.Now()
		time.Sleep(10 * time.Second)
		order("pause")
		time.Sleep(20 * time.Second)
		paused := time.Now()
		s, err := cluster.ReadStatus(t.Context(), x.Engine)
		if text := Summarize(&s, time.Now()).Text("shops"); err != nil || !strings.Contains(text, "shops: 4 shards, paused") || !strings.Contains(text, "slower h2.test 7s, by me\n") || strings.Contains(text, "not obeyed") {
			t.Errorf("%v: %s", err, text)
		}
		a.conn.Cut(true) // other nodes take over a's shards while the job is paused
		time.Sleep(30 * time.Second)
		l.begin("c")
		time.Sleep(30 * time.Second)
		resumed := time.Now()
		order("resume")
		order("retry")
		a.conn.Cut(false)
		l.wait()
		last := map[string]time.Time{}
		for _, r := range w.Requests() {
			host, _, _ := strings.Cut(r.Host, ":")
			switch gap := r.Start.Sub(last[host]); {
			case r.Start.After(paused) && r.Start.Before(resumed):
				t.Errorf("%s while the job is paused", r.URL)
			case host == "h3.test" && r.Start.After(slow):
				t.Errorf("%s, which is left out", r.URL)
			case host == "h2.test" && r.Start.After(slow.Add(7*time.Second)) && gap < 7*time.Second:
				t.Errorf("%s %v after the request before", r.URL, gap)
			}
			last[host] = r.End
		}
		l.collect()
		r, err := job.Read(filepath.Join(l.dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := r.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, run := range m.Runs {
			for _, c := range run.Changes {
				all = append(all, strings.TrimSpace(c.Key+" "+c.To))
			}
		}
		if got := strings.Join(all, ", "); got != "slower h2.test 7s, leave-out h3.test, pause, resume, retry" {
			t.Errorf("the record has: %s", got)
		}
		c, err := r.AuditConfig()
		if err != nil || len(c.HostDelays) != 1 || c.HostDelays[0].Delay != 7 || c.HostDelays[0].Since.Before(w.Start()) || len(c.Forgiven) != 1 {
			t.Errorf("the ledger is checked against %+v, %v (%v)", c.HostDelays, c.Forgiven, err)
		}
		if _, err := x.Order(t.Context(), "pause"); !errors.Is(err, cluster.ErrOver) {
			t.Errorf("an order to a job that is over: %v", err)
		}
	})
}

// Wrong orders are refused, and no order is recorded.
func TestOrdersThatAreWrong(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-pages", "17"), limit("rate", "5"))
		x := &Operator{Engine: l.server.Connect()}
		if _, err := x.Order(t.Context(), "slower", "h1.test", "5s"); err != nil {
			t.Fatal(err)
		}
		for _, none := range []string{"", " "} {
			if _, err := x.Order(t.Context(), "leave-out", none); !errors.Is(err, ErrOrder) {
				t.Errorf("%q: %v", none, err)
			}
		}
		for _, c := range []struct {
			what, args, says string
			is               error
		}{
			{"stop", "", `no such order: "stop"`, ErrOrder},
			{"pause", "now", "takes 0 arguments", ErrOrder},
			{"leave-out", "", "takes 1 argument", ErrOrder},
			{"leave-out", "h1.test/path", `"h1.test/path" is not a host`, ErrOrder},
			{"opt-out", "h1.test http://h2.test", `"http://h2.test" is not a host`, ErrOrder},
			{"opt-out", "", "names no host", ErrOrder},
			{"slower", "h2.test 100ms", "", politeness.ErrShorter},
			{"slower", "h1.test 4s", "", politeness.ErrShorter}, // less than in the previous order
			{"slower", "h2.test soon", `"soon" is no delay`, ErrOrder},
			{"slower", "h2.test -5s", "is no delay", ErrOrder},
			{"set", "rate", "not KEY=VALUE", ErrOrder},
			{"set", "rate=6", "", cluster.ErrFaster},
			{"set", "rate=none", "", cluster.ErrFaster},
			{"set", "max-pages=16", "max-pages is 17, and can only be raised", nil},
			{"set", "max-pages=many", "max-pages", nil},
			{"set", "delay=5s", "delay cannot be set while a job runs", ErrOrder},
		} {
			_, err := x.Order(t.Context(), c.what, strings.Fields(c.args)...)
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v", c.what, c.args, err)
			}
		}
		if all, err := cluster.LoadOrders(t.Context(), x.Engine); err != nil || len(all) != 1 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestOrdersOfRateAndOptOut orders a lower rate, opts a list of hosts out and slows another host down. The requests at the servers are
// checked from the time when all nodes obey: the rate is kept, and hosts on the list get no requests, whichever node takes over a shard.
func TestOrdersOfRateAndOptOut(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("rate", "4"))
		a := l.begin("a")
		l.begin("b")
		x := &Operator{Engine: l.server.Connect(), Name: "me"}
		time.Sleep(5 * time.Second)
		for _, o := range [][]string{{"set", "rate=0.5"}, {"opt-out", "h3.test", "nowhere.test"}, {"slower", "h2.test", "6s"}} {
			if _, err := x.Order(t.Context(), o[0], o[1:]...); err != nil {
				t.Errorf("%v: %v", o, err)
			}
		}
		time.Sleep(5 * time.Second) // nodes look for orders every twelfth of the lease, and requests may be in flight
		obeyed := time.Now()
		time.Sleep(5 * time.Second)
		a.conn.Cut(true)
		l.begin("c")
		time.Sleep(time.Minute)
		a.conn.Cut(false)
		l.wait()
		var before, began time.Time
		slow, n := time.Time{}, 0
		for _, r := range w.Requests() {
			host, _, _ := strings.Cut(r.Host, ":")
			if r.Start.After(obeyed) {
				if n++; began.IsZero() {
					began = r.Start
				}
				if host == "h3.test" {
					t.Errorf("%s, which is left out", r.URL)
				}
				// A process may use its rate tokens of a quarter of a second, here one token, within a second.
				if most := 2 + int(0.5*r.Start.Sub(began).Seconds()); n > most {
					t.Errorf("%d requests in %v", n, r.Start.Sub(began))
				}
				if gap := r.Start.Sub(before); gap < time.Second {
					t.Errorf("%s %v after the request before", r.URL, gap)
				}
			}
			if host == "h2.test" {
				if r.Start.After(obeyed.Add(6*time.Second)) && r.Start.Sub(slow) < 6*time.Second {
					t.Errorf("%s %v after the request before of its host", r.URL, r.Start.Sub(slow))
				}
				slow = r.End
			}
			before = r.Start
		}
		if n < 10 || n > 60 {
			t.Errorf("%d requests since", n)
		}
		if _, seen := l.collect(); len(seen) == 0 {
			t.Error("nothing is collected")
		}
	})
}
