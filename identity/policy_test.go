package identity

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	plainChallenge = `sig1=("@authority" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"`
	nonceChallenge = `sig1=("@authority" "signature-agent";key="sig1");nonce="%d";tag="web-bot-auth"`
)

// answer returns an Answer to the request m, which has the signature s.
func answer(m Message, s Signed, again bool, status int, challenge string) Answer {
	h := http.Header{"Date": {start.Format(http.TimeFormat)}}
	if challenge != "" {
		h.Set("Accept-Signature", challenge)
	}
	return Answer{Request: m, Signed: s, Again: again, Status: status, Header: h, Time: start}
}

func mustSign(t testing.TB, p *Policy, m Message) Signed {
	t.Helper()
	s, err := p.Sign(m, start)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPolicy(t testing.TB, mode Mode) *Policy { return NewPolicy(mode, mustSigner(t, mustKey(t))) }

func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode                       Mode
		https, http, afterwards    bool
		again, againHTTP, rejected bool
	}{
		{mode: Never},
		{mode: Challenged, afterwards: true, again: true},
		{mode: Always, https: true, afterwards: true},
	} {
		t.Run(c.mode.String(), func(t *testing.T) {
			p := newPolicy(t, c.mode)
			m, insecure := get("site.test", "/a"), get("site.test", "/a")
			insecure.Scheme = "http"
			if s := mustSign(t, p, insecure); s != (Signed{}) {
				t.Error("signed over http")
			}
			s := mustSign(t, p, m)
			if (s != Signed{}) != c.https {
				t.Errorf("signed: %+v", s)
			}
			if v := p.Answer(answer(insecure, Signed{}, false, 403, plainChallenge)); v != (Verdict{}) {
				t.Errorf("a challenge over http: %+v", v)
			}
			v := p.Answer(answer(m, s, false, 403, plainChallenge))
			if v.Again != c.again {
				t.Errorf("a challenge: %+v", v)
			}
			if s := mustSign(t, p, get("site.test", "/b")); (s != Signed{}) != c.afterwards {
				t.Errorf("afterwards: %+v", s)
			}
			if s := mustSign(t, p, get("other.test", "/b")); (s != Signed{}) != c.https {
				t.Errorf("another site: %+v", s)
			}
			if s := mustSign(t, p, get("site.test:8443", "/b")); (s != Signed{}) != c.https {
				t.Errorf("another origin: %+v", s)
			}
		})
	}
	if NewPolicy(Always, nil).Mode() != Never {
		t.Error("without a signer nothing can be signed")
	}
}

func TestModeText(t *testing.T) {
	for _, m := range []Mode{Challenged, Never, Always} {
		var got Mode
		text, _ := m.MarshalText()
		if err := got.UnmarshalText(text); err != nil || got != m {
			t.Errorf("%v: %v %v", m, got, err)
		}
	}
	if _, err := parseMode("sometimes"); err == nil || !strings.Contains(err.Error(), "never, challenged and always") {
		t.Error(err)
	}
}

func TestChallengeIsAnsweredOnce(t *testing.T) {
	p := newPolicy(t, Challenged)
	m := get("site.test", "/a")
	if v := p.Answer(answer(m, mustSign(t, p, m), false, 401, plainChallenge)); !v.Again || v.Rejected {
		t.Fatalf("%+v", v)
	}
	s := mustSign(t, p, m)
	if s == (Signed{}) {
		t.Fatal("the answer to a challenge is not signed")
	}
	v := p.Answer(answer(m, s, true, 403, plainChallenge))
	if v.Again || !v.Rejected || v.Skew != 0 || !strings.Contains(v.Note, "key directory") {
		t.Errorf("%+v", v)
	}
}

func TestOnlyChallengesAreAnswered(t *testing.T) {
	for _, c := range []struct {
		status    int
		challenge string
		again     bool
		note      string
	}{
		{401, plainChallenge, true, ""},
		{403, plainChallenge, true, ""},
		{429, plainChallenge, true, ""},
		{200, plainChallenge, false, ""},
		{404, plainChallenge, false, ""},
		{503, plainChallenge, false, ""},
		{302, plainChallenge, false, ""},
		{403, "", false, ""},
		{403, "((", false, "not a dictionary"},
		{403, `sig1=("content-digest");tag="web-bot-auth"`, false, "content-digest"},
		{403, `sig1=("@authority");keyid="somebody-else"`, false, "somebody-else"},
	} {
		p := newPolicy(t, Challenged)
		v := p.Answer(answer(get("site.test", "/a"), Signed{}, false, c.status, c.challenge))
		if v.Again != c.again || !strings.Contains(v.Note, c.note) || (v.Note == "") != (c.note == "") {
			t.Errorf("%d %q: %+v", c.status, c.challenge, v)
		}
		if s := mustSign(t, p, get("site.test", "/b")); (s != Signed{}) != c.again {
			t.Errorf("%d %q: afterwards %+v", c.status, c.challenge, s)
		}
	}
}

