package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
)

// checkEvidence checks evidence as the owner of a site could, with a program that uses no code of amble.
func checkEvidence(lines []string, keys map[string]ed25519.PublicKey) (own, heads int, err error) {
	type member struct{ Begin, Digest, Chain, Event, Token, Sha256, Kid string }
	decode := func(text string) []byte {
		b, _ := base64.RawURLEncoding.DecodeString(text)
		return b
	}
	var c []byte
	for i, line := range lines {
		var m member
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return own, heads, err
		}
		if m.Begin != "" {
			c = decode(m.Begin)
			continue
		}
		digest := decode(m.Digest)
		if m.Token != "" {
			part := strings.Split(m.Token, ".")
			var head, payload member
			err := errors.Join(json.Unmarshal(decode(part[0]), &head), json.Unmarshal(decode(part[1]), &payload))
			if err != nil || payload.Sha256 != hex.EncodeToString(c) || !ed25519.Verify(keys[head.Kid], []byte(part[0]+"."+part[1]), decode(part[2])) {
				return own, heads, fmt.Errorf("the head in line %d is wrong", i)
			}
			heads++
		}
		if m.Chain != "" {
			sum := sha256.Sum256([]byte(strings.Replace(line, `,"chain":"`+m.Chain+`"`, "", 1)))
			digest = sum[:]
			own++
		}
		sum := sha256.Sum256(append(bytes.Clone(c), digest...))
		if c = sum[:]; m.Chain != "" && base64.RawURLEncoding.EncodeToString(c) != m.Chain {
			return own, heads, fmt.Errorf("line %d does not fit", i)
		}
	}
	return own, heads, nil
}

func TestSiteOwnerCanCheckEvidence(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t), filepath.Join(t.TempDir(), "job")
	site := func(body string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				_, _ = w.Write([]byte("User-agent: *\nDisallow: /no\nAllow: /yes\n"))
				return
			}
			_, _ = w.Write([]byte(body))
		}))
	}
	one, two := site("x"), site("y")
	defer one.Close()
	defer two.Close()
	a, _, errs := testApp(nil)
	if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--agent", "labbot/1.0", "--contact", "https://lab.university.edu/crawl", "--sign", id, one.URL + "/yes", two.URL + "/secret"}); code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	explain := func(args ...string) string {
		a, out, errs := testApp(nil)
		if code := a.run(append([]string{"explain", dir, "--for-owner", "--host", strings.TrimPrefix(one.URL, "http://")}, args...)); code != cli.ExitDone {
			t.Fatal(code, errs)
		}
		return out.String()
	}
	text := explain()
	for _, want := range []string{"Requests: 2\n", "2 requests to the host, 1 of them for robots.txt; ", "The shortest pause was ", "No request was too early.\n", one.URL + "/yes: status 200", "; pause ", "allowed: line 3 \"Allow: /yes\"", "    2  Disallow: /no\n", "User-agent: labbot\n", "https://lab.university.edu/crawl\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	evidence := explain("--json")
	if strings.Contains(evidence, two.URL) || strings.Contains(text, two.URL) {
		t.Error("it names another site")
	}
	set, err := os.ReadFile(filepath.Join(id, "public", ".well-known", "http-message-signatures-directory"))
	var published struct{ Keys []struct{ Kid, X string } }
	if err = errors.Join(err, json.Unmarshal(set, &published)); err != nil {
		t.Fatal(err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, k := range published.Keys {
		keys[k.Kid], _ = base64.RawURLEncoding.DecodeString(k.X)
	}
	lines := strings.Split(strings.TrimSpace(evidence), "\n")[1:] // without the first line, the account
	if own, heads, err := checkEvidence(lines, keys); err != nil || own != 5 || heads != 1 || len(lines) != 10 {
		t.Fatalf("%d of %d lines in full, %d heads, %v\n%s", own, len(lines), heads, err, evidence)
	}
	for i := 1; i < len(lines); i++ {
		changed := append([]string{}, lines...)
		changed[i] = strings.Replace(strings.Replace(changed[i], `"run":"`, `"run":"x`, 1), `"digest":"`, `"digest":"A`, 1)
		_, _, err1 := checkEvidence(changed, keys)
		_, _, err2 := checkEvidence(append(append([]string{}, lines[:i]...), lines[i+1:]...), keys)
		if err1 == nil || err2 == nil && i < len(lines)-1 {
			t.Errorf("line %d: changed %v, removed %v", i, err1, err2)
		}
	}
}
