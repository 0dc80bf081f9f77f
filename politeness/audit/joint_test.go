package audit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestCheckTogether checks two crawls, each polite on its own. The first crawl ends a request at 2.1 s; the second crawl makes its only
// request later.
func TestCheckTogether(t *testing.T) {
	slow := func(c *Config) { c.Delay = 5 }
	own := func(n int) func(*Config) {
		return func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": n} }
	}
	robots := robotsReq(0, "")
	limited := with(page(2, "/1"), func(r *req) { r.status, r.extra = 503, `,"retry_after":"20"` })
	leading := with(moved(page(2, "/go"), "c.test", 2), func(r *req) {
		r.addr, r.status, r.extra = "192.0.2.3", 302, `,"retry_after":"20","location":"http://a.test/x"`
	})
	failed := with(robotsReq(0, ""), func(r *req) { r.status, r.clause = 503, `,"shares":true` })
	again := func(at float64) req {
		return with(robotsReq(at, ""), func(r *req) { r.addr, r.clause = "192.0.2.2", `,"shares":true` })
	}
	alive := moved(page(90, "/"), "c.test", 90)
	rate := func(perSecond float64) func(*Config) { return func(c *Config) { c.Rate = perSecond } }
	hours := func(c *Config) { c.Hours = []string{"03:13-03:04"} }
	queued := func(r req, s float64) req {
		return with(r, func(r *req) { r.clause = fmt.Sprintf(`,"queued":%q`, at(s)) })
	}
	stopped := newBook().add(robots)
	stopped.run = "r3"
	stopped.add(queued(page(700, "/2"), 2))
	elsewhere := with(moved(robotsReq(0, ""), "b.test", 3), func(r *req) { r.addr = "192.0.2.2" })
	for _, c := range []struct {
		name          string
		first         *book
		second        req
		mine, theirs  func(*Config) // change the configuration of the first and of the second crawl
		machine       string        // machine of the second crawl
		want          string
		unproven, one int // one: how many hosts, addresses and domains get requests of both crawls
	}{
		{name: "in time", first: newBook().add(robots, page(2, "/1")), second: robotsReq(3.2, ""), one: 2},
		{name: "too early", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.6, ""), want: "P4", one: 2},
		{name: "at once", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.05, ""), want: "P3", one: 2},
		{name: "the first has the longer delay", first: newBook().add(robots), mine: slow, second: robotsReq(3.2, ""), want: "P4", one: 2},
		{name: "the second has the longer delay", first: newBook().add(robots), theirs: slow, second: robotsReq(3.2, ""), want: "P4", one: 2},
		{name: "Crawl-delay that the first one knows", first: newBook().add(robotsReq(0, "User-agent: *\nCrawl-delay: 9\n")), second: robotsReq(3.2, ""), want: "P5", one: 2},
		{name: "back-off of the first", first: newBook().add(robots, failing(2), failing(5)), mine: backoffChecked, second: robotsReq(6.5, ""), want: "P5", one: 2},
		{name: "Retry-After that the first was told", first: newBook().add(robots, limited), second: robotsReq(15, ""), want: "P7", one: 2},
		{name: "Retry-After, kept", first: newBook().add(robots, limited), second: robotsReq(22.2, ""), one: 2},
		{name: "Retry-After of a redirect that the first was told", first: newBook().add(leading), second: robotsReq(15, ""), want: "P7"},
		{name: "Retry-After of a redirect, kept", first: newBook().add(leading), second: robotsReq(22.2, "")},
		{name: "Retry-After of a redirect that the second could not know", first: newBook().add(leading), second: robotsReq(2.05, "")},
		{name: "Retry-After of a redirect to an own host of both", first: newBook().add(leading), second: robotsReq(15, ""), mine: own(2), theirs: own(2)},
		{name: "Retry-After of a redirect, another machine", first: newBook().add(leading), second: robotsReq(21, ""), machine: "m2", unproven: 1},
		{name: "Retry-After of a redirect, another machine, by more than its clock can be wrong", first: newBook().add(leading), second: robotsReq(15, ""), machine: "m2", want: "P7"},
		{name: "robots.txt that failed", first: newBook().add(failed, with(again(1.2), func(r *req) { r.status = 503 }), alive), second: again(5), want: "P8", one: 2},
		{name: "robots.txt that failed, in time", first: newBook().add(failed, with(again(1.2), func(r *req) { r.status = 503 }), alive), second: again(6.4), one: 2},
		{name: "robots.txt that failed in a crawl that has ended", first: newBook().add(failed, with(again(1.2), func(r *req) { r.status = 503 })), second: again(5), one: 2},
		{name: "robots.txt that failed with another account", first: newBook().add(failed, with(again(1.2), func(r *req) { r.status, r.clause = 503, "" }), alive), second: again(3.2), one: 2},
		{name: "another host at the address", first: newBook().add(robots, page(2, "/1")), second: moved(robotsReq(0, ""), "b.test", 2.6), want: "P6", one: 1},
		{name: "another host and address", first: newBook().add(robots, page(2, "/1")), second: with(moved(robotsReq(0, ""), "b.test", 2.6), func(r *req) { r.addr = "192.0.2.2" })},
		{name: "another host of the domain", first: newBook().add(in(robots, "test")), second: in(with(moved(robotsReq(0, ""), "b.test", 0.6), func(r *req) { r.addr = "192.0.2.2" }), "test"),
			mine: perDomain, want: "P6", one: 1},
		{name: "another host on loopback", first: newBook().add(local(robots), local(page(2, "/1"))), second: local(moved(robotsReq(0, ""), "b.test", 2.6))},
		{name: "the same host on loopback", first: newBook().add(local(robots), local(page(2, "/1"))), second: local(robotsReq(2.6, "")), want: "P4", one: 1},
		{name: "an own host of both", first: newBook().add(robots), second: robotsReq(0.05, ""), mine: own(2), theirs: own(3), one: 1},
		{name: "an own host of one", first: newBook().add(robots), second: robotsReq(0.05, ""), mine: own(2), want: "P3", one: 1},
		{name: "too early for the rate of both", first: newBook().add(robots, page(2, "/1")), second: elsewhere, mine: rate(0.5), theirs: rate(0.9), want: "rate"},
		{name: "in time for the rate of both", first: newBook().add(robots, page(2, "/1")), second: elsewhere, mine: rate(1.1), theirs: rate(1.1)},
		{name: "too early for the rate of one alone", first: newBook().add(robots, page(2, "/1")), second: elsewhere, mine: rate(0.5)},
		{name: "outside of the hours of one that waited", first: newBook().add(robots, page(2, "/1"), queued(page(700, "/2"), 2)), second: robotsReq(400, ""), mine: hours, want: "hours", one: 2},
		{name: "outside of the hours of one that did not wait", first: newBook().add(robots, page(2, "/1"), queued(page(700, "/2"), 399)), second: robotsReq(400, ""), mine: hours, one: 2},
		{name: "outside of the hours of one that was not running", first: stopped, second: robotsReq(400, ""), mine: hours, one: 2},
		{name: "too early for the rate of both on two machines", first: newBook().add(robots, page(2, "/1")), second: elsewhere, mine: rate(0.5), theirs: rate(0.9), machine: "m2"},
		{name: "another machine", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.6, ""), machine: "m2", unproven: 2, one: 2},
		{name: "another machine, by more than its clock can be wrong", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.6, ""), theirs: slow, machine: "m2", want: "P4", one: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			second := newBook().add(c.second)
			second.run = "r2"
			parts := []Part{
				{Name: "A", Open: opens(c.first.b.String()), Config: config(), Body: c.first.body, Machine: "m1"},
				{Name: "B", Open: opens(second.b.String()), Config: config(), Body: second.body, Machine: "m1"},
			}
			if c.mine != nil {
				c.mine(&parts[0].Config)
			}
			if c.theirs != nil {
				c.theirs(&parts[1].Config)
			}
			if c.machine != "" {
				parts[1].Machine = c.machine
			}
			j, err := CheckTogether(parts)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(j.Violations) > 0 {
				got = j.Violations[0].Invariant
			}
			if got != c.want || j.Shared != c.one || (j.Unproven > 0) != (c.unproven > 0) {
				t.Errorf("%v, %d shared, %d not proven; want %q, %d and %d", j.Violations, j.Shared, j.Unproven, c.want, c.one, c.unproven)
			}
			if len(j.Violations) > 0 && (j.Violations[0].Lines[0] != JointLine{"B", 1} || !strings.Contains(fmt.Sprint(j.Violations[0]), "(B line 1, A line ")) {
				t.Errorf("it names %v", j.Violations[0])
			}
		})
	}
}

