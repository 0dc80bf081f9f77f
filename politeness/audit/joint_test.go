package audit

import (
	"fmt"
	"strings"
	"testing"
)

// TestCheckTogether checks two crawls that are polite each by itself. The first one ends a request at 2.1, and the second one begins
// its only request later.
func TestCheckTogether(t *testing.T) {
	slow := func(c *Config) { c.Delay = 5 }
	own := func(n int) func(*Config) {
		return func(c *Config) { c.OwnHosts = map[string]int{"a.test:80": n} }
	}
	robots := robotsReq(0, "")
	limited := with(page(2, "/1"), func(r *req) { r.status, r.extra = 503, `,"retry_after":"20"` })
	for _, c := range []struct {
		name          string
		first         *book
		second        req
		mine, theirs  func(*Config) // of the first, and of the second
		machine       string        // of the second
		want          string
		unproven, one int // one: what is shared
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
		{name: "another host at the address", first: newBook().add(robots, page(2, "/1")), second: moved(robotsReq(0, ""), "b.test", 2.6), want: "P6", one: 1},
		{name: "another host and address", first: newBook().add(robots, page(2, "/1")), second: with(moved(robotsReq(0, ""), "b.test", 2.6), func(r *req) { r.addr = "192.0.2.2" })},
		{name: "another host of the domain", first: newBook().add(in(robots, "test")), second: in(with(moved(robotsReq(0, ""), "b.test", 0.6), func(r *req) { r.addr = "192.0.2.2" }), "test"),
			mine: perDomain, want: "P6", one: 1},
		{name: "another host on loopback", first: newBook().add(local(robots), local(page(2, "/1"))), second: local(moved(robotsReq(0, ""), "b.test", 2.6))},
		{name: "the same host on loopback", first: newBook().add(local(robots), local(page(2, "/1"))), second: local(robotsReq(2.6, "")), want: "P4", one: 1},
		{name: "an own host of both", first: newBook().add(robots), second: robotsReq(0.05, ""), mine: own(2), theirs: own(3), one: 1},
		{name: "an own host of one", first: newBook().add(robots), second: robotsReq(0.05, ""), mine: own(2), want: "P3", one: 1},
		{name: "another machine", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.6, ""), machine: "m2", unproven: 2, one: 2},
		{name: "another machine, by more than its clock can be wrong", first: newBook().add(robots, page(2, "/1")), second: robotsReq(2.6, ""), theirs: slow, machine: "m2", want: "P4", one: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			second := newBook().add(c.second)
			second.run = "r2"
			parts := []Part{
				{Name: "A", Ledger: strings.NewReader(c.first.b.String()), Config: config(), Body: c.first.body, Machine: "m1"},
				{Name: "B", Ledger: strings.NewReader(second.b.String()), Config: config(), Body: second.body, Machine: "m1"},
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

// local returns a request to a loopback address.
func local(r req) req { return with(r, func(r *req) { r.addr = "127.0.0.1" }) }

// TestCheckTogetherComparesBothWays: a request of the first crawl comes too early after one of the second, too.
func TestCheckTogetherComparesBothWays(t *testing.T) {
	first, second := newBook().add(robotsReq(0, ""), page(6, "/1")), newBook().add(robotsReq(5.5, ""))
	second.run = "r2"
	j, err := CheckTogether([]Part{
		{Name: "A", Ledger: strings.NewReader(first.b.String()), Config: config(), Body: first.body},
		{Name: "B", Ledger: strings.NewReader(second.b.String()), Config: config(), Body: second.body},
	})
	if err != nil || len(j.Violations) != 1 || j.Violations[0].Lines != [2]JointLine{{"A", 3}, {"B", 1}} {
		t.Errorf("%v %v", err, j)
	}
}
