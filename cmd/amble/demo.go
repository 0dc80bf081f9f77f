package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// demoCmd is "amble demo".
type demoCmd struct {
	Delay duration `short:"w" default:"200ms" placeholder:"D" help:"Pause between requests to a host (${default})."`
	outputFlags
}

// Run crawls a small web on loopback and shows what was done and how politely.
func (d *demoCmd) Run(a *app) error {
	web, err := startDemoWeb()
	if err != nil {
		return err
	}
	defer web.close()
	var ledger, visits lockedBuffer
	cfg := crawler.Config{
		Agent: crawler.DefaultAgent, Concurrency: 16, MaxPages: 200, Scope: crawler.ScopeAny,
		Politeness: politeness.Config{Delay: d.Delay.value(), Ledger: &ledger},
		Fetch:      fetcher.Config{AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Sinks:      []sink.Sink{sink.NewJSONL(&visits)},
	}
	fmt.Fprintf(a.err, "A web of %d hosts is being served on loopback:\n", len(web.hosts))
	for _, h := range web.hosts {
		fmt.Fprintf(a.err, "  %-28s %s\n", h.base, h.about)
	}
	fmt.Fprintf(a.err, "Crawling it as %s, robots.txt first, %v between requests to a host.\n\n", crawler.DefaultAgent, time.Duration(d.Delay))
	rep, err := a.crawl(cfg, d.outputFlags, []string{web.hosts[0].base})
	if err != nil {
		return err
	}
	if !d.JSON && !d.Quiet {
		fmt.Fprint(a.err, "\n"+web.explain(visits.Bytes()))
	}
	return a.gaps(ledger.Bytes(), rep)
}

// gaps prints the smallest pause that every host was given, from the ledger.
func (a *app) gaps(ledger []byte, rep *crawler.Report) error {
	type span struct{ start, end time.Time }
	requests := map[string][]span{}
	open := map[uint64]politeness.Entry{}
	dec := json.NewDecoder(bytes.NewReader(ledger))
	for dec.More() {
		var e politeness.Entry
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if e.Event == "start" {
			open[e.ID] = e
			continue
		}
		s := open[e.ID]
		requests[s.Host] = append(requests[s.Host], span{s.Written, e.Ended})
	}
	if rep == nil || len(requests) == 0 {
		return errors.New("the ledger is empty")
	}
	fmt.Fprintln(a.err, "\nSmallest pause between the end of a request and the start of the next, per host:")
	hosts := make([]string, 0, len(requests))
	for h := range requests {
		hosts = append(hosts, h)
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		rs := requests[h]
		slices.SortFunc(rs, func(x, y span) int { return x.start.Compare(y.start) })
		least := time.Duration(-1)
		for i := 1; i < len(rs); i++ {
			if gap := rs[i].start.Sub(rs[i-1].end); least < 0 || gap < least {
				least = gap
			}
		}
		if least < 0 {
			fmt.Fprintf(a.err, "  %-22s one request\n", h)
			continue
		}
		fmt.Fprintf(a.err, "  %-22s %v in %d requests\n", h, least.Round(time.Millisecond), len(rs))
	}
	return nil
}

// lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Bytes()
}