// opens returns a function that opens a ledger with this text.
func opens(ledger string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(ledger)), nil }
}

// local returns a request to a loopback address.
func local(r req) req { return with(r, func(r *req) { r.addr = "127.0.0.1" }) }

// TestCheckTogetherOpensOneLedgerAtATime also checks that the memory for each ledger depends only on the number of its concurrent
// requests.
func TestCheckTogetherOpensOneLedgerAtATime(t *testing.T) {
	open, most := 0, 0
	var parts []Part
	for i := range 50 {
		b := newBook().add(robotsReq(float64(10*i), ""), page(float64(10*i+2), "/"))
		if i == 49 {
			b = newBook().add(robotsReq(482.5, "")) // this request comes after all others
		}
		parts = append(parts, Part{Name: fmt.Sprint(49 - i), Config: config(), Body: b.body, Open: func() (io.ReadCloser, error) {
			open++
			most = max(most, open)
			return closing{strings.NewReader(b.b.String()), func() { open-- }}, nil
		}})
	}
	slices.Reverse(parts)
	j, err := CheckTogether(parts)
	if err != nil || most != 1 || open != 0 || j.Requests != 99 || len(j.Violations) != 1 || j.Violations[0].Lines != [2]JointLine{{"0", 1}, {"1", 3}} {
		t.Errorf("%v, %d open at once, %d left open, %+v", err, most, open, j)
	}
}

