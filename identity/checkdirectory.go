package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const protocol = "httpsig-protocol-01 section "

// renewal is the time before the directory's signatures expire in which Check warns.
const renewal = 14 * 24 * time.Hour

// directory reads and checks the key directory.
func (k *checking) directory(f *found) {
	at := f.jwksURL
	if at == "" {
		at = f.origin + directoryPath
	}
	if k.Profile != nil {
		k.agent(at)
	}
	r := k.fetch("the key directory", at, protocol+"5.5")
	if r == nil {
		return
	}
	wellKnown := strings.HasSuffix(at, directoryPath)
	if t := mediaType(r); wellKnown && t != directoryType {
		k.must(at, protocol+"5.5.1", "Serve it as "+directoryType+".", "the key directory is served as %q", printable(t))
	}
	if r.Header.Get("Cache-Control") == "" && r.Header.Get("Expires") == "" {
		k.should(at, protocol+"C.4", "Send Cache-Control: max-age=86400.", "verifiers are not told how long they may keep the key directory")
	}
	keys := k.keys(at, r.Body)
	if keys == nil {
		return
	}
	k.proofs(at, r, keys, wellKnown)
	for _, p := range keys {
		if p.valid(k.Now) {
			k.report.Keys = append(k.report.Keys, p.ID)
		}
	}
	k.signing(at)
}

// agent compares the Signature-Agent of requests with the URL of the key directory.
func (k *checking) agent(at string) {
	agent := k.Profile.AgentURL()
	switch {
	case agent == at:
	case strings.TrimSuffix(agent, "/")+directoryPath == at:
		k.note("requests name %s, an origin: verifiers from httpsig-protocol-01 on read the URL itself as the key directory", agent)
	default:
		k.must(at, protocol+"5.5", "Let requests name the directory's URL.", "requests name %q as Signature-Agent, and the card names this directory", agent)
	}
}

// keys parses the entries of the directory, and reports the defects of each. It returns nil if no entry can be used.
func (k *checking) keys(at string, body []byte) []PublicKey {
	entries, err := directoryEntries(body)
	if err != nil {
		k.must(at, protocol+"5.5.1", "Publish it again.", "%s", strings.TrimPrefix(err.Error(), "identity: "))
		return nil
	}
	var keys []PublicKey
	seen := map[string]bool{}
	for i, e := range entries {
		if p := k.key(at, fmt.Sprintf("key %d", i+1), e, seen); p != nil {
			keys = append(keys, *p)
		}
	}
	if keys == nil {
		k.must(at, protocol+"5.5.1", "Publish it again.", "no key of the directory can be used")
	}
	return keys
}

// key parses one entry. It returns nil if the entry cannot be used.
func (k *checking) key(at, name string, e map[string]json.RawMessage, seen map[string]bool) *PublicKey {
	if _, ok := e["d"]; ok {
		k.must(at, "RFC 8037 section 2", "Take it down at once, and rotate with the key marked as compromised.", "%s is published WITH ITS PRIVATE HALF: anybody can sign as you", name)
	}
	p, err := parseJWK(e)
	switch {
	case errors.Is(err, errForeignKey):
		k.note("%s of %s is not an Ed25519 key: it is not checked", name, printable(at))
		return nil
	case err != nil:
		k.must(at, protocol+"5.5", "Publish it again.", "%s: %s", name, err.Error())
		return nil
	case seen[p.ID]:
		k.must(at, protocol+"5.5", "", "%s: %s is listed twice", name, p.ID)
		return nil
	}
	seen[p.ID] = true
	if isExampleKey(p.ID) {
		k.must(at, protocol+"6.8", "Make a key of your own.", "%s is printed in a standard: anybody can sign with it", p.ID)
	}
	if !p.Expires.IsZero() && !k.Now.Before(p.Expires) {
		k.should(at, protocol+"5.5.2", "Publish it again: expired keys are left out.", "%s expired on %s", p.ID, p.Expires.Format(time.DateOnly))
	}
	return p
}

// proofs checks the signatures of the directory itself. They are recommended, and must be valid if there are any.
func (k *checking) proofs(at string, r *Response, keys []PublicKey, wellKnown bool) {
	u, err := url.Parse(at)
	if err != nil {
		return
	}
	proofs, faults, err := directoryProofs(r.Body, r.Header, (&Message{Scheme: "https", Authority: u.Host}).authority(), keys, k.Now)
	switch {
	case errors.Is(err, errUnsignedDirectory):
		if wellKnown {
			k.should(at, protocol+"B.1", "Send the header fields that stand in nginx.conf and _headers.", "the key directory is not signed")
		}
		return
	case err != nil && r.Header.Get("Content-Encoding") != "":
		k.must(at, protocol+"B.1", "Serve it without compression: the digest is that of the bytes that are sent.", "%s", printable(err.Error()))
		return
	case err != nil:
		k.must(at, protocol+"B.1", "Upload the folder and its header fields together.", "%s", printable(err.Error()))
		return
	}
	for _, f := range faults {
		k.must(at, protocol+"B.1", "Publish it again, and upload the folder and its header fields together.", "%s", printable(f.Error()))
	}
	for _, p := range keys {
		switch proof, ok := proofs[p.ID]; {
		case !ok && len(faults) == 0:
			k.should(at, protocol+"B.1", "Publish it again.", "the directory is not signed by its key %s", p.ID)
		case ok && proof.expires.Sub(k.Now) < renewal:
			k.should(at, protocol+"C.8", "Publish it again.", "its signature by %s ends on %s", p.ID, proof.expires.Format(time.DateOnly))
		}
	}
}

// signing checks the key that signs requests now.
func (k *checking) signing(at string) {
	if k.KeyID == "" {
		return
	}
	for _, id := range k.report.Keys {
		if id == k.KeyID {
			return
		}
	}
	k.must(at, protocol+"5.5.2", "Upload the public folder.", "the key that signs now, %s, is not in the directory or not valid", k.KeyID)
}
