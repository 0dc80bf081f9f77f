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

// signatureLifetime is the validity of a request's signature. The draft allows 24 hours, but nobody needs to replay
// a crawler's request.
const signatureLifetime = 5 * time.Minute

// Errors of [Signer.Sign], wrapped.
var (
	// errInsecure is for a request over http: anybody on the way could replay its signature.
	errInsecure = errors.New("identity: requests over http are not signed")
	// errNoKey is for a time at which no key is valid, or for a Challenge that wants another key.
	errNoKey = errors.New("identity: no key to sign with")
)

// Signed are the three fields of a signed request (httpsig-protocol-01 section 5.2.5). The zero Signed is
// of a request that is not signed.
type Signed struct {
	Agent     string // Signature-Agent
	Input     string // Signature-Input
	Signature string // Signature
	KeyID     string // of the key: what a ledger records
}

// Set puts the fields into the header of the request that was signed. It takes out those of an earlier
// signature; a zero Signed leaves none.
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

// signingKey is a key and the time at which it may be used.
type signingKey struct {
	*Key
	window PublicKey
}

// NewSigner makes a Signer with one key that has no limits in time. agent is the URL that is sent as
// Signature-Agent: an https URL at which the key directory is served, without user information and
// fragment. A key that is printed in a standard is refused.
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

// Agent is the URL that is sent as Signature-Agent.
func (s *Signer) Agent() string { return s.agent }

// key is the newest one that may be used.
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

// Sign signs a request that is about to be sent, to the Challenge's wishes. The signature covers method,
// authority, path, the Signature-Agent and what the Challenge names besides; it is valid for
// five minutes, and has a nonce. Each hop of a redirect is another request and needs another signature.
//
// The error says that the request goes over http, that no key is valid, or which component of the Challenge it lacks.
// m.Header must hold the fields that are to be sent, where the Challenge names some; Sign does not change it.
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

// requestInput returns the components that the signature of a request covers, and its parameters in the order of the drafts'
// examples.
func requestInput(k *signingKey, c Challenge, now time.Time) httpsfv.InnerList {
	var items []httpsfv.Item
	for _, name := range slices.Concat(covered, c.Cover) {
		items = append(items, component(name))
	}
	items = append(items, component("signature-agent", "key", c.Label))
	expires := now.Add(signatureLifetime)
	if e := k.window.Expires; !e.IsZero() && e.Before(expires) {
		expires = e // the directory drops the key then
	}
	return inputOf(items, "created", now.Unix(), "keyid", k.id, "alg", algorithm, "expires", expires.Unix(), "nonce", c.Nonce, "tag", tagRequest)
}

// inputOf is a member of Signature-Input. Parameters are names and values in turn.
func inputOf(items []httpsfv.Item, params ...any) httpsfv.InnerList {
	p := httpsfv.NewParams()
	for i := 0; i+1 < len(params); i += 2 {
		p.Add(params[i].(string), params[i+1])
	}
	return httpsfv.InnerList{Items: items, Params: p}
}

// sign makes a member of Signature-Input and of Signature (RFC 9421 section 3.1).
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

// agentField is the Signature-Agent field in the form of a dictionary.
func agentField(label, agent string) (string, error) {
	d := httpsfv.NewDictionary()
	d.Add(label, httpsfv.NewItem(agent))
	return marshal(d)
}

// withAgent returns a copy of h with Signature-Agent as it will be sent.
func withAgent(h http.Header, agent string) http.Header {
	c := make(http.Header, len(h)+1)
	for name, lines := range h {
		c[name] = lines
	}
	c["Signature-Agent"] = []string{agent}
	return c
}

// newNonce is 32 random bytes: nobody meets the same one twice.
func newNonce() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}
