package identity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// No challenge causes a panic, and each supported one can be answered with a signature that a verifier accepts.
func FuzzChallenge(f *testing.F) {
	f.Add(plainChallenge)
	f.Add(`a=("content-digest"), b=("@query" "accept";sf);nonce="x\"y";created=@5`)
	f.Add(`s=("user-agent");keyid="k";alg="ed25519";expires;tag="web-bot-auth"`)
	k := mustKey(f)
	s, v := mustSigner(f, k), Verifier{Keys: keysOf(k)}
	f.Fuzz(func(t *testing.T, field string) {
		c, err := parseChallenge([]string{field})
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error is not printable: %q", err)
			}
			return
		}
		c.KeyID = ""
		m := get("site.test", "/a?b")
		m.Header.Set("Accept", "text/html")
		sig, err := s.Sign(m, c, start)
		if err != nil {
			t.Fatalf("%q: %+v: %v", field, c, err)
		}
		if got, err := v.Verify(signed(m, sig), start); err != nil || got.Label != c.Label || c.Nonce != "" && got.Nonce != c.Nonce {
			t.Errorf("%q: %+v %v", field, got, err)
		}
		for _, value := range []string{sig.Agent, sig.Input, sig.Signature} {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > 0x7e }) {
				t.Errorf("an invalid header field: %q", value)
			}
		}
	})
}

// No text is accepted as a signature unless it was made with the key.
func FuzzVerify(f *testing.F) {
	k := mustKey(f)
	sig, err := mustSigner(f, k).Sign(get("site.test", "/a"), Challenge{Nonce: "n"}, start)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sig.Agent, sig.Input, sig.Signature, "site.test", "/a")
	f.Add(`sig1="x";a`, `sig1=("@authority";req "x";key="y");created=1`, `sig1=:AA==:`, "", "")
	v := Verifier{Keys: keysOf(k)}
	f.Fuzz(func(t *testing.T, agent, input, signature, authority, target string) {
		m := Message{Method: "GET", Scheme: "https", Authority: authority, Target: target, Header: http.Header{
			"Signature-Agent": {agent}, "Signature-Input": {input}, "Signature": {signature},
		}}
		got, err := v.Verify(m, start)
		if err != nil {
			return
		}
		path, _, _ := strings.Cut(target, "?")
		if got.Agent != testAgent || got.KeyID != k.ID() || m.authority() != "site.test" || path != "/a" && path != "a" {
			t.Errorf("accepted: %q %q %q %q %q", agent, input, signature, authority, target)
		}
	})
}

func FuzzParseDirectory(f *testing.F) {
	k := mustKey(f)
	f.Add(marshalDirectory([]PublicKey{{ID: k.ID(), Key: k.Public(), Expires: start}}))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"","nbf":-1e99,"exp":9e18}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseDirectory(text)
		if err != nil {
			return
		}
		for _, p := range keys {
			if len(p.Key) != ed25519.PublicKeySize || p.ID != thumbprint(p.Key) {
				t.Errorf("%+v", p)
			}
		}
		again, err := ParseDirectory(marshalDirectory(keys))
		if err != nil || len(again) != len(keys) {
			t.Errorf("%v %v", again, err)
		}
	})
}

// Whatever is published, Check terminates, its report is bounded and printable, and a foreign identity is never OK.
func FuzzCheck(f *testing.F) {
	folder := mustInit(f, testProfile())
	p := folder.Profile()
	from := folderGet(os.DirFS(folder.PublicDir()), p.Origin())
	var seeds [][]byte
	for _, at := range []string{p.Page + "/", p.CardURL(), p.DirectoryURL(), p.RangesURL()} {
		r, err := from(context.Background(), at)
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, r.Body)
	}
	f.Add(seeds[0], seeds[1], seeds[2], seeds[3], `<ips.json>; rel="client-ranges"`, "sha-256=:AA==:", `a=("@authority";req)`)
	f.Add([]byte("<a href='mailto:x"), []byte(`{"web_bot_auth":[]}`), []byte(`{"keys":[{"d":1}]}`), []byte(`{"prefixes":[{"ipv6Prefix":"::/0"}]}`), "<", "", "")
	f.Fuzz(func(t *testing.T, page, card, directory, ranges []byte, link, digest, input string) {
		get := func(_ context.Context, at string) (*Response, error) {
			h := http.Header{"Link": {link}, "Content-Digest": {digest}, "Signature-Input": {input}, "Signature": {input}, "Date": {link}}
			r := &Response{Status: 200, Header: h}
			switch at {
			case p.Page:
				r.Body = page
				h.Set("Content-Type", "text/html")
			case p.CardURL():
				r.Body = card
			case p.DirectoryURL():
				r.Body = directory
			default:
				r.Body = ranges
			}
			return r, nil
		}
		report, err := Check(context.Background(), p.Page, CheckConfig{Get: get, Resolve: &testNames{}, Now: start, Profile: &p, KeyID: folder.keys[0].public.ID})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Defects) > maxDefects || len(report.Notes) > maxDefects {
			t.Errorf("%d defects, %d notes", len(report.Defects), len(report.Notes))
		}
		b, err := json.Marshal(report)
		if err != nil || len(b) > 1<<20 {
			t.Errorf("%d bytes %v", len(b), err)
		}
		for _, d := range report.Defects {
			if strings.ContainsAny(d.String(), "\n\x1b\u202e") {
				t.Errorf("%q", d)
			}
		}
		if report.OK() && (!bytes.Contains(directory, []byte(folder.keys[0].public.ID)) || !bytes.Contains(page, []byte("labbot"))) {
			t.Error("a stranger's identity is OK")
		}
	})
}

func FuzzVerifyHead(f *testing.F) {
	k := mustKey(f)
	token, err := SignHead(k, Head{Lines: 7, Time: start})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add("e30.e30.")
	f.Fuzz(func(t *testing.T, s string) {
		if h, _, err := VerifyHead(s, trusts(k)); err == nil && (s != token || h.Lines != 7) {
			t.Errorf("accepted: %q", s)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := parseKey(text); err == nil && k.ID() != thumbprint(k.Public()) {
			t.Error(k)
		}
	})
}

// A parsed range can be formatted and parsed again.
func FuzzPrefix(f *testing.F) {
	f.Add(`"198.51.100.0/24"`, "")
	f.Add("", `"2001:db8::/32"`)
	f.Fuzz(func(t *testing.T, v4, v6 string) {
		e := map[string]json.RawMessage{}
		if v4 != "" {
			e["ipv4Prefix"] = json.RawMessage(v4)
		}
		if v6 != "" {
			e["ipv6Prefix"] = json.RawMessage(v6)
		}
		p, err := prefixOf(e)
		if err != nil {
			return
		}
		if again, err := netip.ParsePrefix(p.String()); err != nil || again != p || p.Addr().Is4() != (v4 != "") {
			t.Errorf("%q %q: %v", v4, v6, p)
		}
		if addrs, _ := sample(p, 4); len(addrs) == 0 || !p.Contains(addrs[len(addrs)-1]) {
			t.Errorf("%v: %v", p, addrs)
		}
	})
}
