package identity

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// Test vectors of httpsig-protocol-01 appendix E.2 and RFC 9421 appendix B, with lines folded by RFC 8792 unfolded.

const vectorKeyID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

func vectorRequest() Message {
	return Message{Method: "GET", Scheme: "https", Authority: "example.com", Target: "/path/to/resource", Header: http.Header{}}
}

// parsedInput returns a member of a Signature-Input field.
func parsedInput(t *testing.T, field, label string) httpsfv.InnerList {
	t.Helper()
	d, err := dictionary([]string{field})
	if err != nil {
		t.Fatal(err)
	}
	l, err := innerList(d, label)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestThumbprint(t *testing.T) {
	if got := rfcKey(t).ID(); got != vectorKeyID {
		t.Errorf("RFC 9421 key: %s", got)
	}
	x, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	if err != nil {
		t.Fatal(err)
	}
	if got := thumbprint(x); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Errorf("RFC 8037 appendix A.3: %s", got)
	}
}

func TestVectorRequest(t *testing.T) {
	const (
		agent = `agent2="https://signature-agent.test"`
		input = `sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"` +
			`;alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`
		signature = `sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:`
		base      = `"@authority": example.com
"signature-agent";key="agent2": "https://signature-agent.test"
"@signature-params": ("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`
	)
	m := vectorRequest()
	m.Header = withAgent(nil, agent)
	l := inputOf([]httpsfv.Item{component("@authority"), component("signature-agent", "key", "agent2")},
		"created", int64(1735689600), "keyid", vectorKeyID, "alg", "ed25519", "expires", int64(4889289600),
		"nonce", "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==", "tag", "web-bot-auth")
	if got, err := signatureBase(l, &m); err != nil || got != base {
		t.Errorf("base %v\n%s\nwant\n%s", err, got, base)
	}
	in, sig, err := sign(rfcKey(t), "sig2", l, &m)
	if err != nil || in != input || sig != signature {
		t.Errorf("%v\n%s\n%s", err, in, sig)
	}
	m.Header.Set("Signature-Input", input)
	m.Header.Set("Signature", signature)
	v := Verifier{MaxLifetime: 200 * 365 * 24 * time.Hour, Keys: func(agent, id string) (PublicKey, error) {
		if agent != "https://signature-agent.test" {
			t.Errorf("requested %s", agent)
		}
		return PublicKey{ID: id, Key: rfcKey(t).Public()}, nil
	}}
	if got, err := v.Verify(m, start); err != nil || got.Label != "sig2" {
		t.Errorf("%+v %v", got, err)
	}
}

// The legacy form of Signature-Agent is neither sent nor accepted, but its signature base is tested.
func TestVectorLegacyRequest(t *testing.T) {
	const (
		input = `sig2=("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"` +
			`;alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"`
		signature = `sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:`
		base      = `"@authority": example.com
"signature-agent": "https://signature-agent.test"
"@signature-params": ("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"`
	)
	m := vectorRequest()
	m.Header = withAgent(nil, `"https://signature-agent.test"`)
	l := parsedInput(t, input, "sig2")
	if got, err := signatureBase(l, &m); err != nil || got != base {
		t.Errorf("base %v\n%s\nwant\n%s", err, got, base)
	}
	if in, sig, err := sign(rfcKey(t), "sig2", l, &m); err != nil || in != input || sig != signature {
		t.Errorf("%v\n%s\n%s", err, in, sig)
	}
	m.Header.Set("Signature-Input", input)
	m.Header.Set("Signature", signature)
	v := Verifier{Keys: keysOf()}
	wantReason(t, reasonMalformed, second(v.Verify(m, time.Unix(1735689601, 0))))
}

func TestVectorDirectory(t *testing.T) {
	const (
		body      = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`
		digest    = `sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:`
		input     = `binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="http-message-signatures-directory"`
		signature = `binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:`
	)
	k := rfcKey(t)
	public := []PublicKey{{ID: k.ID(), Key: k.Public()}}
	if got := string(marshalDirectory(public)); got != body {
		t.Errorf("body %s", got)
	}
	h, err := signDirectory([]byte(body), "signature-agent.test", []*Key{k}, time.Unix(1735689600, 0), time.Unix(4889289600, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Content-Digest": digest, "Signature-Input": input, "Signature": signature} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	proofs, faults, err := directoryProofs([]byte(body), h, "signature-agent.test", public, start)
	if err != nil || len(faults) > 0 || len(proofs) != 1 {
		t.Errorf("%v %v %v", proofs, faults, err)
	}
	if keys, err := ParseDirectory([]byte(body)); err != nil || len(keys) != 1 || keys[0].ID != vectorKeyID {
		t.Errorf("%v %v", keys, err)
	}
}

// TestVectorRFC9421Ed25519 checks the vector in RFC 9421 appendix B.2.6.
func TestVectorRFC9421Ed25519(t *testing.T) {
	const (
		input     = `sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
		signature = `sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:`
		base      = `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`
	)
	m := Message{Method: "POST", Scheme: "https", Authority: "example.com", Target: "/foo?param=Value&Pet=dog", Header: http.Header{
		"Date": {"Tue, 20 Apr 2021 02:07:55 GMT"}, "Content-Type": {"application/json"}, "Content-Length": {"18"},
	}}
	l := parsedInput(t, input, "sig-b26")
	if got, err := signatureBase(l, &m); err != nil || got != base {
		t.Errorf("base %v\n%s\nwant\n%s", err, got, base)
	}
	if in, sig, err := sign(rfcKey(t), "sig-b26", l, &m); err != nil || in != input || sig != signature {
		t.Errorf("%v\n%s\n%s", err, in, sig)
	}
}

