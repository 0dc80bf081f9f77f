package fetcher

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

func TestReplyCarriesWhatTheGateNeeds(t *testing.T) {
	now := time.Now()
	p := &Page{Status: 503, Header: http.Header{"Retry-After": {"9"}}, Body: []byte("x"), Truncated: reasonIdleTimeout,
		Written: now, FirstByte: now.Add(1), Ended: now.Add(2), WireBytes: 7}
	r := p.Reply()
	if r.Status != 503 || r.Header.Get("Retry-After") != "9" || string(r.Body) != "x" || r.Truncated != reasonIdleTimeout || r.Err != nil ||
		r.Written != now || r.FirstByte != now.Add(1) || r.Ended != now.Add(2) || r.WireBytes != 7 {
		t.Fatalf("%+v", r)
	}
	e := &Error{Reason: reasonReset, Phase: PhaseHeader, Err: errors.New("x"), Written: now, FirstByte: now.Add(1), Ended: now.Add(2), WireBytes: 7}
	r = ReplyForError(fmt.Errorf("crawler: %w", e))
	if !errors.Is(r.Err, e) || r.Status != 0 || r.Written != now || r.FirstByte != now.Add(1) || r.Ended != now.Add(2) || r.WireBytes != 7 {
		t.Fatalf("%+v", r)
	}
	if r = ReplyForError(errors.New("other")); r.Err == nil || r.Ended.Before(now) {
		t.Fatalf("%+v", r)
	}
	if reasonLength != politeness.CutByLength {
		t.Fatal("the Gate would take a robots.txt cut by length for a broken one")
	}
}

// A page that is kept while others are read and released keeps its bytes.
func TestReleaseNeverTouchesAnotherPage(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(bytes.Repeat([]byte(r.URL.RawQuery), 20_000))
	})
	r := newRig(t, Config{})
	r.page(s.URL) // robots.txt is out of the way before the concurrent requests
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			var kept *Page
			for i := range 25 {
				q := fmt.Sprintf("%d-%d.", w, i)
				p := r.page(s.URL + "/?" + q)
				want := bytes.Repeat([]byte(q), 20_000)
				if !bytes.Equal(p.Body, want) {
					t.Error("wrong body")
				}
				if i == 10 {
					kept = p
					continue
				}
				p.Release()
				p.Release()
				if p.Body != nil {
					t.Error("released and still there")
				}
			}
			if !bytes.Equal(kept.Body, bytes.Repeat(fmt.Appendf(nil, "%d-10.", w), 20_000)) {
				t.Error("a kept page was overwritten")
			}
		})
	}
	wg.Wait()
}

func TestBuffersHaveTheSizeOfTheirClass(t *testing.T) {
	var b buffers
	for _, n := range []int{0, 1, minBuffer, minBuffer + 1, 1 << 17, maxBuffer, maxBuffer + 1, 10 << 20} {
		p := b.get(n)
		if len(p) != 0 || cap(p) < n || cap(p) > max(2*n, minBuffer) {
			t.Errorf("get(%d): length %d, capacity %d", n, len(p), cap(p))
		}
		b.put(p)
	}
	b.put(make([]byte, 3, 20_000)) // a buffer that is not from get is ignored
	if p := b.get(17_000); cap(p) < 17_000 {
		t.Error(cap(p))
	}
}

// Runs the whole stack on the simulated web: several names at one address, https, HTTP/1.1 and HTTP/2, connection
// reuse.
func TestOnTheSimulatedWeb(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.ExpectViolations() // this rig has no delay
		a, b := w.Site("https://a.example"), w.Site("b.example")
		a.Page("/", "<p>a</p>")
		b.Page("/x", "<p>b</p>").Latency(3 * time.Second)
		r := newRig(t, Config{DialContext: w.DialContext, Resolver: w, RootCAs: w.RootCAs(), AllowHosts: func(string) bool { return true }})
		for range 3 {
			if p := r.page("https://a.example/"); string(p.Body) != "<p>a</p>" || !p.IsHTML() {
				t.Fatalf("%q %s", p.Body, p.ContentType)
			}
		}
		p := r.page("http://b.example/x")
		if d := p.FirstByte.Sub(p.Written); d != 3*time.Second {
			t.Fatalf("first byte after %v", d)
		}
		if n := len(w.Dials()); n != 2 {
			t.Fatalf("%d connections", n)
		}
	})
}
