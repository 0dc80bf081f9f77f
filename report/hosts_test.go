package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// TestFactsOfAJob crawls a page, a missing one and one that breaks off, and finds them in the facts and on the page.
func TestFactsOfAJob(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/missing>m</a><a href=/broken>b</a>")
		case "/broken":
			panic(http.ErrAbortHandler)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	var c job.Config
	c.Crawl.Politeness.Delay, c.Crawl.Retries.Max = crawler.None, crawler.None
	j, err := job.Create(dir, c, srv.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := Gather(r)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(srv.URL, "http://")
	if len(f.Hosts) != 1 || f.Hosts[0].Host != host || f.Hosts[0].Requests != 4 || f.Hosts[0].Pages != 2 || f.Hosts[0].Failed != 1 || f.Hosts[0].Answer <= 0 || f.Hosts[0].Pause <= 0 {
		t.Errorf("%+v", f.Hosts)
	}
	if len(f.Failed) != 2 || f.MoreFailed != 0 {
		t.Errorf("%d failed", len(f.Failed))
	}
	page, err := Page(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Hosts</h2>", "<td>" + host + "</td><td>4</td><td>2</td><td>1</td>", "/broken", "/missing"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestFactsAreBounded checks that the memory used is bounded, however many hosts and unfinished requests a ledger has,
// and that everything left out is counted.
func TestFactsAreBounded(t *testing.T) {
	g := gatherer{hosts: map[string]*Host{}, open: map[uint64]ledger.Entry{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range uint64(3 * mostHosts) {
		host := fmt.Sprintf("h%d:80", i)
		g.entry(&ledger.Entry{Event: ledger.Start, Run: "r", ID: i, Host: host, Written: now})
		g.entry(&ledger.Entry{Event: ledger.End, Run: "r", ID: i, Ended: now.Add(time.Second), Status: 200})
	}
	for i := range uint64(3 * mostOpen) {
		g.entry(&ledger.Entry{Event: ledger.Start, Run: "killed", ID: i, Host: "h0:80"})
	}
	if len(g.hosts) != mostHosts || len(g.more) != mostHosts || len(g.open) > mostOpen {
		t.Errorf("%d hosts, %d more, %d open", len(g.hosts), len(g.more), len(g.open))
	}
	if f := g.result(); len(f.Hosts) != mostListed || f.MoreHosts != 2*mostHosts-mostListed {
		t.Errorf("%d hosts and %d more", len(f.Hosts), f.MoreHosts)
	}
}