// TestComponents follows RFC 9421 sections 2.1 and 2.2.
func TestComponents(t *testing.T) {
	m := &Message{Method: "POST", Scheme: "https", Authority: "WWW.Example.com:443", Target: "/path?param=value", Header: http.Header{
		"X-Ows-Header": {"  Leading and trailing whitespace.\t"}, "Cache-Control": {"max-age=60", "   must-revalidate"},
		"X-Empty-Header": {""}, "Example-Dict": {"a=1,    b=2;x=1;y=2,   c=(a   b   c), d"}, "X-Latin": {"caf\u00e9"}, "X-Line": {"a\nb"},
	}}
	response := &Message{Header: http.Header{"Etag": {"x"}}, Request: m}
	for _, c := range []struct {
		m    *Message
		id   string
		want string // "!" means an error
	}{
		{m, `"@method"`, "POST"},
		{m, `"@target-uri"`, "https://www.example.com/path?param=value"},
		{m, `"@authority"`, "www.example.com"},
		{m, `"@scheme"`, "https"},
		{m, `"@path"`, "/path"},
		{m, `"@query"`, "?param=value"},
		{&Message{Method: "GET", Scheme: "https", Authority: "h:8443", Target: ""}, `"@path"`, "/"},
		{&Message{Method: "GET", Scheme: "https", Authority: "h:8443", Target: "/a?"}, `"@query"`, "?"},
		{&Message{Method: "GET", Scheme: "https", Authority: "h:8443", Target: "/a"}, `"@query"`, "?"},
		{&Message{Method: "GET", Scheme: "https", Authority: "h:8443", Target: "/a?"}, `"@target-uri"`, "https://h:8443/a?"},
		{&Message{Method: "GET", Scheme: "http", Authority: "h:80", Target: "/"}, `"@authority"`, "h"},
		{&Message{Method: "GET", Scheme: "https", Authority: "h:80", Target: "/"}, `"@authority"`, "h:80"},
		{m, `"x-ows-header"`, "Leading and trailing whitespace."},
		{m, `"cache-control"`, "max-age=60, must-revalidate"},
		{m, `"x-empty-header"`, ""},
		{m, `"example-dict";key="a"`, "1"},
		{m, `"example-dict";key="d"`, "?1"},
		{m, `"example-dict";key="b"`, "2;x=1;y=2"},
		{m, `"example-dict";key="c"`, "(a b c)"},
		{response, `"@method";req`, "POST"},
		{response, `"etag"`, "x"},
		{response, `"cache-control";req`, "max-age=60, must-revalidate"},

		{m, `"example-dict";key="e"`, "!"},
		{m, `"cache-control";key="max-age";sf`, "!"},
		{m, `"no-such-field"`, "!"},
		{m, `"Cache-Control"`, "!"},
		{m, `"@method";req`, "!"},
		{response, `"@method";req=1`, "!"},
		{response, `"@method";req=?0`, "!"},
		{response, `"@method"`, "!"},
		{m, `"@method";key="x"`, "!"},
		{m, `"@query-param";name="param"`, "!"},
		{m, `"@status"`, "!"},
		{m, `"@signature-params"`, "!"},
		{m, `"x-latin"`, "!"},
		{m, `"x-line"`, "!"},
		{m, `1`, "!"},
	} {
		base, err := signatureBase(parsedInput(t, "s=("+c.id+")", "s"), c.m)
		want := c.id + ": " + c.want + "\n\"@signature-params\": (" + c.id + ")"
		if c.want == "!" && err == nil || c.want != "!" && base != want {
			t.Errorf("%s: %q %v", c.id, base, err)
		}
	}
	if _, err := signatureBase(parsedInput(t, `s=("@path" "@path")`, "s"), m); err == nil {
		t.Error("a component may be covered twice")
	}
}
