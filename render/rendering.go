package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Rendering controls the rendering of one page from its first round to its last. Between two rounds, the crawler requests missing
// resources, one at a time, and stores the Rendering as Records:
//
//	r, err := render.Begin(policy, store, url, document, rule, fetched)
//	for {
//		result, err := renderer.Round(ctx, r.Task(agent, now))
//		if r.Took(result) {
//			break // result is final; commit r.End(key) with the page's end
//		}
//		for want, ok := r.Next(now); ok; want, ok = r.Next(now) {
//			// request it; then r.Answered or r.Refused; commit r.Records(key, now) with whatever else has changed
//		}
//	}
//
// After a restart, [Resume] restores a Rendering from the value that was committed last under the same key, with all answers committed
// until then. A Rendering must not be used concurrently; its Store and Policy may be shared.
type Rendering struct {
	policy  *Policy
	store   *Store
	state   state
	page    weburl.URL
	doc     *Answer
	now     time.Time // start time of the round
	closing string    // reason code with which this round refuses requests without an answer
	pending []Record  // Records of the store that Records has not returned yet
	known   map[string]int
	written []byte // state as last returned by Records
}

// state is the written form of a Rendering.
type state struct {
	URL      string    `json:"url"`
	Why      string    `json:"why"`
	Time     time.Time `json:"time"`
	Document address   `json:"document"`
	First    time.Time `json:"first,omitzero"`   // start of the first round
	Written  time.Time `json:"written,omitzero"` // time at which the state was last written
	Rounds   int       `json:"rounds"`
	Attached *address  `json:"attached,omitempty"`
	Wants    []wanted  `json:"wants,omitempty"`

	Processor time.Duration `json:"processor,omitzero"` // processor time of all rounds
}

