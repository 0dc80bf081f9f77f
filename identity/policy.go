package identity

import (
	"cmp"
	"container/list"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mode says which requests are signed.
type Mode uint8

// Modes.
const (
	Challenged Mode = iota // those to sites that have requested signatures: the default
	Never                  // none
	Always                 // all over https
)

// parseMode returns the mode named "never", "challenged" or "always".
func parseMode(s string) (Mode, error) {
	for _, m := range []Mode{Challenged, Never, Always} {
		if m.String() == s {
			return m, nil
		}
	}
	return Challenged, fmt.Errorf("identity: %q is not one of never, challenged and always", printable(s))
}

// String returns "never", "challenged" or "always".
func (m Mode) String() string {
	switch m {
	case Never:
		return "never"
	case Always:
		return "always"
	}
	return "challenged"
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts "never", "challenged" and "always".
func (m *Mode) UnmarshalText(b []byte) (err error) {
	*m, err = parseMode(string(b))
	return err
}

const (
	// maxOrigins bounds what a Policy remembers. An origin that is forgotten asks once more.
	maxOrigins = 10000
	// maxRejected limits the consecutive signatures that an origin requests and then rejects. After that its
	// challenges are not answered: a site must not make a crawler ask twice for every page.
	maxRejected = 3
	// skewWorthTelling is a difference of clocks that makes signatures fail.
	skewWorthTelling = 30 * time.Second
)

// Policy decides which requests are signed and which challenges answered, and remembers what each origin
// requested. It makes no request and reads no clock. It is safe for concurrent use.
//
// A challenge is an answer 401, 403 or 429 with an Accept-Signature field that a [Signer] can fulfil. It is
// answered by asking for the same URL once more, signed, and the origin's requests are signed from then on.
// A nonce that it names is used once. An answer to a request that answered a challenge is never answered
// again.
type Policy struct {
	mode   Mode
	signer *Signer

	mu      sync.Mutex
	origins map[string]*list.Element // of *memory
	recent  *list.List               // the front was used last
}

// memory holds the state of an origin that has requested signatures.
type memory struct {
	origin    string
	challenge Challenge // with a nonce until it is used
	rejected  int       // consecutive
}

// NewPolicy makes a Policy. signer may be nil when mode is [Never].
func NewPolicy(mode Mode, signer *Signer) *Policy {
	if signer == nil {
		mode = Never
	}
	return &Policy{mode: mode, signer: signer, origins: map[string]*list.Element{}, recent: list.New()}
}

// Mode is the mode that the Policy was made with; [Never] without a signer.
func (p *Policy) Mode() Mode { return p.mode }

// Sign signs a request that is about to leave, or does not: then the result is the zero Signed. Requests
// over http are never signed. An error means that a signature was due and could not be made, as
// [Signer.Sign] says; the request may leave unsigned.
func (p *Policy) Sign(m Message, now time.Time) (Signed, error) {
	if p.mode == Never || !strings.EqualFold(m.Scheme, "https") {
		return Signed{}, nil
	}
	c, wanted := p.take(origin(&m))
	if !wanted && p.mode == Challenged {
		return Signed{}, nil
	}
	return p.signer.Sign(m, c, now)
}

// take returns the origin's Challenge and uses up its nonce.
func (p *Policy) take(origin string) (Challenge, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.origins[origin]
	if !ok {
		return Challenge{}, false
	}
	p.recent.MoveToFront(e)
	o := e.Value.(*memory)
	if o.rejected >= maxRejected {
		return Challenge{}, false
	}
	c := o.challenge
	o.challenge.Nonce = ""
	return c, true
}

// Answer holds the parts of an answer that a Policy needs.
type Answer struct {
	Request Message // that was sent; its Header is not read
	Signed  Signed  // as it was sent
	Again   bool    // the request was made to answer a challenge
	Status  int
	Header  http.Header
	Time    time.Time // when the answer came
}

// Verdict holds the conclusions from an answer.
type Verdict struct {
	// Again: the URL is to be requested once more, after the pause that its host is owed. The request will
	// be signed as the site asked.
	Again bool
	// Rejected: a signed request was answered by a challenge. Note says what may be the cause.
	Rejected bool
	// Skew is the site's clock minus ours, for a Rejected request whose answer has a Date; 0 when it
	// is less than 30 seconds.
	Skew time.Duration
	// Note is a sentence for the log; "" when there is nothing to say.
	Note string
}

// Answer takes in an answer.
func (p *Policy) Answer(a Answer) Verdict {
	if p.mode == Never || !strings.EqualFold(a.Request.Scheme, "https") {
		return Verdict{}
	}
	challenges := a.Header.Values("Accept-Signature")
	if a.Status != http.StatusUnauthorized && a.Status != http.StatusForbidden && a.Status != http.StatusTooManyRequests {
		p.accepted(&a)
		return Verdict{}
	}
	if len(challenges) == 0 {
		return Verdict{}
	}
	c, err := parseChallenge(challenges)
	if err == nil && p.signer.key(a.Time, c.KeyID) == nil {
		err = p.signer.noKey(c.KeyID)
	}
	if err != nil {
		return Verdict{Note: fmt.Sprintf("%s asks for a signature that cannot be made: %v", printable(a.Request.Authority), err)}
	}
	return p.challenged(&a, c)
}

// accepted notes that a signed request was not challenged.
func (p *Policy) accepted(a *Answer) {
	if a.Signed == (Signed{}) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.origins[origin(&a.Request)]; ok {
		e.Value.(*memory).rejected = 0
	}
}

// challenged decides whether a challenge is answered.
func (p *Policy) challenged(a *Answer, c Challenge) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.remember(origin(&a.Request))
	v := Verdict{Rejected: a.Again || a.Signed != (Signed{})}
	if v.Rejected {
		v.Skew, v.Note = skew(a)
	}
	// A second answer is not given. Nor is a first one that would be as the signature that was turned down.
	if a.Again || v.Rejected && !o.challenge.another(&c, a.Signed.KeyID) {
		if o.rejected++; o.rejected == maxRejected {
			v.Note += fmt.Sprintf("; it was the last of %d consecutive ones: its challenges are no longer answered", maxRejected)
		}
	} else {
		v.Again = o.rejected < maxRejected
	}
	o.challenge = c
	return v
}

// another reports whether what is wanted now makes another signature than c did, with that key.
func (c *Challenge) another(wanted *Challenge, keyID string) bool {
	return wanted.Nonce != "" || wanted.Label != cmp.Or(c.Label, defaultLabel) || wanted.KeyID != "" && wanted.KeyID != keyID ||
		slices.ContainsFunc(wanted.Cover, func(w string) bool { return !slices.Contains(c.Cover, w) })
}

// remember returns the memory of an origin, creating it if needed. The least recently used one is evicted.
func (p *Policy) remember(origin string) *memory {
	if e, ok := p.origins[origin]; ok {
		p.recent.MoveToFront(e)
		return e.Value.(*memory)
	}
	if len(p.origins) >= maxOrigins {
		last := p.recent.Back()
		delete(p.origins, last.Value.(*memory).origin)
		p.recent.Remove(last)
	}
	o := &memory{origin: origin}
	p.origins[origin] = p.recent.PushFront(o)
	return o
}

// skew returns how far the clocks are apart, by the answer's Date, and the likely cause of a rejected signature.
func skew(a *Answer) (time.Duration, string) {
	host := printable(a.Request.Authority)
	date, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return 0, host + " did not accept the signature"
	}
	d := date.Sub(a.Time).Round(time.Second)
	switch {
	case d >= skewWorthTelling:
		return d, fmt.Sprintf("%s did not accept the signature: its clock is %v ahead of this machine's; one of the two is wrong", host, d)
	case -d >= skewWorthTelling:
		return d, fmt.Sprintf("%s did not accept the signature: its clock is %v behind this machine's; one of the two is wrong", host, -d)
	}
	return 0, host + " did not accept the signature, although the clocks agree: does it know the key directory?"
}

// origin is scheme and authority, in one spelling.
func origin(m *Message) string { return strings.ToLower(m.Scheme) + "://" + m.authority() }
