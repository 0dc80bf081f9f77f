package identity

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"
)

// Reason is the stable code of a [VerifyError]:
//
//	unsigned       there is no signature with the tag web-bot-auth
//	insecure       the request came over http
//	malformed      a field is invalid, or a component is missing
//	not_covered    the signature does not cover a required component
//	expired        the signature has expired
//	too_early      the signature was created in the future: a clock is wrong
//	too_long       the signature is valid for longer than the verifier allows
//	unknown_key    the directory could not be read or has no such key
//	bad_signature  the signature does not match the request and the key
//	replayed       the nonce of the signature was already used
type Reason string

// The codes of [Reason].
const (
	reasonUnsigned   Reason = "unsigned"
	reasonInsecure   Reason = "insecure"
	reasonMalformed  Reason = "malformed"
	reasonNotCovered Reason = "not_covered"
	reasonExpired    Reason = "expired"
	reasonTooEarly   Reason = "too_early"
	reasonTooLong    Reason = "too_long"
	reasonKey        Reason = "unknown_key"
	reasonSignature  Reason = "bad_signature"
	reasonReplayed   Reason = "replayed"
)

// VerifyError is the reason why a request was not accepted.
type VerifyError struct {
	Reason Reason
	Detail string // details for a person
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("identity: %s: %s", e.Reason, e.Detail)
}

// Unverified reports whether the verifier was unable to decide. Then the request should be treated as unsigned, and not as a forgery
// (httpsig-protocol-01 appendix C.1).
func (e *VerifyError) Unverified() bool { return e.Reason == reasonUnsigned || e.Reason == reasonKey }

func refuse(r Reason, format string, args ...any) error {
	return &VerifyError{Reason: r, Detail: fmt.Sprintf(format, args...)}
}

// Verified is an accepted signature.
type Verified struct {
	Agent   string // the Signature-Agent covered by the signature, which says whose request it is
	KeyID   string
	Label   string
	Nonce   string // "" if the signature has no nonce
	Created time.Time
	Expires time.Time
	Covered []string // identifiers of the covered components, as signed
}

// Defaults of a [Verifier].
const (
	defaultMaxLifetime = 24 * time.Hour   // httpsig-protocol-01 section 5.2
	defaultSkew        = 30 * time.Second // chosen by this package
)

// Verifier checks signed requests (RFC 9421 section 3.2, httpsig-protocol-01 section 5.4). It is safe for
// concurrent use when Keys is.
type Verifier struct {
	// Keys returns the key with an ID from the directory at agent, or an error if there is none or the directory could not be read. A key
	// belongs to one agent: Keys must not return keys of another agent. agent is untrusted text from the client. Required.
	Keys func(agent, keyID string) (PublicKey, error)
	// Nonces detects repeated signatures. nil: replays are not detected.
	Nonces *Nonces

	MaxLifetime time.Duration // maximum time from created to expires. 0: 24 hours
	Skew        time.Duration // tolerated clock skew. 0: 30 seconds
}

// maxSignatures limits the number of signatures of a request that are checked.
const maxSignatures = 4

// Verify returns the first valid signature of the request. The error is a *[VerifyError] about the last signature that was checked.
func (v *Verifier) Verify(m Message, now time.Time) (*Verified, error) {
	inputs, signatures, agents, err := v.fields(&m)
	if err != nil {
		return nil, err
	}
	err = refuse(reasonUnsigned, "no signature has the tag %q", tagRequest)
	looked := 0
	for _, label := range inputs.Names() {
		l, lerr := innerList(inputs, label)
		if lerr != nil {
			err = refuse(reasonMalformed, "Signature-Input: %v", lerr)
			continue
		}
		if tag, _, _ := stringParam(l.Params, "tag"); tag != tagRequest {
			continue
		}
		if looked++; looked > maxSignatures {
			break
		}
		var ok *Verified
		if ok, err = v.one(&m, label, l, signatures, agents, now); err == nil {
			return ok, nil
		}
	}
	return nil, err
}

