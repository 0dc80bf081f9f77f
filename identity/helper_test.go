package identity

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// start is the time at which tests begin.
var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// rfcKey is the key of RFC 9421 appendix B.1.4.
func rfcKey(t testing.TB) *Key {
	t.Helper()
	return seedKey(t, "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
}

func seedKey(t testing.TB, seed string) *Key {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(seed)
	if err != nil {
		t.Fatal(err)
	}
	return newKey(ed25519.NewKeyFromSeed(b))
}

func mustKey(t testing.TB) *Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const testAgent = "https://crawl.lab.university.edu/.well-known/http-message-signatures-directory"

func mustSigner(t testing.TB, k *Key) *Signer {
	t.Helper()
	s, err := NewSigner(testAgent, k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// testProfile returns a valid Profile.
func testProfile() Profile {
	return Profile{
		Product: "labbot", UserAgent: "labbot/1.2 (+https://lab.university.edu/crawl)", Page: "https://lab.university.edu/crawl",
		Operator: "Web Measurement Lab", Contacts: []string{"crawl@lab.university.edu"},
		Purpose: "research", Why: "We study how public bodies publish documents.", Kept: "Text and metadata, for two years.",
		Delay: 1500 * time.Millisecond, MaxCrawlDelay: 5 * time.Minute, PagesPerHost: 500,
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.16/30"), netip.MustParsePrefix("2001:db8:7::4/126")},
	}
}

// get returns an HTTPS request.
func get(authority, target string) Message {
	return Message{Method: "GET", Scheme: "https", Authority: authority, Target: target, Header: http.Header{"User-Agent": {"labbot/1.2"}}}
}

// signed returns m with the header fields of a signature.
func signed(m Message, s Signed) Message {
	m.Header = m.Header.Clone()
	s.Set(m.Header)
	return m
}

// keysOf returns the keys published under the test's agent.
func keysOf(keys ...*Key) func(agent, id string) (PublicKey, error) {
	return func(agent, id string) (PublicKey, error) {
		for _, k := range keys {
			if agent == testAgent && id == k.ID() {
				return PublicKey{ID: id, Key: k.Public()}, nil
			}
		}
		return PublicKey{}, errForeignKey
	}
}
