package frontiertest

import (
	"bytes"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func claimReturnsRequest(k *kit) {
	before := time.Now()
	plain, full := k.pages("b/1")[0], k.full("a/1")
	k.add(2, plain, full)
	for range 2 {
		c := k.claim()
		if c.URL == full.URL {
			k.same(c.Request, full)
			k.done(c)
			continue
		}
		if c.Queued.Before(before.Round(0)) || c.Queued.After(time.Now()) {
			k.Errorf("Queued is %v, want the time of the Add", c.Queued)
		}
		c.Queued = time.Time{}
		k.same(c.Request, plain)
		k.done(c)
	}
	k.likeButOne()
	k.odd()
}

// likeButOne adds, in one call, Requests that differ in a single field. A store that keeps common fields only once must distinguish them.
func (k *kit) likeButOne() {
	var rs []frontier.Request
	for i, p := range []string{"l/1", "l/2", "l/3", "l/4", "l/5"} {
		q := k.full(p)
		switch i {
		case 1:
			q.Via = k.page("via/other")
		case 2:
			q.Kind = frontier.KindRedirect
		case 3:
			q.Queued = q.Queued.Add(1)
		case 4:
			q.Beyond = frontier.MaxBeyond
		}
		rs = append(rs, q)
	}
	k.add(len(rs), rs...)
	for _, want := range rs {
		c := k.claim()
		k.same(c.Request, want)
		k.done(c)
	}
}

// odd adds URLs whose texts a store may fail to return unchanged.
func (k *kit) odd() {
	want := map[weburl.URL]bool{}
	for _, s := range []string{
		"https://a.test/", "https://a.test:80/", "http://a.test:443/x", "https://a.test:8443/a//b/./c?",
		"http://[::1]/", "http://[2001:db8::1]:8080/x?y", "http://127.0.0.1/%7e/~?a=%zz&&", "http://xn--bcher-kva.test/ü",
	} {
		u, err := weburl.Parse(s)
		if err != nil {
			k.Fatalf("parse %q: %v", s, err)
		}
		want[u] = true
		k.add(1, frontier.Request{URL: u, Via: u})
	}
	for range len(want) {
		c := k.claim()
		if !want[c.URL] || c.Via != c.URL {
			k.Errorf("claimed %v, found on %v: not as added", c.URL, c.Via)
		}
		delete(want, c.URL)
		k.done(c)
	}
}

// same checks that got equals want.
func (k *kit) same(got, want frontier.Request) {
	k.Helper()
	if !equal(got, want) {
		k.Errorf("claimed\n%+v, want\n%+v", got, want)
	}
}

// equal compares Requests. A nil slice equals an empty one.
func equal(a, b frontier.Request) bool {
	return a.URL == b.URL && a.Depth == b.Depth && a.Priority == b.Priority && a.Score == b.Score && a.Via == b.Via &&
		a.Kind == b.Kind && a.Beyond == b.Beyond && a.Queued.Equal(b.Queued) &&
		slices.Equal(a.Hops, b.Hops) && bytes.Equal(a.Meta, b.Meta)
}
