package identity

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func trusts(keys ...*Key) func(string) (ed25519.PublicKey, bool) {
	return func(id string) (ed25519.PublicKey, bool) {
		for _, k := range keys {
			if k.ID() == id {
				return k.Public(), true
			}
		}
		return nil, false
	}
}

func TestHead(t *testing.T) {
	k := mustKey(t)
	h := Head{Hash: sha256.Sum256([]byte("line\n")), Lines: 12345678, Time: start.Add(123 * time.Millisecond)}
	token, err := SignHead(k, h)
	if err != nil {
		t.Fatal(err)
	}
	if len(token) > 400 || strings.ContainsAny(token, " \"\\\n") {
		t.Errorf("%d bytes: %s", len(token), token)
	}
	got, id, err := VerifyHead(token, trusts(k))
	if err != nil || id != k.ID() || got.Hash != h.Hash || got.Lines != h.Lines || !got.Time.Equal(start) {
		t.Errorf("%+v %s %v", got, id, err)
	}
	again, err := SignHead(k, h)
	if err != nil || again != token {
		t.Errorf("signing again gives another result: %s", again)
	}
}

// The key and message of RFC 8037 appendix A.4 give the signature printed there.
func TestHeadIsAJWS(t *testing.T) {
	k := seedKey(t, "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	const signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
	if got := base64.RawURLEncoding.EncodeToString(k.sign([]byte(signed))); got != "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg" {
		t.Error(got)
	}
	token, err := SignHead(k, Head{Lines: 1, Time: start})
	if err != nil {
		t.Fatal(err)
	}
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
	if err != nil || string(header) != `{"alg":"EdDSA","kid":"`+k.ID()+`","typ":"amble-ledger-head"}` {
		t.Errorf("%s %v", header, err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if want := `{"sha256":"` + strings.Repeat("0", 64) + `","lines":1,"time":"2026-11-22T12:00:00Z"}`; err != nil || string(payload) != want {
		t.Errorf("%s %v", payload, err)
	}
}

func TestInvalidHeads(t *testing.T) {
	k, other := mustKey(t), mustKey(t)
	token, err := SignHead(k, Head{Hash: sha256.Sum256(nil), Lines: 7, Time: start})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	enc := base64.RawURLEncoding.EncodeToString
	// forge returns a correctly signed token with the given header and payload.
	forge := func(header, payload string) string {
		signed := enc([]byte(header)) + "." + enc([]byte(payload))
		return signed + "." + enc(k.sign([]byte(signed)))
	}
	header := `{"alg":"EdDSA","kid":"` + k.ID() + `","typ":"amble-ledger-head"}`
	payload := `{"sha256":"` + strings.Repeat("0", 64) + `","lines":1,"time":"2026-11-22T12:00:00Z"}`
	if _, _, err := VerifyHead(forge(header, payload), trusts(k)); err != nil {
		t.Fatal(err)
	}
	flip := func(i int) string {
		p := append([]string(nil), parts...)
		b, _ := base64.RawURLEncoding.DecodeString(p[i])
		b[len(b)/2] ^= 1
		p[i] = enc(b)
		return strings.Join(p, ".")
	}
	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"payload changed":    {flip(1), errHeadSignature},
		"signature changed":  {flip(2), errHeadSignature},
		"signature cut":      {parts[0] + "." + parts[1] + "." + enc(make([]byte, 60)), errHeadSignature},
		"no signature":       {parts[0] + "." + parts[1] + ".", errHeadSignature},
		"padding":            {token + "=", errHeadMalformed},
		"two parts":          {parts[0] + "." + parts[1], errHeadMalformed},
		"four parts":         {token + ".x", errHeadMalformed},
		"empty":              {"", errHeadMalformed},
		"blanks":             {" " + token, errHeadMalformed},
		"too long":           {token + strings.Repeat("A", maxHeadBytes), errHeadMalformed},
		"alg none":           {forge(`{"alg":"none","kid":"`+k.ID()+`","typ":"amble-ledger-head"}`, payload), errHeadMalformed},
		"another type":       {forge(`{"alg":"EdDSA","kid":"`+k.ID()+`","typ":"JWT"}`, payload), errHeadMalformed},
		"critical extension": {forge(`{"alg":"EdDSA","kid":"`+k.ID()+`","typ":"amble-ledger-head","crit":"x"}`, payload), errHeadMalformed},
		"a key of its own":   {forge(`{"alg":"EdDSA","jwk":"`+k.ID()+`","typ":"amble-ledger-head"}`, payload), errHeadKey},
		"header no object":   {forge(`[]`, payload), errHeadMalformed},
		"short hash":         {forge(header, `{"sha256":"00","lines":1,"time":"2026-11-22T12:00:00Z"}`), errHeadMalformed},
		"negative lines":     {forge(header, strings.Replace(payload, `"lines":1`, `"lines":-1`, 1)), errHeadMalformed},
		"lines with a point": {forge(header, strings.Replace(payload, `"lines":1`, `"lines":1.5`, 1)), errHeadMalformed},
		"no time":            {forge(header, strings.Replace(payload, `"2026-11-22T12:00:00Z"`, `"x"`, 1)), errHeadMalformed},
	} {
		if _, _, err := VerifyHead(c.token, trusts(k)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, id, err := VerifyHead(token, trusts(other)); !errors.Is(err, errHeadKey) || id != k.ID() {
		t.Errorf("%s %v", id, err)
	}
	for _, h := range []Head{{Lines: -1, Time: start}, {Time: time.Time{}}, {Time: time.Unix(maxUnix+1, 0)}} {
		if _, err := SignHead(k, h); err == nil {
			t.Errorf("%+v was signed", h)
		}
	}
	if !json.Valid([]byte(header)) {
		t.Error("the test's header")
	}
}
