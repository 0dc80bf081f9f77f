package identity

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseChallenge(t *testing.T) {
	const agent = `"signature-agent";key="sig1"`
	for _, c := range []struct {
		field string
		want  Challenge
		bad   string // part of the error
	}{
		{`sig1=("@authority" ` + agent + `);created;expires;keyid="x";tag="web-bot-auth"`, Challenge{Label: "sig1", KeyID: "x"}, ""},
		{`sig1=("@authority");tag="web-bot-auth"`, Challenge{Label: "sig1"}, ""},
		{`sig1=()`, Challenge{Label: "sig1"}, ""},
		{`b.2-x*=("@method" "@path");nonce="n/1+=";alg="ed25519"`, Challenge{Label: "b.2-x*", Nonce: "n/1+="}, ""},
		{`sig1=("@target-uri" "@query" "@scheme" "user-agent" "accept")`, Challenge{Label: "sig1", Cover: []string{"@target-uri", "@query", "@scheme", "user-agent", "accept"}}, ""},
		{`sig1=("@query" "@query")`, Challenge{Label: "sig1", Cover: []string{"@query"}}, ""},
		{`a=("content-digest");tag="web-bot-auth", b=("@authority");tag="web-bot-auth"`, Challenge{Label: "b"}, ""},
		{`a=("@authority");tag="payments", b=("@authority")`, Challenge{Label: "b"}, ""},
		{`sig1=("@authority");created=1618884475`, Challenge{Label: "sig1"}, ""},
		{`sig1=("@authority");alg="rsa-pss-sha512"`, Challenge{}, "alg=rsa-pss-sha512"},
		{`sig1=("@authority");tag="payments"`, Challenge{}, "tag=payments"},
		{`sig1=("@authority");nonce=7`, Challenge{}, "nonce=7"},
		{`sig1=("@authority");nonce=""`, Challenge{}, "nonce="},
		{`sig1=("@authority");nonce`, Challenge{}, "nonce=true"},
		{`sig1=("@authority");nonce="` + strings.Repeat("x", maxNonce+1) + `"`, Challenge{}, "nonce="},
		{`sig1=("@authority");sigkey=jkt`, Challenge{}, "sigkey"},
		{`sig1=("content-digest")`, Challenge{}, "content-digest"},
		{`sig1=("cookie")`, Challenge{}, "cookie"},
		{`sig1=("authorization")`, Challenge{}, "authorization"},
		{`sig1=("@query-param";name="a")`, Challenge{}, "@query-param"},
		{`sig1=("@method";req)`, Challenge{}, "@method"},
		{`sig1=("signature-agent";key="other")`, Challenge{}, "signature-agent"},
		{`sig1=("signature-agent")`, Challenge{}, "signature-agent"},
		{`sig1=("signature-agent";key=1)`, Challenge{}, "key"},
		{`sig1=(1)`, Challenge{}, "not a string"},
		{`sig1="x"`, Challenge{}, "inner list"},
		{`sig1`, Challenge{}, "inner list"},
		{`"x"`, Challenge{}, "not a dictionary"},
		{``, Challenge{}, "empty"},
		{`SIG=()`, Challenge{}, "not a dictionary"},
		{`sig1=(` + strings.Repeat(`"@path" `, maxComponents+1) + `)`, Challenge{}, "more than"},
		{strings.Repeat("a", maxLabel+1) + `=()`, Challenge{}, "label"},
		{`sig1=("` + strings.Repeat("x", maxFieldBytes) + `")`, Challenge{}, "longer than"},
		{strings.TrimSuffix(strings.Repeat("a=(),b=(),c=(),d=(),e=(),f=(),g=(),h=(),i=(),j=(),k=(),l=(),m=(),n=(),o=(),p=(),q=(),", 1), ","), Challenge{}, "members"},
	} {
		got, err := parseChallenge([]string{c.field})
		switch {
		case c.bad != "":
			if err == nil || !strings.Contains(err.Error(), c.bad) || len(err.Error()) > 400 {
				t.Errorf("%.100s: %+v %v", c.field, got, err)
			}
		case err != nil || !reflect.DeepEqual(got, c.want):
			t.Errorf("%.100s: %+v %v", c.field, got, err)
		}
	}
	if _, err := parseChallenge(nil); !errors.Is(err, errNoChallenge) {
		t.Error(err)
	}
	if got, err := parseChallenge([]string{`a=("x")`, `b=("@path")`}); err != nil || got.Label != "b" {
		t.Errorf("several lines: %+v %v", got, err)
	}
}

// Every supported challenge can be answered with a signature that a verifier accepts.
func TestChallengesAreFulfilled(t *testing.T) {
	k := mustKey(t)
	c, err := parseChallenge([]string{`x=("accept" "@path" "@query" "@authority" "signature-agent";key="x");nonce="from-the-server";created;expires;tag="web-bot-auth";keyid="` + k.ID() + `"`})
	if err != nil {
		t.Fatal(err)
	}
	m := get("site.test", "/a?b")
	m.Header.Set("Accept", "text/html")
	sig, err := mustSigner(t, k).Sign(m, c, start)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{Keys: keysOf(k)}
	got, err := v.Verify(signed(m, sig), start)
	if err != nil || got.Label != "x" || got.Nonce != "from-the-server" {
		t.Fatalf("%+v %v", got, err)
	}
	for _, want := range []string{`"accept"`, `"@path"`, `"@query"`, `"@authority"`, `"signature-agent";key="x"`, `"@method"`} {
		if !strings.Contains(strings.Join(got.Covered, " "), want) {
			t.Errorf("%s is not covered: %v", want, got.Covered)
		}
	}
}