// fields parses the three fields of a signed request.
func (v *Verifier) fields(m *Message) (inputs, signatures, agents *httpsfv.Dictionary, err error) {
	if m.Scheme != "https" {
		return nil, nil, nil, refuse(reasonInsecure, "a signature in clear text can be replayed by anybody on the way")
	}
	if len(m.Header.Values("Signature-Input")) == 0 {
		return nil, nil, nil, refuse(reasonUnsigned, "no Signature-Input field")
	}
	parse := func(name string) *httpsfv.Dictionary {
		d, derr := dictionary(m.Header.Values(name))
		if derr != nil && err == nil {
			err = refuse(reasonMalformed, "%s: %v", name, derr)
		}
		return d
	}
	inputs, signatures, agents = parse("Signature-Input"), parse("Signature"), parse("Signature-Agent")
	return inputs, signatures, agents, err
}

// one checks one signature: first its parameters, then whether it is valid, finally whether it is new.
func (v *Verifier) one(m *Message, label string, l httpsfv.InnerList, signatures, agents *httpsfv.Dictionary, now time.Time) (*Verified, error) {
	sig, err := bytesItem(signatures, label)
	if err != nil {
		return nil, refuse(reasonMalformed, "Signature: %v", err)
	}
	got := &Verified{Label: label}
	if err := got.params(l.Params); err != nil {
		return nil, refuse(reasonMalformed, "Signature-Input: %v", err)
	}
	if err := got.components(l); err != nil {
		return nil, err
	}
	if err := got.agent(l, agents); err != nil {
		return nil, err
	}
	if err := v.times(got, now); err != nil {
		return nil, err
	}
	if err := v.check(m, l, got, sig, now); err != nil {
		return nil, err
	}
	if v.Nonces != nil && !v.Nonces.use(got, now.Add(-v.skew())) {
		return nil, refuse(reasonReplayed, "its nonce is missing or was used before, or too many are kept")
	}
	return got, nil
}

func (g *Verified) params(p *httpsfv.Params) (err error) {
	if g.Created, err = timeParam(p, "created"); err != nil {
		return err
	}
	if g.Expires, err = timeParam(p, "expires"); err != nil {
		return err
	}
	var ok bool
	if g.KeyID, ok, err = stringParam(p, "keyid"); err != nil || !ok {
		return errors.Join(err, errors.New("keyid is missing"))
	}
	if g.Nonce, _, err = stringParam(p, "nonce"); err != nil {
		return err
	}
	if alg, ok, err := stringParam(p, "alg"); err != nil || ok && alg != algorithm {
		return fmt.Errorf("alg is %q, not %q", printable(alg), algorithm)
	}
	return nil
}

func timeParam(p *httpsfv.Params, name string) (time.Time, error) {
	v, _ := p.Get(name)
	s, ok := v.(int64)
	if !ok || s < 0 || s > maxUnix {
		return time.Time{}, fmt.Errorf("%s is missing or not a number of seconds since 1970", name)
	}
	return time.Unix(s, 0).UTC(), nil
}

// components records the covered components. One of them must identify the site.
func (g *Verified) components(l httpsfv.InnerList) error {
	named := false
	for _, it := range l.Items {
		id, err := marshal(it)
		if err != nil {
			return refuse(reasonMalformed, "Signature-Input: %v", err)
		}
		g.Covered = append(g.Covered, id)
		named = named || id == `"@authority"` || id == `"@target-uri"`
	}
	if !named {
		return refuse(reasonNotCovered, "neither @authority nor @target-uri is covered: the signature would do for any site")
	}
	return nil
}

// agent finds the Signature-Agent that the signature covers: the one with the signature's label, or else the only one there is. In the
// test vectors of the draft, label and key are different.
func (g *Verified) agent(l httpsfv.InnerList, agents *httpsfv.Dictionary) error {
	var keys []string
	for _, it := range l.Items {
		if key, ok, _ := stringParam(it.Params, "key"); ok && it.Value == "signature-agent" && len(it.Params.Names()) == 1 {
			if key == g.Label {
				keys = []string{key}
				break
			}
			keys = append(keys, key)
		}
	}
	if len(keys) != 1 {
		return refuse(reasonNotCovered, "\"signature-agent\";key=%q is not covered", g.Label)
	}
	agent, params, err := stringItem(agents, keys[0])
	switch {
	case err != nil:
		return refuse(reasonMalformed, "Signature-Agent: %v", err)
	case params:
		return refuse(reasonMalformed, "Signature-Agent: member %q has parameters (httpsig-protocol-01 section 5.2.1)", printable(keys[0]))
	}
	if err := checkAgent(agent); err != nil {
		return refuse(reasonMalformed, "%v", err)
	}
	g.Agent = agent
	return nil
}