// closing is a reader that calls a function when it is closed.
type closing struct {
	io.Reader
	close func()
}

func (c closing) Close() error {
	c.close()
	return nil
}

// TestCheckTogetherKnowsCopiesOfFailures: crawls can also share the outcome of an attempt at robots.txt that sent no request.
func TestCheckTogetherKnowsCopiesOfFailures(t *testing.T) {
	for from, want := range map[float64]int{3: 0, 4: 1} {
		first, second := refused(newBook(), 3, false), newBook()
		second.run = "r2"
		fmt.Fprintf(&second.b, `{"event":"copied","run":"r2","id":0,"url":"http://a.test/robots.txt","host":"a.test:80","purpose":"robots","attempt":1,"ended":%q,"reported":%q,"error":"refused","expires":%q,"by":"A","by_run":"r1"}`+"\n",
			at(from), at(4.1), at(5))
		j, err := CheckTogether([]Part{
			{Name: "A", Open: opens(first.b.String()), Config: config(), Body: first.body},
			{Name: "B", Open: opens(second.b.String()), Config: config(), Body: second.body},
		})
		if err != nil || len(j.Violations) != want || len(j.Notes) > 0 {
			t.Errorf("copied from %v: %v %v", from, err, j)
		}
	}
}

// TestCheckTogetherCountsRequestsOutsideHoursOfOthers: a request outside the allowed hours of another crawl is noted, even if that crawl
// did not wait for the host.
func TestCheckTogetherCountsRequestsOutsideHoursOfOthers(t *testing.T) {
	for hours, want := range map[string]string{"00:00-03:03": "1 requests of B to hosts that A requests, too, are outside of the hours of that one (00:00-03:03)", "22:00-03:04": ""} {
		first, second := newBook().add(robotsReq(0, "")), newBook().add(robotsReq(5.5, ""))
		second.run = "r2"
		c := config()
		c.Hours = []string{hours}
		j, err := CheckTogether([]Part{
			{Name: "A", Open: opens(first.b.String()), Config: c, Body: first.body},
			{Name: "B", Open: opens(second.b.String()), Config: config(), Body: second.body},
		})
		if err != nil || len(j.Violations) > 0 || (len(j.Notes) == 0) != (want == "") || !strings.HasPrefix(strings.Join(j.Notes, "\n"), want) {
			t.Errorf("%s: %v %v", hours, err, j)
		}
	}
}

// TestCheckTogetherComparesBothWays: a request of the first crawl can come too early after a request of the second one, too.
func TestCheckTogetherComparesBothWays(t *testing.T) {
	first, second := newBook().add(robotsReq(0, ""), page(6, "/1")), newBook().add(robotsReq(5.5, ""))
	second.run = "r2"
	j, err := CheckTogether([]Part{
		{Name: "A", Open: opens(first.b.String()), Config: config(), Body: first.body},
		{Name: "B", Open: opens(second.b.String()), Config: config(), Body: second.body},
	})
	if err != nil || len(j.Violations) != 1 || j.Violations[0].Lines != [2]JointLine{{"A", 3}, {"B", 1}} {
		t.Errorf("%v %v", err, j)
	}
}
