package politeness

import (
	"net/http"
	"testing"
	"time"
)

func TestAHostThatIsGivenUpKeepsNoURLWaiting(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		ready := b.send(b.must("https://a.test/"), 0, Reply{Status: 503, Header: http.Header{"Retry-After": {"99999999999"}}})
		if ready.After(time.Now()) {
			t.Errorf("its URLs are to wait until %v", ready)
		}
		b.denied("https://a.test/")
	})
}

// TestRulesOfWhoStillWaitsAreKept has two hosts on one address, and memory for the rules of none: after each
// robots.txt the other host is due, so that a page of one is asked about and has to wait while the other's robots.txt
// comes.
func TestRulesOfWhoStillWaitsAreKept(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{MaxRulesBytes: 1})
		raws := []string{"https://a.test/", "https://b.test/"}
		left := map[string]bool{raws[0]: true, raws[1]: true}
		for range 10 {
			for i, raw := range raws {
				p, err := b.admit(raw, someAddr)
				if err != nil {
					t.Fatal(err)
				}
				if p.Purpose() == Page {
					delete(left, raw)
				}
				b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /no\n")})
				b.wait(raws[1-i], someAddr)
				time.Sleep(DefaultDelay)
			}
		}
		if len(left) > 0 {
			t.Errorf("never asked for: %v", left)
		}
	})
}
