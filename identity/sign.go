package identity

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// signatureLifetime is the validity of a request's signature. The draft allows 24 hours, but a crawler does not need that long.
const signatureLifetime = 5 * time.Minute

// Errors that [Signer.Sign] wraps.
var (
	// errInsecure is returned for a request over http: others could read its signature and use it again.
	errInsecure = errors.New("identity: requests over http are not signed")
	// errNoKey is returned if no key is valid, or a Challenge requires another key.
	errNoKey = errors.New("identity: no key to sign with")
)

// Signed holds the three fields of a signed request (httpsig-protocol-01 section 5.2.5). The zero Signed means that the request is not
// signed.
type Signed struct {
	Agent     string // value of Signature-Agent
	Input     string // value of Signature-Input
	Signature string // value of Signature
	KeyID     string // ID of the key, for the ledger
}

// Set sets the fields in the header of the signed request, after removing those of an earlier signature. A zero Signed only removes them.
func (s Signed) Set(h http.Header) {
	h.Del("Signature-Agent")
	h.Del("Signature-Input")
	h.Del("Signature")
	if s == (Signed{}) {
		return
	}
	h.Set("Signature-Agent", s.Agent)
	h.Set("Signature-Input", s.Input)
	h.Set("Signature", s.Signature)
}

// Signer signs requests. It is safe for concurrent use.
type Signer struct {
	agent string
	keys  []signingKey
}

// signingKey is a key and its period of validity.
type signingKey struct {
	*Key
	window PublicKey
}

// NewSigner returns a Signer with a single key of unlimited validity. agent is the value of Signature-Agent: the https URL of the key
// directory, without user information and fragment. Keys that are published in a standard are refused.
func NewSigner(agent string, k *Key) (*Signer, error) {
	return newSigner(agent, []signingKey{{Key: k}})
}

func newSigner(agent string, keys []signingKey) (*Signer, error) {
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if isExampleKey(k.id) {
			return nil, fmt.Errorf("identity: %v is printed in a standard: anybody can sign with it", k.Key)
		}
	}
	return &Signer{agent: agent, keys: keys}, nil
}

func checkAgent(agent string) error {
	u, err := url.Parse(agent)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return fmt.Errorf("identity: Signature-Agent %q is not an absolute URL", printable(agent))
	case u.Scheme != "https":
		return fmt.Errorf("identity: Signature-Agent %q: only https URLs can be checked", printable(agent))
	case u.User != nil || u.Fragment != "" || strings.Contains(agent, "#"):
		return fmt.Errorf("identity: Signature-Agent %q: no user information and no fragment", printable(agent))
	case len(agent) > maxNonce || strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > 0x7e }):
		return fmt.Errorf("identity: Signature-Agent %q: at most %d characters, of ASCII", printable(agent), maxNonce)
	}
	return nil
}

// Agent returns the value of Signature-Agent.
func (s *Signer) Agent() string { return s.agent }

// key returns the newest valid key; if id is not "", it must have that ID.
func (s *Signer) key(now time.Time, id string) *signingKey {
	var best *signingKey
	for i := range s.keys {
		k := &s.keys[i]
		if !k.window.valid(now) || id != "" && id != k.id {
			continue
		}
		if best == nil || !k.window.NotBefore.Before(best.window.NotBefore) {
			best = k
		}
	}
	return best
}

// Sign signs a request that is about to be sent, as the Challenge requires. The signature covers the method, the authority, the path, the
// Signature-Agent and the components in the Challenge. It has a nonce, and is valid for five minutes. Each hop of a redirect is a separate
// request and needs a separate signature.
//
// The error means that the request uses http, that no key is valid, or that the request lacks a component of the Challenge. m.Header must
// have the header fields that the Challenge names; Sign does not change it.
func (s *Signer) Sign(m Message, c Challenge, now time.Time) (Signed, error) {
	if !strings.EqualFold(m.Scheme, "https") {
		return Signed{}, fmt.Errorf("%w: %s", errInsecure, printable(m.Authority))
	}
	k := s.key(now, c.KeyID)
	if k == nil {
		return Signed{}, s.noKey(c.KeyID)
	}
	if c.Nonce == "" {
		c.Nonce = newNonce()
	}
	c.Label = cmp.Or(c.Label, defaultLabel)
	agent, err := agentField(c.Label, s.agent)
	if err != nil {
		return Signed{}, fmt.Errorf("identity: %w", err)
	}
	m.Header = withAgent(m.Header, agent)
	input, signature, err := sign(k.Key, c.Label, requestInput(k, c, now), &m)
	if err != nil {
		return Signed{}, fmt.Errorf("identity: %w", err)
	}
	return Signed{Agent: agent, Input: input, Signature: signature, KeyID: k.id}, nil
}

func (s *Signer) noKey(wanted string) error {
	if wanted != "" {
		return fmt.Errorf("%w: the site asks for %q", errNoKey, printable(wanted))
	}
	return fmt.Errorf("%w: every key has expired or is not valid yet: rotate", errNoKey)
}

// requestInput returns the components that the signature of a request covers, with the parameters of the signature in the order of the
// drafts' examples.
func requestInput(k *signingKey, c Challenge, now time.Time) httpsfv.InnerList {
	var items []httpsfv.Item
	for _, name := range slices.Concat(covered, c.Cover) {
		items = append(items, component(name))
	}
	items = append(items, component("signature-agent", "key", c.Label))
	expires := now.Add(signatureLifetime)
	if e := k.window.Expires; !e.IsZero() && e.Before(expires) {
		expires = e // the key leaves the directory at e
	}
	return inputOf(items, "created", now.Unix(), "keyid", k.id, "alg", algorithm, "expires", expires.Unix(), "nonce", c.Nonce, "tag", tagRequest)
}

// inputOf returns a member of Signature-Input. params has names and values of parameters, alternately.
func inputOf(items []httpsfv.Item, params ...any) httpsfv.InnerList {
	p := httpsfv.NewParams()
	for i := 0; i+1 < len(params); i += 2 {
		p.Add(params[i].(string), params[i+1])
	}
	return httpsfv.InnerList{Items: items, Params: p}
}

// sign returns a member of Signature-Input and the member of Signature that belongs to it (RFC 9421 section 3.1).
func sign(k *Key, label string, l httpsfv.InnerList, m *Message) (input, signature string, err error) {
	base, err := signatureBase(l, m)
	if err != nil {
		return "", "", err
	}
	in, sig := httpsfv.NewDictionary(), httpsfv.NewDictionary()
	in.Add(label, l)
	sig.Add(label, httpsfv.NewItem(k.sign([]byte(base))))
	if input, err = marshal(in); err != nil {
		return "", "", err
	}
	signature, err = marshal(sig)
	return input, signature, err
}

// agentField returns the value of a Signature-Agent field, which is a dictionary.
func agentField(label, agent string) (string, error) {
	d := httpsfv.NewDictionary()
	d.Add(label, httpsfv.NewItem(agent))
	return marshal(d)
}

// withAgent returns a copy of h with the Signature-Agent field that will be sent.
func withAgent(h http.Header, agent string) http.Header {
	c := make(http.Header, len(h)+1)
	for name, lines := range h {
		c[name] = lines
	}
	c["Signature-Agent"] = []string{agent}
	return c
}

// newNonce returns 32 random bytes, encoded as text. They never repeat in practice.
func newNonce() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // Read never fails
	return base64.StdEncoding.EncodeToString(b)
}
