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

// Mode selects the requests that are signed.
type Mode uint8

// Modes.
const (
	Challenged Mode = iota // signs requests to sites that have asked for signatures: the default
	Never                  // signs no requests
	Always                 // signs all https requests
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
	// maxOrigins limits the origins that a Policy remembers. A forgotten origin must ask again.
	maxOrigins = 10000
	// maxRejected limits how many signatures in a row an origin may request and then reject. After that its challenges are ignored, so that a
	// site cannot make a crawler request every page twice.
	maxRejected = 3
	// skewWorthTelling is the minimum clock skew that is reported as a likely cause of a rejection.
	skewWorthTelling = 30 * time.Second
)

// Policy decides which requests are signed and which challenges are answered. It remembers the challenge of each origin. It makes no
// requests and reads no clock. It is safe for concurrent use.
//
// A challenge is a response with status 401, 403 or 429 and an Accept-Signature field that a [Signer] can fulfil. To answer it, the crawler
// requests the same URL once more, signed; from then on, all requests to the origin are signed. A nonce in a challenge is used only once.
// If the repeated request gets a challenge, too, that one is not answered.
type Policy struct {
	mode   Mode
	signer *Signer

	mu      sync.Mutex
	origins map[string]*list.Element // origins by name; the elements hold *memory
	recent  *list.List               // elements hold *memory, most recently used first
}

// memory is the state of an origin that has requested signatures.
type memory struct {
	origin    string
	challenge Challenge // has a nonce until the nonce is used
	rejected  int       // number of consecutive rejections
}

// NewPolicy returns a Policy. signer may be nil if mode is [Never].
func NewPolicy(mode Mode, signer *Signer) *Policy {
	if signer == nil {
		mode = Never
	}
	return &Policy{mode: mode, signer: signer, origins: map[string]*list.Element{}, recent: list.New()}
}

// Mode returns the mode of the Policy; [Never] without a signer.
func (p *Policy) Mode() Mode { return p.mode }

// Sign signs a request that is about to be sent, or returns the zero Signed if the request should not be signed. Requests over http are
// never signed. An error means that the signature could not be made (see [Signer.Sign]); the request may be sent unsigned.
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

// take returns the origin's Challenge, and removes the nonce from it.
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

// Answer holds the parts of a response that a Policy needs.
type Answer struct {
	Request Message // request that was sent, whose Header is not read
	Signed  Signed  // signature of the request
	Again   bool    // whether the request was sent to answer a challenge
	Status  int
	Header  http.Header
	Time    time.Time // time of the response
}

// Verdict holds what a Policy concludes from an Answer.
type Verdict struct {
	// Again is set if the URL must be requested once more, after the host's required delay. The request will be signed as the site asked.
	Again bool
	// Rejected is set if a signed request got a challenge. Then Note describes the likely cause.
	Rejected bool
	// Skew is the site's clock minus this machine's, for a Rejected request whose response has a Date; 0 if it is less than 30 seconds.
	Skew time.Duration
	// Note is a sentence for the log; it may be "".
	Note string
}

// Answer processes the response to a request.
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

// accepted records that a signed request got no challenge.
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
	// A second challenge is not answered, nor is a first one if the new signature would equal the rejected one.
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

// another reports whether wanted requires a different signature, with that key, than c does.
func (c *Challenge) another(wanted *Challenge, keyID string) bool {
	return wanted.Nonce != "" || wanted.Label != cmp.Or(c.Label, defaultLabel) || wanted.KeyID != "" && wanted.KeyID != keyID ||
		slices.ContainsFunc(wanted.Cover, func(w string) bool { return !slices.Contains(c.Cover, w) })
}

// remember returns the memory of an origin. If there is none, it creates it, and may evict the least recently used one.
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

// skew returns the clock skew, measured by the response's Date, and the likely cause of a rejected signature.
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

// origin returns the scheme and authority, normalized.
func origin(m *Message) string { return strings.ToLower(m.Scheme) + "://" + m.authority() }
