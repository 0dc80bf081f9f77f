package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

const (
	directoryType = "application/http-message-signatures-directory+json"
	rangesType    = "application/jafar+json"
	cardType      = "application/json"
	pageType      = "text/html; charset=utf-8"

	// directoryAge limits how long verifiers may cache the directory.
	directoryAge = 24 * time.Hour
	// directoryLifetime is the validity of the signatures that [Folder.Publish] makes. The directory must be published again before they
	// expire. Verifiers keep a directory for a much shorter time (httpsig-protocol-01 appendix C.8).
	directoryLifetime = 90 * 24 * time.Hour
)

// contentDigest returns the value of a Content-Digest field (RFC 9530 section 2).
func contentDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// signDirectory returns the header fields for a directory: one signature by each of its keys (httpsig-protocol-01 appendix B.1).
func signDirectory(body []byte, authority string, keys []*Key, created, expires time.Time) (http.Header, error) {
	h := http.Header{"Content-Digest": {contentDigest(body)}}
	m := &Message{Header: h, Request: &Message{Method: http.MethodGet, Scheme: "https", Authority: authority, Target: directoryPath}}
	var inputs, signatures []string
	for i, k := range keys {
		label := "binding"
		if len(keys) > 1 {
			label = fmt.Sprintf("binding%d", i+1)
		}
		l := inputOf([]httpsfv.Item{component("@authority", "req", true), component("content-digest")},
			"created", created.Unix(), "expires", expires.Unix(), "keyid", k.id, "tag", tagDirectory)
		in, sig, err := sign(k, label, l, m)
		if err != nil {
			return nil, fmt.Errorf("identity: key directory: %w", err)
		}
		inputs, signatures = append(inputs, in), append(signatures, sig)
	}
	h.Set("Signature-Input", strings.Join(inputs, ", "))
	h.Set("Signature", strings.Join(signatures, ", "))
	return h, nil
}

// proof is a valid signature of a directory by one of its keys.
type proof struct {
	created, expires time.Time
}

// directoryProofs returns the valid signatures of a directory, by key. faults has the errors of single signatures; err concerns all of
// them.
func directoryProofs(body []byte, h http.Header, authority string, keys []PublicKey, now time.Time) (proofs map[string]proof, faults []error, err error) {
	if len(h.Values("Signature-Input")) == 0 {
		return nil, nil, errUnsignedDirectory
	}
	if err := checkDigest(body, h); err != nil {
		return nil, nil, err
	}
	inputs, err := dictionary(h.Values("Signature-Input"))
	if err != nil {
		return nil, nil, fmt.Errorf("field Signature-Input: %w", err)
	}
	signatures, err := dictionary(h.Values("Signature"))
	if err != nil {
		return nil, nil, fmt.Errorf("field Signature: %w", err)
	}
	m := &Message{Header: h, Request: &Message{Method: http.MethodGet, Scheme: "https", Authority: authority, Target: directoryPath}}
	proofs = map[string]proof{}
	for _, label := range inputs.Names() {
		id, p, err := oneProof(m, label, inputs, signatures, keys, now)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("signature %q: %w", printable(label), err))
		case id != "":
			proofs[id] = p
		}
	}
	return proofs, faults, nil
}

var errUnsignedDirectory = errors.New("no Signature-Input field")

// checkDigest compares the body with its Content-Digest. RFC 9530 permits sha-256 and sha-512; only sha-256 is read here.
func checkDigest(body []byte, h http.Header) error {
	d, err := dictionary(h.Values("Content-Digest"))
	if err != nil {
		return fmt.Errorf("field Content-Digest: %w", err)
	}
	want, err := bytesItem(d, "sha-256")
	if err != nil {
		return fmt.Errorf("field Content-Digest: %w", err)
	}
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], want) {
		return errors.New("the Content-Digest is not the digest of the body: it was changed after it was signed")
	}
	return nil
}

// oneProof checks one signature of a directory. The ID is "" if the signature is of another kind.
func oneProof(m *Message, label string, inputs, signatures *httpsfv.Dictionary, keys []PublicKey, now time.Time) (id string, p proof, err error) {
	l, err := innerList(inputs, label)
	if err != nil {
		return "", p, err
	}
	if tag, _, _ := stringParam(l.Params, "tag"); tag != tagDirectory {
		return "", p, nil
	}
	if p, err = proofOf(l); err != nil {
		return "", p, err
	}
	id, _, _ = stringParam(l.Params, "keyid")
	public, err := keyOf(keys, id)
	if err != nil {
		return "", p, err
	}
	sig, err := bytesItem(signatures, label)
	if err != nil {
		return "", p, err
	}
	base, err := signatureBase(l, m)
	if err != nil {
		return "", p, err
	}
	if !ed25519.Verify(public, []byte(base), sig) {
		return "", p, fmt.Errorf("it is not a signature of this directory at %s by key %s", printable(m.Request.Authority), id)
	}
	return id, p, p.judge(now)
}

// proofOf parses a signature and checks that it covers the required components.
func proofOf(l httpsfv.InnerList) (p proof, err error) {
	if p.created, err = timeParam(l.Params, "created"); err != nil {
		return p, err
	}
	if p.expires, err = timeParam(l.Params, "expires"); err != nil {
		return p, err
	}
	return p, proofCovers(l)
}

// judge returns an error if the proof is not valid at the time now.
func (p proof) judge(now time.Time) error {
	switch {
	case p.created.After(now.Add(defaultSkew)):
		return fmt.Errorf("it was made %v in the future: a clock is wrong", p.created.Sub(now).Round(time.Second))
	case !now.Before(p.expires):
		return fmt.Errorf("it expired %v ago: publish the directory again", now.Sub(p.expires).Round(time.Second))
	}
	return nil
}

func keyOf(keys []PublicKey, id string) (ed25519.PublicKey, error) {
	for _, k := range keys {
		if k.ID == id {
			return k.Key, nil
		}
	}
	return nil, fmt.Errorf("keyid %q is not a key of the directory", printable(id))
}

// proofCovers returns an error unless the components bind the signature to the directory's host and to its bytes.
func proofCovers(l httpsfv.InnerList) error {
	var ids []string
	for _, it := range l.Items {
		id, err := marshal(it)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for _, id := range []string{`"@authority";req`, `"content-digest"`} {
		if !slices.Contains(ids, id) {
			return fmt.Errorf("%s is not covered", id)
		}
	}
	return nil
}