func TestNonceIsUsedOnce(t *testing.T) {
	p := newPolicy(t, Challenged)
	m := get("site.test", "/a")
	p.Answer(answer(m, Signed{}, false, 403, fmt.Sprintf(nonceChallenge, 7)))
	if s := mustSign(t, p, m); !strings.Contains(s.Input, `nonce="7"`) {
		t.Error(s.Input)
	}
	s := mustSign(t, p, get("site.test", "/b"))
	if s == (Signed{}) || strings.Contains(s.Input, `nonce="7"`) {
		t.Error(s.Input)
	}
	// If a site requires its own nonce for each request, each signed request is repeated once with the new nonce.
	v := p.Answer(answer(m, s, false, 401, fmt.Sprintf(nonceChallenge, 8)))
	if !v.Again {
		t.Errorf("%+v", v)
	}
	if s := mustSign(t, p, m); !strings.Contains(s.Input, `nonce="8"`) {
		t.Error(s.Input)
	}
}

// If a site requires more components, the request is repeated once, with a signature that covers them.
func TestChallengeForMoreComponents(t *testing.T) {
	p := newPolicy(t, Always)
	m := get("site.test", "/a?b")
	s := mustSign(t, p, m)
	if v := p.Answer(answer(m, s, false, 403, `sig1=("@authority" "@query");tag="web-bot-auth"`)); !v.Again || !v.Rejected {
		t.Errorf("%+v", v)
	}
	if s = mustSign(t, p, m); !strings.Contains(s.Input, `"@query"`) {
		t.Error(s.Input)
	}
	if v := p.Answer(answer(m, s, false, 403, `sig1=("@authority" "@query");tag="web-bot-auth"`)); v.Again {
		t.Errorf("a repetition would have the same signature: %+v", v)
	}
}

// If a site requires another label or key, the request is also repeated.
func TestChallengeForAnotherLabel(t *testing.T) {
	p := newPolicy(t, Always)
	m := get("site.test", "/a")
	const wanted = `crawler=("@authority");tag="web-bot-auth"`
	if v := p.Answer(answer(m, mustSign(t, p, m), false, 403, wanted)); !v.Again {
		t.Errorf("%+v", v)
	}
	s := mustSign(t, p, m)
	if !strings.HasPrefix(s.Input, "crawler=(") || !strings.HasPrefix(s.Agent, `crawler="`) || !strings.HasPrefix(s.Signature, "crawler=:") {
		t.Errorf("%+v", s)
	}
	if v := p.Answer(answer(m, s, false, 403, wanted)); v.Again {
		t.Errorf("%+v", v)
	}
	old, next := mustKey(t), mustKey(t)
	both, err := newSigner(testAgent, []signingKey{{old, PublicKey{}}, {next, PublicKey{NotBefore: start}}})
	if err != nil {
		t.Fatal(err)
	}
	p = NewPolicy(Always, both)
	if s = mustSign(t, p, m); s.KeyID != next.ID() {
		t.Fatal("the old key signs")
	}
	if v := p.Answer(answer(m, s, false, 403, `sig1=("@authority");keyid="`+old.ID()+`"`)); !v.Again || mustSign(t, p, m).KeyID != old.ID() {
		t.Errorf("%+v", v)
	}
}

// A site that rejects every signature causes exactly three more requests.
func TestSiteThatAcceptsNoSignature(t *testing.T) {
	for _, mode := range []Mode{Challenged, Always} {
		p := newPolicy(t, mode)
		extra, last := 0, ""
		for i := range 50 {
			m := get("site.test", fmt.Sprint("/", i))
			v := p.Answer(answer(m, mustSign(t, p, m), false, 403, fmt.Sprintf(nonceChallenge, i)))
			if v.Again {
				extra++
				v = p.Answer(answer(m, mustSign(t, p, m), true, 403, fmt.Sprintf(nonceChallenge, i)))
				last = v.Note
			}
			if v.Again {
				t.Fatal("a second answer")
			}
		}
		if extra != maxRejected || !strings.Contains(last, "no longer answered") {
			t.Errorf("%v: %d requests more, then %q", mode, extra, last)
		}
		if s := mustSign(t, p, get("site.test", "/")); (s != Signed{}) != (mode == Always) {
			t.Errorf("%v: %+v", mode, s)
		}
	}
}

