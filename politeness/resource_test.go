package politeness

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// A resource is requested only after its host's robots.txt, and after that host's pause. The ledger names the page that uses the resource.
func TestResource(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		page, script := b.url("https://page.test/"), b.url("https://cdn.test/app.js")
		q := Request{URL: script, Purpose: Resource, For: page, Addr: someAddr}
		q.Next = b.gate.Next(script)
		p, err := b.gate.Admit(q)
		if err != nil || p.Purpose() != Robots || p.URL().String() != "https://cdn.test/robots.txt" {
			t.Fatalf("first %v %v, %v", p.Purpose(), p.URL(), err)
		}
		send(t, p)
		b.gate.Report(p, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /private"), Ended: time.Now()})
		q.Next = b.gate.Next(script)
		var wait *NotYet
		if _, err := b.gate.Admit(q); !errors.As(err, &wait) {
			t.Fatalf("without a pause: %v", err)
		}
		time.Sleep(time.Until(wait.Until))
		if p, err = b.gate.Admit(q); err != nil || p.Purpose() != Resource {
			t.Fatalf("%v, %v", p.Purpose(), err)
		}
		send(t, p)
		var last, first ledger.Entry
		lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
		if err := errors.Join(json.Unmarshal(lines[0], &first), json.Unmarshal(lines[len(lines)-1], &last)); err != nil {
			t.Fatal(err)
		}
		if last.Purpose != "resource" || last.For != page.String() || last.URL != script.String() || first.For != script.String() {
			t.Errorf("the ledger says %+v, and of its robots.txt %+v", last, first)
		}
		b.gate.Report(p, Reply{Status: 200, Ended: time.Now()})
		q.URL = b.url("https://cdn.test/private/app.js")
		q.Next = q.URL
		var denied *Denied
		if _, err := b.gate.Admit(q); !errors.As(err, &denied) || denied.Reason != ReasonRobots {
			t.Errorf("forbidden: %v", err)
		}
	})
}

func send(t *testing.T, p Permit) {
	t.Helper()
	g, err := p.Redeem()
	if err == nil {
		err = g.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The request for a resource must name its page in the field For, so that the ledger can name it. Other requests must not set For, because
// nothing checks the field there.
func TestResourceNeedsItsPage(t *testing.T) {
	b := newClient(t, Config{})
	u := b.url("https://a.test/x")
	for _, q := range []Request{{URL: u, Addr: someAddr, Purpose: Resource}, {URL: u, Addr: someAddr, For: u}, {URL: u, Addr: someAddr, Purpose: Sitemap, For: u}} {
		if _, err := b.gate.Admit(q); !errors.Is(err, errRequest) {
			t.Errorf("%v for %v: %v", q.Purpose, q.For, err)
		}
	}
}

// A replay of a resource applies the pause to the resource's own host, not to that of its page.
func TestResourceIsReplayedAsItself(t *testing.T) {
	b := newClient(t, Config{})
	page, script := b.url("https://page.test/"), b.url("https://cdn.test/app.js")
	for purpose, want := range map[Purpose]string{Resource: script.String(), Robots: page.String()} {
		e := line{&ledger.Entry{URL: script.String(), For: page.String(), Purpose: purpose.String()}}
		target, wanted, err := e.urls()
		if err != nil || target != script || wanted.String() != want || e.purpose() != purpose {
			t.Errorf("%v: %v for %v, %v", purpose, target, wanted, err)
		}
	}
}
