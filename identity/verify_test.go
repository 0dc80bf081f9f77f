package identity

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

func second[A any](_ A, err error) error { return err }

func wantReason(t *testing.T, want Reason, err error) {
	t.Helper()
	var v *VerifyError
	if !errors.As(err, &v) {
		t.Errorf("want %s, got %v", want, err)
		return
	}
	if v.Reason != want {
		t.Errorf("want %s, got %v", want, err)
	}
}

func TestVerifyAcceptsWhatSignMakes(t *testing.T) {
	k := mustKey(t)
	s, v := mustSigner(t, k), Verifier{Keys: keysOf(k), Nonces: NewNonces(100)}
	n := 0
	for _, c := range []Challenge{{}, {Label: "x-1", Nonce: "abc", KeyID: k.ID()}, {Cover: []string{"@query", "@target-uri", "@scheme", "user-agent"}}} {
		for _, target := range []string{"/", "/a/b%20c?d=e&f", "/?", "//x"} {
			n++
			c.Nonce = strings.Repeat("x", n)
			m := get("site.test:8443", target)
			sig, err := s.Sign(m, c, start)
			if err != nil {
				t.Fatal(err)
			}
			got, err := v.Verify(signed(m, sig), start.Add(time.Second))
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			if got.Agent != testAgent || got.KeyID != k.ID() || got.Nonce != c.Nonce || got.Expires.Sub(got.Created) != signatureLifetime {
				t.Errorf("%+v", got)
			}
			if cover := strings.Join(got.Covered, " "); !strings.HasPrefix(cover, `"@method" "@authority" "@path"`) {
				t.Errorf("covered: %s", cover)
			}
		}
	}
}

// Any changed signed request is rejected with the right reason.
func TestVerifyRefuses(t *testing.T) {
	k, other := mustKey(t), mustKey(t)
	s := mustSigner(t, k)
	sign := func(m Message, c Challenge) Message {
		sig, err := s.Sign(m, c, start)
		if err != nil {
			t.Fatal(err)
		}
		return signed(m, sig)
	}
	replace := func(field, from, to string) func(*Message) {
		return func(m *Message) {
			v := m.Header.Get(field)
			if !strings.Contains(v, from) {
				t.Errorf("%s has no %q: %s", field, from, v)
			}
			m.Header.Set(field, strings.ReplaceAll(v, from, to))
		}
	}
	del := func(field string) func(*Message) { return func(m *Message) { m.Header.Del(field) } }
	for _, c := range []struct {
		name   string
		change func(*Message)
		at     time.Duration
		want   Reason
	}{
		{"nothing", func(*Message) {}, 0, ""},
		{"a field is spelled in lower case", func(m *Message) { m.Authority = strings.ToUpper(m.Authority) }, 0, ""},
		{"a query that is not covered", func(m *Message) { m.Target += "?x" }, 0, ""},
		{"until it expires", func(*Message) {}, signatureLifetime, ""},
		{"a clock that is a little behind", func(*Message) {}, -29 * time.Second, ""},

		{"host", func(m *Message) { m.Authority = "other.test" }, 0, reasonSignature},
		{"port", func(m *Message) { m.Authority += ":8443" }, 0, reasonSignature},
		{"path", func(m *Message) { m.Target = "/b" }, 0, reasonSignature},
		{"method", func(m *Message) { m.Method = "POST" }, 0, reasonSignature},
		{"scheme", func(m *Message) { m.Scheme = "http" }, 0, reasonInsecure},
		{"nonce", replace("Signature-Input", `nonce="`, `nonce="x`), 0, reasonSignature},
		{"tag", replace("Signature-Input", "web-bot-auth", "web-bot-auth2"), 0, reasonUnsigned},
		{"keyid of another key", replace("Signature-Input", k.ID(), other.ID()), 0, reasonSignature},
		{"keyid of no key", replace("Signature-Input", k.ID(), k.ID()[1:]+"x"), 0, reasonKey},
		{"alg", replace("Signature-Input", `"ed25519"`, `"hmac-sha256"`), 0, reasonMalformed},
		{"created", replace("Signature-Input", "created=", "created=1;x="), 0, reasonTooLong},
		{"expires", replace("Signature-Input", "expires=", "expires=1;x="), 0, reasonMalformed},
		{"no created", replace("Signature-Input", "created=", "create="), 0, reasonMalformed},
		{"no expires", replace("Signature-Input", "expires=", "expire="), 0, reasonMalformed},
		{"no keyid", replace("Signature-Input", "keyid=", "keyi="), 0, reasonMalformed},
		{"created is text", replace("Signature-Input", "created=", `created="1";x=`), 0, reasonMalformed},
		{"another agent", replace("Signature-Agent", "crawl.lab", "crawl.evil"), 0, reasonKey},
		{"an agent over http", replace("Signature-Agent", "https:", "http:"), 0, reasonMalformed},
		{"an agent with parameters", replace("Signature-Agent", `directory"`, `directory";type=cimd`), 0, reasonMalformed},
		{"an agent of another name", replace("Signature-Agent", "sig1=", "sig2="), 0, reasonMalformed},
		{"authority is not covered", replace("Signature-Input", ` "@authority"`, ""), 0, reasonNotCovered},
		{"agent is not covered", replace("Signature-Input", ` "signature-agent";key="sig1"`, ""), 0, reasonNotCovered},
		{"path is not covered", replace("Signature-Input", ` "@path"`, ""), 0, reasonSignature},
		{"a component twice", replace("Signature-Input", ` "@path"`, ` "@path" "@path"`), 0, reasonMalformed},
		{"a component that is not there", replace("Signature-Input", ` "@path"`, ` "@path" "cookie"`), 0, reasonMalformed},
		{"another order", replace("Signature-Input", `"@method" "@authority"`, `"@authority" "@method"`), 0, reasonSignature},
		{"the label of the signature", replace("Signature", "sig1=", "sig2="), 0, reasonMalformed},
		{"the signature is text", replace("Signature", "=:", `="x", y=:`), 0, reasonMalformed},
		{"no signature", del("Signature"), 0, reasonMalformed},
		{"no agent", del("Signature-Agent"), 0, reasonMalformed},
		{"no input", del("Signature-Input"), 0, reasonUnsigned},
		{"input that cannot be read", replace("Signature-Input", "(", "(("), 0, reasonMalformed},
		{"input that is too long", func(m *Message) { m.Header.Add("Signature-Input", "a="+strings.Repeat("1", maxFieldBytes)) }, 0, reasonMalformed},
		{"a signature cut short", replace("Signature", "==:", ":"), 0, reasonMalformed},
		{"a clock an hour ahead", func(*Message) {}, -time.Hour, reasonTooEarly},
		{"a clock an hour behind", func(*Message) {}, time.Hour, reasonExpired},
		{"half a minute too late", func(*Message) {}, signatureLifetime + 30*time.Second, reasonExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sign(get("site.test", "/a"), Challenge{})
			c.change(&m)
			v := Verifier{Keys: func(agent, id string) (PublicKey, error) {
				if id == other.ID() {
					return PublicKey{ID: id, Key: other.Public()}, nil
				}
				return keysOf(k)(agent, id)
			}}
			_, err := v.Verify(m, start.Add(c.at))
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantReason(t, c.want, err)
		})
	}
}