func (v *Verifier) skew() time.Duration { return orDefault(v.Skew, defaultSkew) }

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// times checks created and expires. If clocks differ, a signature may appear to be from the future, or expired on arrival; the error's
// detail has the difference.
func (v *Verifier) times(g *Verified, now time.Time) error {
	limit := orDefault(v.MaxLifetime, defaultMaxLifetime)
	switch {
	case g.Created.After(now.Add(v.skew())):
		return refuse(reasonTooEarly, "it was made %v in the future: the signer's clock is ahead, or this one behind", g.Created.Sub(now).Round(time.Second))
	case !g.Expires.After(g.Created):
		return refuse(reasonMalformed, "it expires before it was made")
	case g.Expires.Sub(g.Created) > limit:
		return refuse(reasonTooLong, "it is valid for %v; at most %v is accepted", g.Expires.Sub(g.Created), limit)
	case !now.Before(g.Expires.Add(v.skew())):
		return refuse(reasonExpired, "it was made %v ago and expired %v ago", now.Sub(g.Created).Round(time.Second), now.Sub(g.Expires).Round(time.Second))
	}
	return nil
}

// check verifies the signature with the key that the agent has published.
func (v *Verifier) check(m *Message, l httpsfv.InnerList, g *Verified, sig []byte, now time.Time) error {
	base, err := signatureBase(l, m)
	if err != nil {
		return refuse(reasonMalformed, "%v", err)
	}
	key, err := v.Keys(g.Agent, g.KeyID)
	switch {
	case err != nil:
		return refuse(reasonKey, "key %s of %s: %v", printable(g.KeyID), printable(g.Agent), err)
	case len(key.Key) != ed25519.PublicKeySize || thumbprint(key.Key) != g.KeyID:
		return refuse(reasonKey, "key %s is not the one that %s publishes by that name", printable(g.KeyID), printable(g.Agent))
	case !key.valid(now):
		return refuse(reasonKey, "key %s is not valid at this time", g.KeyID)
	case !ed25519.Verify(key.Key, []byte(base), sig):
		return refuse(reasonSignature, "the signature by key %s is not of this request", g.KeyID)
	}
	return nil
}

// Nonces records used signatures until they expire. Its size is limited: when it is full of signatures that are still valid, it refuses
// others rather than let them pass unchecked. It is safe for concurrent use.
type Nonces struct {
	mu    sync.Mutex
	max   int
	used  map[nonceKey]time.Time // expiry time by nonce
	first time.Time              // lower bound of the expiry times
}

type nonceKey struct{ keyID, nonce string }

// NewNonces returns Nonces for at most limit signatures, and at least one.
func NewNonces(limit int) *Nonces {
	return &Nonces{max: max(limit, 1), used: map[nonceKey]time.Time{}}
}

// use records a signature. It returns false if the signature was used before or there is no room. To make room, it removes signatures that
// expired before the time expired.
func (n *Nonces) use(g *Verified, expired time.Time) bool {
	if g.Nonce == "" || len(g.Nonce) > maxNonce {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := nonceKey{g.KeyID, g.Nonce}
	if _, ok := n.used[k]; ok {
		return false
	}
	if len(n.used) >= n.max && !n.first.After(expired) {
		n.forget(expired)
	}
	if len(n.used) >= n.max {
		return false
	}
	if len(n.used) == 0 || g.Expires.Before(n.first) {
		n.first = g.Expires
	}
	n.used[k] = g.Expires
	return true
}

// forget removes signatures that expired before a time. It visits all signatures, so it is called only when some can be removed.
func (n *Nonces) forget(expired time.Time) {
	first := time.Time{}
	for k, e := range n.used {
		if !e.After(expired) {
			delete(n.used, k)
		} else if first.IsZero() || e.Before(first) {
			first = e
		}
	}
	n.first = first
}
