package identity

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSignedRequest checks the form of a signature's header fields.
func TestSignedRequest(t *testing.T) {
	k := mustKey(t)
	sig, err := mustSigner(t, k).Sign(get("site.test", "/a?b"), Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	if sig.Agent != `sig1="`+testAgent+`"` || sig.KeyID != k.ID() {
		t.Errorf("%+v", sig)
	}
	input := regexp.MustCompile(`^sig1=\("@method" "@authority" "@path" "signature-agent";key="sig1"\);created=1795348800;keyid="` + k.ID() +
		`";alg="ed25519";expires=1795349100;nonce="[A-Za-z0-9+/]{43}=";tag="web-bot-auth"$`)
	if !input.MatchString(sig.Input) {
		t.Error(sig.Input)
	}
	if !regexp.MustCompile(`^sig1=:[A-Za-z0-9+/]{86}==:$`).MatchString(sig.Signature) {
		t.Error(sig.Signature)
	}
}

func TestSignOnlyOverHTTPS(t *testing.T) {
	s := mustSigner(t, mustKey(t))
	for _, scheme := range []string{"http", "HTTP", "", "ws"} {
		m := get("127.0.0.1:8080", "/")
		m.Scheme = scheme
		if sig, err := s.Sign(m, Challenge{}, start); !errors.Is(err, errInsecure) || sig != (Signed{}) {
			t.Errorf("%q: %+v %v", scheme, sig, err)
		}
	}
}

func TestNoTwoSignaturesHaveOneNonce(t *testing.T) {
	s := mustSigner(t, mustKey(t))
	seen := map[string]bool{}
	for range 1000 {
		sig, err := s.Sign(get("site.test", "/"), Challenge{}, start)
		if err != nil || seen[sig.Input] {
			t.Fatal(err, sig.Input)
		}
		seen[sig.Input] = true
	}
}

// The target of a redirect gets its own signature, with nothing left of the first signature.
func TestEachHopHasItsOwnSignature(t *testing.T) {
	k := mustKey(t)
	s, v := mustSigner(t, k), Verifier{Keys: keysOf(k)}
	a, err := s.Sign(get("a.test", "/from"), Challenge{Label: "first"}, start)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Sign(get("b.test", "/to"), Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	a.Set(h)
	b.Set(h)
	m := get("b.test", "/to")
	m.Header = h
	if got, err := v.Verify(m, start); err != nil || got.Label != "sig1" || strings.Contains(h.Get("Signature-Agent"), "first") {
		t.Errorf("%v %v", h, err)
	}
	Signed{}.Set(h)
	if len(h) > 0 {
		t.Errorf("left: %v", h)
	}
	wantReason(t, reasonSignature, second(v.Verify(signed(get("b.test", "/to"), a), start)))
}

func TestSignWithTheKeyOfTheTime(t *testing.T) {
	at := func(h int) time.Time { return start.Add(time.Duration(h) * time.Hour) }
	old, next, future := mustKey(t), mustKey(t), mustKey(t)
	window := func(k *Key, from, to time.Time) signingKey {
		return signingKey{k, PublicKey{ID: k.ID(), Key: k.Public(), NotBefore: from, Expires: to}}
	}
	s, err := newSigner(testAgent, []signingKey{window(old, time.Time{}, at(10)), window(next, at(5), at(20)), window(future, at(30), time.Time{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   time.Time
		keyn string
		want *Key
	}{
		{at(0), "", old}, {at(5).Add(-1), "", old}, {at(5), "", next}, {at(11), "", next}, {at(20), "", nil}, {at(30), "", future},
		{at(7), old.ID(), old}, {at(11), old.ID(), nil}, {at(7), future.ID(), nil}, {at(7), "none", nil},
	} {
		sig, err := s.Sign(get("site.test", "/"), Challenge{KeyID: c.keyn}, c.at)
		switch {
		case c.want == nil:
			if !errors.Is(err, errNoKey) {
				t.Errorf("%v: %v", c.at, err)
			}
		case err != nil || sig.KeyID != c.want.ID():
			t.Errorf("%v %q: %v %v", c.at, c.keyn, sig.KeyID, err)
		}
	}
	// A signature expires no later than its key's entry in the directory.
	sig, err := s.Sign(get("site.test", "/"), Challenge{}, at(20).Add(-time.Minute))
	if err != nil || !strings.Contains(sig.Input, "expires=1795420800;") {
		t.Errorf("%s %v", sig.Input, err)
	}
}

func TestInvalidAgents(t *testing.T) {
	k := mustKey(t)
	for _, agent := range []string{
		"", "lab.university.edu", "http://lab.university.edu", "https://", "https:x", "https://u:p@lab.university.edu/", "https://lab.university.edu/#a",
		"https://lab.university.edu/#", "https://lab.university.edu/\"", "https://lab.university.edu/ x", "https://lab.university.edu/\n", "https://l\u00e4b.edu/",
		"https://lab.university.edu/" + strings.Repeat("x", 300),
	} {
		s, err := NewSigner(agent, k)
		if err == nil && agent == `https://lab.university.edu/"` { // a quote may stand in a URL, and is escaped in the field
			if sig, err := s.Sign(get("site.test", "/"), Challenge{}, start); err != nil || sig.Agent != `sig1="https://lab.university.edu/\""` {
				t.Errorf("%+v %v", sig, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%q was taken", agent)
		}
	}
	if _, err := NewSigner(testAgent, rfcKey(t)); err == nil || !strings.Contains(err.Error(), "printed in a standard") {
		t.Errorf("the key of an RFC was taken: %v", err)
	}
}

// Signatures cover header fields as they will be sent, and leave the caller's header unchanged.
func TestSignCoversFields(t *testing.T) {
	k := mustKey(t)
	s, v := mustSigner(t, k), Verifier{Keys: keysOf(k)}
	m := get("site.test", "/")
	sig, err := s.Sign(m, Challenge{Cover: []string{"user-agent"}}, start)
	if err != nil || len(m.Header) != 1 {
		t.Fatal(err, m.Header)
	}
	other := signed(m, sig)
	other.Header.Set("User-Agent", "somebody else")
	wantReason(t, reasonSignature, second(v.Verify(other, start)))
	if _, err := s.Sign(m, Challenge{Cover: []string{"accept"}}, start); err == nil || !strings.Contains(err.Error(), `"accept"`) {
		t.Error(err)
	}
}

func TestSignatureIsSmall(t *testing.T) {
	sig, err := mustSigner(t, mustKey(t)).Sign(get("site.test", "/"), Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sig.Agent) + len(sig.Input) + len(sig.Signature); n > 600 {
		t.Errorf("%d bytes of header", n)
	}
}

func BenchmarkSign(b *testing.B) {
	s, m := mustSigner(b, mustKey(b)), get("site.test", "/a/b")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Sign(m, Challenge{}, start); err != nil {
			b.Fatal(err)
		}
	}
}