// A clock difference is reported as such.
func TestVerifyTellsHowFarClocksAreApart(t *testing.T) {
	k := mustKey(t)
	m := get("site.test", "/a")
	sig, err := mustSigner(t, k).Sign(m, Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{Keys: keysOf(k)}
	if _, err := v.Verify(signed(m, sig), start.Add(-time.Hour)); err == nil || !strings.Contains(err.Error(), "1h0m0s in the future") {
		t.Error(err)
	}
	if _, err := v.Verify(signed(m, sig), start.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "made 1h0m0s ago") {
		t.Error(err)
	}
}

func TestVerifyRefusesReplays(t *testing.T) {
	k := mustKey(t)
	m := get("site.test", "/a")
	sig, err := mustSigner(t, k).Sign(m, Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{Keys: keysOf(k), Nonces: NewNonces(10)}
	forged := signed(m, sig)
	forged.Target = "/b"
	wantReason(t, reasonSignature, second(v.Verify(forged, start))) // the nonce must not count as used
	if _, err := v.Verify(signed(m, sig), start); err != nil {
		t.Fatal(err)
	}
	wantReason(t, reasonReplayed, second(v.Verify(signed(m, sig), start)))
	wantReason(t, reasonReplayed, second(v.Verify(signed(m, sig), start.Add(signatureLifetime+29*time.Second))))
}

// If a signature covers several agents, the agent with the signature's own label counts. Without such a label, no agent counts.
func TestVerifyAttributesToTheAgentOfTheLabel(t *testing.T) {
	k := mustKey(t)
	for label, want := range map[string]Reason{"b": "", "c": reasonNotCovered} {
		m := get("site.test", "/a")
		m.Header.Set("Signature-Agent", `a="https://evil.test/", b="`+testAgent+`"`)
		l := inputOf([]httpsfv.Item{component("@authority"), component("signature-agent", "key", "a"), component("signature-agent", "key", "b")},
			"created", start.Unix(), "expires", start.Unix()+60, "keyid", k.ID(), "tag", tagRequest)
		in, sig, err := sign(k, label, l, &m)
		if err != nil {
			t.Fatal(err)
		}
		m.Header.Set("Signature-Input", in)
		m.Header.Set("Signature", sig)
		v := Verifier{Keys: func(string, string) (PublicKey, error) { return PublicKey{ID: k.ID(), Key: k.Public()}, nil }}
		switch got, err := v.Verify(m, start); {
		case want != "":
			wantReason(t, want, err)
		case err != nil || got.Agent != testAgent:
			t.Errorf("%s: %+v %v", label, got, err)
		}
	}
}

// Key names in a directory do not matter; a key is identified by its thumbprint.
func TestVerifyDoesNotTrustTheNameOfAKey(t *testing.T) {
	k, other := mustKey(t), mustKey(t)
	m := get("site.test", "/a")
	sig, err := mustSigner(t, k).Sign(m, Challenge{}, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []PublicKey{
		{ID: k.ID(), Key: other.Public()},
		{ID: k.ID()},
		{ID: k.ID(), Key: k.Public(), Expires: start},
		{ID: k.ID(), Key: k.Public(), NotBefore: start.Add(time.Second)},
	} {
		v := Verifier{Keys: func(string, string) (PublicKey, error) { return p, nil }}
		wantReason(t, reasonKey, second(v.Verify(signed(m, sig), start)))
	}
}

// Other signatures, valid or not, do not affect the acceptance of a valid one.
func TestVerifyLooksAtEachSignature(t *testing.T) {
	k := mustKey(t)
	m := get("site.test", "/a")
	sig, err := mustSigner(t, k).Sign(m, Challenge{Label: "z"}, start)
	if err != nil {
		t.Fatal(err)
	}
	m = signed(m, sig)
	bad := strings.ReplaceAll(sig.Input, "z=", "a=")
	for n, want := range map[int]Reason{1: "", 3: "", 4: reasonSignature} {
		h := m.Header.Clone()
		for i := range n {
			label := string(rune('a' + i))
			h["Signature-Input"] = append([]string{strings.Replace(bad, "a=", label+"=", 1)}, h["Signature-Input"]...)
			h["Signature"] = append(h["Signature"], label+"=:"+strings.Repeat("A", 86)+"==:")
			h["Signature-Agent"] = append(h["Signature-Agent"], label+`="`+testAgent+`"`)
		}
		v := Verifier{Keys: keysOf(k)}
		mm := m
		mm.Header = h
		switch _, err := v.Verify(mm, start); {
		case want == "" && err != nil:
			t.Errorf("%d: %v", n, err)
		case want != "":
			wantReason(t, want, err)
		}
	}
}

func TestNoncesAreBounded(t *testing.T) {
	n := NewNonces(3)
	use := func(nonce string, life, at time.Duration) bool {
		return n.use(&Verified{KeyID: "k", Nonce: nonce, Expires: start.Add(life)}, start.Add(at))
	}
	for _, c := range []struct {
		nonce    string
		life, at time.Duration
		want     bool
	}{
		{"a", 1 * time.Minute, 0, true},
		{"b", 2 * time.Minute, 0, true},
		{"c", 3 * time.Minute, 0, true},
		{"d", 3 * time.Minute, 0, false}, // the memory for nonces is full
		{"a", 3 * time.Minute, 0, false}, // already used
		{"d", 3 * time.Minute, time.Minute, true},
		{"e", 3 * time.Minute, time.Minute, false}, // the memory is full again
		{"b", 3 * time.Minute, time.Minute, false}, // used, and not expired
		{"e", 3 * time.Minute, 2 * time.Minute, true},
		{"", time.Minute, 5 * time.Minute, false},
		{strings.Repeat("x", maxNonce+1), time.Minute, 5 * time.Minute, false},
	} {
		if got := use(c.nonce, c.life, c.at); got != c.want {
			t.Errorf("%q at %v: %v", c.nonce, c.at, got)
		}
	}
}

func TestVerifyErrorsThatDecideNothing(t *testing.T) {
	v := Verifier{Keys: keysOf()}
	var e *VerifyError
	if _, err := v.Verify(get("site.test", "/"), start); !errors.As(err, &e) || !e.Unverified() {
		t.Error(err)
	}
	if (&VerifyError{Reason: reasonSignature}).Unverified() {
		t.Error("a forgery is no unsigned request")
	}
}

func TestRequestMessage(t *testing.T) {
	r := &http.Request{Method: http.MethodGet, Host: "h:443", RequestURI: "/a?b", Header: http.Header{"A": {"b"}}}
	if m := RequestMessage(r); m.Scheme != "http" || m.Authority != "h:443" || m.Target != "/a?b" || m.Header.Get("A") != "b" {
		t.Errorf("%+v", m)
	}
}
