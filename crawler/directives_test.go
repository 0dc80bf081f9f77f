package crawler_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

func TestDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", links("/meta", "/header", "/tag", "/both", "/named", "/other", "/noindex")+`<a rel="ugc nofollow" href="/rel">x</a>`)
		s.Page("/meta", `<meta name="robots" content="nofollow">`+links("/x1"))
		s.Page("/header", links("/x2")).Header("X-Robots-Tag", "none")
		s.Page("/tag", links("/x4")).Header("Robots-Tag", "*;noindex, TestBot;nofollow")
		s.Page("/both", links("/x5")).Header("X-Robots-Tag", "noindex").Header("Robots-Tag", "nofollow")
		s.Page("/named", `<meta name="testbot" content="nofollow">`+links("/x3"))
		s.Page("/other", `<meta name="otherbot" content="nofollow">`+links("/y1"))
		s.Page("/noindex", `<meta name="robots" content="noindex">`+links("/y2"))
		s.Page("/y1", "")
		s.Page("/y2", "")
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for _, u := range []string{"/x1", "/x2", "/x3", "/x4", "/x5", "/rel"} {
			w.MustNotRequest(s.URL(u))
		}
		w.MustRequest(s.URL("/y1"), s.URL("/y2"))
		if !v.by[s.URL("/noindex")].Directives.NoIndex {
			t.Error("noindex is reported")
		}
	})
}

func TestUsageSignals(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Page("/", links("/meta", "/header", "/free"))
		s.Page("/meta", `<meta name="robots" content="noai">`+links("/behind"))
		s.Page("/header", links("/free")).Header("Content-Usage", "train-ai=n")
		s.Page("/free", "")
		s.Page("/behind", "")
		return s
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{}, s.URL("/"))
		for path, want := range map[string]robots.Signal{"/meta": robots.Disallowed, "/header": robots.Disallowed, "/free": robots.Unsaid} {
			if got := v.by[s.URL(path)].Usage.For(robots.UseTrainAI); got != want {
				t.Errorf("%s: %v, want %v", path, got, want)
			}
		}
		w.MustRequest(s.URL("/behind")) // a usage signal does not restrict crawling
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{RefuseUsage: []string{robots.UseTrainAI}}}, s.URL("/"))
		if got := v.line(s.URL("/meta")); got != "refused 200 usage_signal" {
			t.Error(got)
		}
		w.MustNotRequest(s.URL("/behind"))
	})
}

func TestPagesThatForbidThePurposeAreRefused(t *testing.T) {
	build := func(w *crawltest.Web) *crawltest.Site {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /closed train-ai=n\n")
		s.Page("/", links("/noindex", "/reserved", "/free", "/paid", "/licensed"))
		s.Page("/noindex", `<meta name="robots" content="noindex">`)
		s.Page("/reserved", links("/behind")).Header("tdm-reservation", "1")
		s.Page("/free", "")
		s.Page("/paid", links("/behind")).Status(http.StatusPaymentRequired).Header("Crawler-Price", "USD 0.01")
		s.Page("/licensed", "").Status(http.StatusUnauthorized).Header("WWW-Authenticate", "License")
		s.Page("/behind", "")
		return s
	}
	for _, c := range []struct {
		purposes []consent.Purpose
		want     map[string]string
	}{
		{nil, map[string]string{"/noindex": "fetched 200", "/reserved": "fetched 200", "/free": "fetched 200", "/paid": "refused 402 payment", "/licensed": "refused 401 payment"}},
		{[]consent.Purpose{consent.Search}, map[string]string{"/noindex": "refused 200 usage_signal", "/reserved": "fetched 200", "/free": "fetched 200", "/paid": "refused 402 payment"}},
		{[]consent.Purpose{consent.Archive, consent.AIInput}, map[string]string{"/noindex": "fetched 200", "/reserved": "refused 200 usage_signal", "/free": "fetched 200"}},
	} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := build(w)
			_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{Purposes: c.purposes}}, s.URL("/"))
			for path, want := range c.want {
				if got := strings.TrimSpace(v.line(s.URL(path))); got != want {
					t.Errorf("%v: %s: %q, want %q", c.purposes, path, got, want)
				}
			}
			if slices.Contains(c.purposes, consent.AIInput) {
				w.MustNotRequest(s.URL("/behind"))
			}
		})
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := build(w)
		_, v := crawl(t, w, crawler.Config{Politeness: politeness.Config{Purposes: []consent.Purpose{consent.TrainAI}}}, s.URL("/"))
		w.MustNotRequest(s.URL("/")) // robots.txt already disallows it
		want := "refused: train-ai is forbidden by Content-Signal: search=yes, ai-train=no (robots.txt, line 2)"
		if got := v.by[s.URL("/")].Detail; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// The Report has totals of usage signals by use and by host. Each use counts once per visit.
func TestUsageSignalsAreCounted(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b := w.Site("http://a.example"), w.Site("http://b.example")
		a.Robots("User-agent: *\nContent-Signal: search=yes, ai-train=no\n")
		a.Page("/", `<meta name="robots" content="noai">`+links("/free", b.URL("/"), b.URL("/free")))
		a.Page("/free", "").Header("Content-Usage", "train-ai=y, lunch=n, dinner=n")
		b.Page("/", "").Header("tdm-reservation", "1")
		b.Page("/free", "")
		r, _ := crawl(t, w, crawler.Config{Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 9}}, a.URL("/"))
		wantA := map[string]int{"search allow": 2, "train-ai disallow": 2, "other disallow": 1}
		want := map[string]int{"search allow": 2, "train-ai disallow": 2, "other disallow": 1, "tdm disallow": 1}
		hosts := map[string]map[string]int{"a.example:80": wantA, "b.example:80": {"tdm disallow": 1}}
		if !reflect.DeepEqual(r.Usage, want) || !reflect.DeepEqual(r.UsageHosts, hosts) || r.UsageMore != 0 {
			t.Errorf("%v, by host %v", r.Usage, r.UsageHosts)
		}
	})
}

func TestRevisitedDirectives(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", `<meta name="robots" content="noindex">`+links("/x"))
		s.Page("/x", "")
		crawl(t, w, crawler.Config{RevisitedDirectives: true}, s.URL("/"))
		w.MustNotRequest(s.URL("/x")) // NOINDEX alone also keeps links from being followed
	})
}
