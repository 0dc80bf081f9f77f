package live

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

// TestNoLinkLeadsToThePage: a crawl of loopback, with a link to the page under its address and under a name, requests neither.
func TestNoLinkLeadsToThePage(t *testing.T) {
	o, err := Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	page := "http://" + o.server.Addr().String()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<a href=" + page + "/>page</a><a href=" + strings.Replace(page, "127.0.0.1", "localhost", 1) + "/healthz>page</a>"))
	}))
	defer site.Close()
	var mu sync.Mutex
	got := map[string]string{}
	c := crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 10}, Trace: &crawler.Trace{Visited: func(v *crawler.Visit) {
		mu.Lock()
		defer mu.Unlock()
		got[v.URL.String()] = string(v.Outcome) + " " + v.Reason
	}}}
	c.Politeness.Delay = crawler.None
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	o.live = New(Config{Source: new(Feed)})
	o.Configure(&c, false)
	x, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), site.URL+"/"); err != nil {
		t.Fatal(err)
	}
	for url, outcome := range got {
		if want := "refused address_refused"; url != site.URL+"/" && outcome != want || len(got) != 3 {
			t.Errorf("%s: %s, want %s; %v", url, outcome, want, got)
		}
	}
}