func TestAnAcceptedSignatureForgivesRejectedOnes(t *testing.T) {
	p := newPolicy(t, Challenged)
	m := get("site.test", "/a")
	p.Answer(answer(m, Signed{}, false, 403, plainChallenge))
	for range 10 {
		for range maxRejected - 1 {
			p.Answer(answer(m, mustSign(t, p, m), true, 403, plainChallenge))
		}
		p.Answer(answer(m, mustSign(t, p, m), false, 404, ""))
	}
	if s := mustSign(t, p, m); s == (Signed{}) {
		t.Error("the site accepted signatures and is not asked with one any more")
	}
	// The response to an unsigned request says nothing about the signature.
	p.Answer(answer(m, mustSign(t, p, m), true, 403, plainChallenge))
	p.Answer(answer(m, mustSign(t, p, m), true, 403, plainChallenge))
	p.Answer(answer(m, Signed{}, false, 200, ""))
	p.Answer(answer(m, mustSign(t, p, m), true, 403, plainChallenge))
	if s := mustSign(t, p, m); s != (Signed{}) {
		t.Error("an unsigned request forgave")
	}
}

// A wrong clock invalidates signatures and is reported to the operator.
func TestPolicyTellsOfAWrongClock(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		skew  time.Duration
		note  string
	}{
		{time.Hour, time.Hour, "its clock is 1h0m0s ahead"},
		{-time.Hour, -time.Hour, "its clock is 1h0m0s behind"},
		{29 * time.Second, 0, "the clocks agree"},
	} {
		p := newPolicy(t, Always)
		m := get("site.test", "/a")
		a := answer(m, mustSign(t, p, m), false, 401, plainChallenge)
		a.Header.Set("Date", start.Add(c.ahead).Format(http.TimeFormat))
		if v := p.Answer(a); v.Skew != c.skew || !strings.Contains(v.Note, c.note) {
			t.Errorf("%v: %+v", c.ahead, v)
		}
		a.Header.Del("Date")
		if v := p.Answer(a); v.Skew != 0 || v.Note == "" {
			t.Errorf("without Date: %+v", v)
		}
	}
}

func TestPolicyIsBounded(t *testing.T) {
	p := newPolicy(t, Challenged)
	for i := range maxOrigins + 100 {
		p.Answer(answer(get(fmt.Sprintf("h%d.test", i), "/"), Signed{}, false, 403, plainChallenge))
		if i%7 == 0 {
			mustSign(t, p, get("h0.test", "/")) // h0.test stays in use
		}
	}
	if len(p.origins) != maxOrigins || p.recent.Len() != maxOrigins {
		t.Errorf("%d origins, %d in order", len(p.origins), p.recent.Len())
	}
	for host, want := range map[string]bool{"h0.test": true, "h1.test": false, "h50.test": false, fmt.Sprintf("h%d.test", maxOrigins+99): true} {
		if s := mustSign(t, p, get(host, "/")); (s != Signed{}) != want {
			t.Errorf("%s: remembered %v", host, s != Signed{})
		}
	}
}

// Whatever servers answer, requests over plain HTTP are not signed, each URL is requested at most once more, the
// request after a challenge is signed as required, and a site that accepts nothing gets at most three more requests.
func TestPolicyProperty(t *testing.T) {
	k := mustKey(t)
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewSigner(testAgent, k)
		if err != nil {
			t.Fatal(err)
		}
		mode := rapid.SampledFrom([]Mode{Challenged, Never, Always}).Draw(t, "mode")
		p := NewPolicy(mode, s)
		rejected := map[string]int{}
		for i := range rapid.IntRange(1, 60).Draw(t, "n") {
			m := get(rapid.SampledFrom([]string{"a.test", "b.test"}).Draw(t, "host"), fmt.Sprint("/", i))
			m.Scheme = rapid.SampledFrom([]string{"https", "https", "http"}).Draw(t, "scheme")
			again, asked := false, 0
			for {
				sig, err := p.Sign(m, start)
				if err != nil {
					t.Fatal(err)
				}
				if asked++; asked > 2 {
					t.Fatal("asked more than twice")
				}
				if sig != (Signed{}) && (m.Scheme == "http" || mode == Never) {
					t.Fatal("signed")
				}
				if again && sig == (Signed{}) {
					t.Fatal("requested again without a signature")
				}
				status := rapid.SampledFrom([]int{200, 401, 403, 429, 500}).Draw(t, "status")
				challenge := rapid.SampledFrom([]string{"", plainChallenge, fmt.Sprintf(nonceChallenge, i), `sig1=("@query")`, "(("}).Draw(t, "challenge")
				v := p.Answer(answer(m, sig, again, status, challenge))
				o := m.Scheme + m.Authority
				if sig != (Signed{}) && (status == 200 || status == 500) {
					rejected[o] = 0
				}
				if v.Again && (status == 200 || status == 500 || rejected[o] >= maxRejected) {
					t.Fatalf("requested again after %d and %d rejections", status, rejected[o])
				}
				if v.Rejected && !v.Again {
					rejected[o]++
				}
				if !v.Again {
					break
				}
				again = true
			}
		}
	})
}