// wanted is a request that the Policy permits regardless of the page's other requests. Requests are in the page's order.
type wanted struct {
	URL     string   `json:"url"`
	Kind    Kind     `json:"kind"`
	Accept  string   `json:"accept,omitempty"`
	Ref     *address `json:"ref,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

func (w *wanted) open() bool { return w.Ref == nil && w.Refused == "" }

func (s *state) refs() []address {
	refs := []address{s.Document}
	if s.Attached != nil {
		refs = append(refs, *s.Attached)
	}
	for i := range s.Wants {
		if s.Wants[i].Ref != nil {
			refs = append(refs, *s.Wants[i].Ref)
		}
	}
	return refs
}

// Begin starts the rendering of a page that was fetched at the time at. why is the rule of Policy.Decide that selected the page. The error
// is ErrFull or the store's own.
func Begin(p *Policy, s *Store, u weburl.URL, document *Answer, why string, at time.Time) (*Rendering, error) {
	ref, err := s.keep(document)
	if err != nil {
		return nil, err
	}
	r := &Rendering{policy: p, store: s, page: u, doc: document, known: map[string]int{}}
	r.state = state{URL: u.String(), Why: why, Time: at.UTC(), Document: ref}
	return r, nil
}

// Attach stores the crawler's data about the page. After Resume, Attached returns it.
func (r *Rendering) Attach(b []byte) error {
	ref := address(sha256.Sum256(b))
	if err := r.store.box.put(ref, b); err != nil {
		return err
	}
	r.state.Attached = &ref
	return nil
}

// Attached returns the data stored by Attach. If there is none, or it is damaged, it returns ErrGone: the page must be fetched again.
func (r *Rendering) Attached() ([]byte, error) {
	if r.state.Attached == nil {
		return nil, ErrGone
	}
	b, err := r.store.box.get(*r.state.Attached)
	if err != nil || sha256.Sum256(b) != *r.state.Attached {
		return nil, ErrGone
	}
	return b, nil
}

// Resume restores a Rendering from the value of its Record. The time since the Record was written does not count toward MaxWait. The error
// is ErrGone if the page must be fetched again; any other error means that the value is not that of a Rendering.
func Resume(p *Policy, s *Store, value []byte, now time.Time) (*Rendering, error) {
	r := &Rendering{policy: p, store: s, known: map[string]int{}}
	err := json.Unmarshal(value, &r.state)
	if err == nil {
		r.page, err = weburl.Parse(r.state.URL)
	}
	if err != nil {
		return nil, fmt.Errorf("render: the state of a rendering cannot be read: %w", err)
	}
	if !r.state.First.IsZero() && !r.state.Written.IsZero() {
		r.state.First = r.state.First.Add(now.UTC().Sub(r.state.Written))
	}
	if err := r.hold(); err != nil {
		return nil, err
	}
	if r.doc, err = s.get(r.state.Document); err != nil {
		s.release(r.state.refs()...)
		return nil, err
	}
	return r, nil
}

// hold marks the answers that a resumed Rendering needs as used. Answers that were lost must be requested again.
func (r *Rendering) hold() error {
	if err := r.store.box.hold(r.state.Document); err != nil {
		return err
	}
	if r.state.Attached != nil && r.store.box.hold(*r.state.Attached) != nil {
		r.state.Attached = nil
	}
	for i := range r.state.Wants {
		x := &r.state.Wants[i]
		r.known[x.URL] = i
		if x.Ref != nil && r.store.box.hold(*x.Ref) != nil {
			x.Ref = nil
		}
	}
	return nil
}

// URL returns the URL of the page.
func (r *Rendering) URL() weburl.URL { return r.page }

// Document returns the page as it was fetched, and the time at which it was fetched.
func (r *Rendering) Document() (*Answer, time.Time) { return r.doc, r.state.Time }

// Why returns the rule that selected the page for rendering.
func (r *Rendering) Why() string { return r.state.Why }

// Deadline returns the time after which nothing more is requested for the page, so that the next round is the last. It is the start of the
// first round plus MaxWait of the Policy; before the first round, it is MaxWait in the future.
func (r *Rendering) Deadline() time.Time {
	first := r.state.First
	if first.IsZero() {
		first = time.Now()
	}
	return first.Add(r.policy.maxWait())
}

// Rounds returns the number of rounds so far.
func (r *Rendering) Rounds() int { return r.state.Rounds }

// Task returns the next round. If the Policy allows no more rounds after it, or too much time has passed since the first round, the Task
// refuses requests that have no answer.
func (r *Rendering) Task(agent string, now time.Time) Task {
	if r.state.First.IsZero() {
		r.state.First = now.UTC()
	}
	r.now, r.closing = now, ""
	if now.Sub(r.state.First) >= r.policy.maxWait() {
		r.closing = reasonWait
	} else if r.state.Rounds+1 >= r.policy.maxRounds() {
		r.closing = reasonRounds
	}
	seed := sha256.Sum256([]byte(r.state.URL))
	return Task{
		URL: r.page, Document: *r.doc, Agent: agent, Time: r.state.Time, Seed: binary.BigEndian.Uint64(seed[:]),
		Have: r.have, Screenshot: r.policy.Screenshot, MaxProcessor: max(1, orDefault(r.policy.MaxProcessor, DefaultMaxProcessor)-r.state.Processor),
	}
}

// have returns the decision about a request of the page, as Task.Have.
func (r *Rendering) have(w Want) Decision {
	if reason := r.policy.Refuses(r.page, w); reason != "" {
		return Decision{Refuse: reason}
	}
	i, ok := r.known[w.URL.String()]
	if !ok {
		if reason := r.over(w); reason != "" {
			return Decision{Refuse: reason}
		}
		i = r.add(w)
	}
	x := &r.state.Wants[i]
	if x.open() && r.closing != "" {
		x.Refused = r.closing
	}
	if x.Refused != "" {
		return Decision{Refuse: x.Refused}
	}
	return Decision{Answer: r.answer(x)}
}

// add lists a request and returns its index. It uses an answer brought by a request of another page, if that may serve this one.
func (r *Rendering) add(w Want) int {
	x := wanted{URL: w.URL.String(), Kind: w.Kind, Accept: w.Accept}
	if ref, ok := r.store.fresh(w, r.now); ok {
		x.Ref = &ref
	}
	r.known[x.URL] = len(r.state.Wants)
	r.state.Wants = append(r.state.Wants, x)
	return len(r.state.Wants) - 1
}

// answer returns the stored answer to a request; nil if there is none or it is lost.
func (r *Rendering) answer(x *wanted) *Answer {
	if x.Ref == nil {
		return nil
	}
	a, err := r.store.get(*x.Ref)
	if err != nil {
		x.Ref = nil
		return nil
	}
	return a
}

// over returns the reason code of the Policy's limit that one more request would exceed, or "".
func (r *Rendering) over(w Want) string {
	if len(r.state.Wants) >= r.policy.maxRequests() {
		return reasonRequests
	}
	if r.policy.Hosts != "" || w.URL.Domain() == r.page.Domain() {
		return ""
	}
	origins := []string{}
	for i := range r.state.Wants {
		u, err := weburl.Parse(r.state.Wants[i].URL)
		if err == nil && u.Domain() != r.page.Domain() && !slices.Contains(origins, u.Origin()) {
			origins = append(origins, u.Origin())
		}
	}
	if len(origins) >= r.policy.maxOrigins() && !slices.Contains(origins, w.URL.Origin()) {
		return ReasonHost
	}
	return ""
}

// Took records the result of a round and reports whether it is final. If it is not, Next returns the requests to make.
func (r *Rendering) Took(res *Result) bool {
	r.state.Rounds++
	r.state.Processor += res.Processor
	if len(res.Missing) > 0 {
		return false
	}
	if res.Cut == "" && slices.ContainsFunc(r.state.Wants, func(w wanted) bool { return w.Refused == reasonWait }) {
		res.Cut = cutWait
	}
	if res.Cut == "" && slices.ContainsFunc(r.state.Wants, func(w wanted) bool { return w.Refused == reasonRounds }) {
		res.Cut = cutRounds
	}
	return true
}

// Next returns the first request of the page that has no answer. It returns false if there is none: then the next round can begin. It also
// uses answers that requests of other pages have brought meanwhile.
func (r *Rendering) Next(now time.Time) (Want, bool) {
	for i := range r.state.Wants {
		x := &r.state.Wants[i]
		if !x.open() {
			continue
		}
		u, err := weburl.Parse(x.URL)
		if err != nil {
			x.Refused = weburl.ReasonOf(err)
			continue
		}
		w := Want{URL: u, Method: "GET", Kind: x.Kind, Accept: x.Accept}
		ref, ok := r.store.fresh(w, now)
		if !ok {
			return w, true
		}
		x.Ref = &ref
	}
	return Want{}, false
}

// Answered stores the answer to a Want returned by Next; at is the time of its arrival. If the store is full, the Want counts as refused.
func (r *Rendering) Answered(w Want, a *Answer, at time.Time) {
	i, ok := r.known[w.URL.String()]
	if !ok || !r.state.Wants[i].open() {
		return
	}
	ref, records, err := r.store.put(w, a, at)
	if err != nil {
		r.state.Wants[i].Refused = reasonStore
		return
	}
	r.state.Wants[i].Ref = &ref
	r.pending = append(r.pending, records...)
}

// Refused records that a Want returned by Next will have no answer. reason is a code of the gate, the fetcher or this package.
func (r *Rendering) Refused(w Want, reason string) {
	if i, ok := r.known[w.URL.String()]; ok && r.state.Wants[i].open() {
		r.state.Wants[i].Refused = reason
	}
}

// Records returns the Records that the crawler must commit together with the claim that it returns to the frontier, so that a restarted
// process can call Resume. They are the Rendering, unless it is unchanged, under key, which should begin with PrefixPage; and new Records
// of the store since the last call.
func (r *Rendering) Records(key string, now time.Time) ([]Record, error) {
	written := r.state.Written
	r.state.Written = time.Time{}
	b, err := json.Marshal(&r.state)
	r.state.Written = written
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	records := r.pending
	r.pending = nil
	if bytes.Equal(b, r.written) {
		return records, nil
	}
	r.written, r.state.Written = b, now.UTC()
	if b, err = json.Marshal(&r.state); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return append(records, Record{key, b}), nil
}

// End releases the Rendering's answers in the store. It returns the Records that the crawler must commit together with the page's end,
// under the key of Records. Call it once, after a final result or when the page is given up, but not for a Rendering that is to be resumed.
func (r *Rendering) End(key string) []Record {
	r.store.release(r.state.refs()...)
	records := append(r.pending, Record{Key: key})
	r.pending = nil
	return records
}
