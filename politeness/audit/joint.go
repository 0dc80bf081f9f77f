package audit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// unmeasuredClock is the assumed error of a machine's clock that has not been compared with others.
const unmeasuredClock = time.Second

// Part is one of several crawls that are checked together.
type Part struct {
	Name    string                                   // shown in the report
	Open    func() (ledger io.ReadCloser, err error) // called twice; only one ledger is open at a time
	Config  Config
	Body    Body   // called while the ledger is open
	Machine string // machine whose time the ledger uses, unless Config.Processes has measurements
}

// Joint is the result of [CheckTogether].
type Joint struct {
	Parts    []string `json:"jobs"`
	Requests int      `json:"requests"` // number of requests in all ledgers
	// Shared counts the hosts, addresses and domains that several parts have requested.
	Shared int `json:"shared"`
	// Unproven counts requests that began too early by less than the clocks of two machines may have differed.
	Unproven   int              `json:"unproven"`
	Violations []JointViolation `json:"violations"`
	Notes      []string         `json:"notes"`
}

// JointViolation is a request of one part that came too early after a request of another one.
type JointViolation struct {
	Invariant string       `json:"invariant"` // P1, P3 to P8, rate or hours
	Host      string       `json:"host"`
	Lines     [2]JointLine `json:"lines"` // lines of the request and of the earlier request by another crawl
	Message   string       `json:"message"`
}

// JointLine is a line of the ledger of one part.
type JointLine struct {
	Part string `json:"job"`
	Line int    `json:"line"`
}

func (v JointViolation) String() string {
	return fmt.Sprintf("%s %s: %s (%s line %d, %s line %d)", v.Invariant, v.Host, v.Message, v.Lines[0].Part, v.Lines[0].Line, v.Lines[1].Part, v.Lines[1].Line)
}

// CheckTogether checks the requests of several crawls against each other, as if one crawler had made them. A host, an address other than
// loopback and, if one of the parts has Config.PerDomain, a domain get one request at a time (P3, P6). After each request comes the longest
// pause that either of the two crawls requires (P4 to P6). All crawls obey a Retry-After that one of them received, even that of a redirect
// to another host (P7). A robots.txt that crawls share is requested once while it is fresh, and each copy equals the response to the crawl
// that it names (P1). A failed file is tried again no earlier than by a single crawl (P8). Of two crawls with a Rate on one machine, the
// longer interval applies between the starts of their requests (rate). While a URL of a crawl with hours waits at a host, the hours apply
// to all crawls, from at most five minutes after they end (hours). A note counts the requests of one crawl outside the hours of another,
// whether it waited or not. Pauses after a crawl's own requests are checked by [Check]. A host that both parts own is left out if both may
// request it several times at once. An error means that a ledger cannot be read.
//
// It takes a few hundred bytes of memory for each request of the crawls that ran at the same time, and of each host for each crawl.
func CheckTogether(parts []Part) (*Joint, error) {
	j := &joint{
		keys: map[string]int{}, domains: map[string]bool{}, hourly: map[string][]*part{}, places: map[string]*place{}, led: map[string][]*jointLed{},
		outOf: map[[2]int]int{}, outside: map[outsiders][]*partRequest{}, rated: map[*part][]*partRequest{}, robots: jointRobots{byRun: map[string][]*partRequest{}, last: map[string]*partRequest{}, failed: map[string]*partRequest{}},
		Joint: Joint{Parts: []string{}, Violations: []JointViolation{}, Notes: []string{}},
	}
	for i := range parts {
		if err := j.survey(&parts[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", parts[i].Name, err)
		}
	}
	inTime := slices.SortedStableFunc(slices.Values(j.parts), func(x, y *part) int { return x.begins.Compare(y.begins) })
	for i, p := range inTime {
		if err := j.read(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		slices.SortStableFunc(j.pending, func(x, y *partRequest) int { return x.start.Written.Compare(y.start.Written) })
		n := 0
		for n < len(j.pending) && (i+1 == len(inTime) || j.pending[n].start.Written.Before(inTime[i+1].begins)) {
			j.check(j.pending[n])
			n++
		}
		j.pending = slices.Delete(j.pending, 0, n)
	}
	j.copied()
	j.noteHours()
	if j.Unproven > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d times a request began too early by less than the clocks of two machines may have differed: that is not proven", j.Unproven))
	}
	return &j.Joint, nil
}

// joint is a check in progress. It reads the requests in the order of time, and keeps only requests that it still
// needs.
type joint struct {
	Joint
	parts   []*part
	keys    map[string]int     // keyed by host, address or domain: number of the crawl that requested it, or the constant several
	domains map[string]bool    // keys of domains that have a clock
	hourly  map[string][]*part // keyed by host: crawls that requested the host and have hours
	pending []*partRequest     // requests not checked yet, because a ledger still to be read may have earlier requests
	places  map[string]*place  // keyed by host, address or domain
	led     map[string][]*jointLed
	outOf   map[[2]int]int // number of requests of one crawl outside the hours of another
	outside map[outsiders][]*partRequest
	robots  jointRobots
	rated   map[*part][]*partRequest // requests of crawls with a rate, in the order in which the requests were allowed
	dropped int                      // robots.txt files that were requested again because a lack of space may have removed them
}

// outsiders is the key of requests that other parts made to a host outside the hours of one part,
// since that part's last request to the host.
type outsiders struct {
	host string
	of   *part
}

// several is the number in joint.keys for keys that several parts requested.
const several = -1

// jointLed is a redirect that requests a pause, and the crawl that received it.
type jointLed struct {
	led
	of *part
}

// place holds the constraints that earlier requests to a host, an address or a domain put on the next one.
type place struct {
	last map[*part]*partRequest
	said map[*part]*waits
}

// part is a crawl whose ledger was read.
type part struct {
	auditor
	*Part
	number int
	begins time.Time            // start of the crawl's first request
	runs   map[string]time.Time // the first request of each process
	spans  []span
}

// partRequest is a request with its crawl.
type partRequest struct {
	*request
	of             *part
	backoff, owned time.Duration // back-off of the request's host: backoff before the request, owned after it
}

// open reads the ledger of a part.
func (p *part) open() (*ledger, error) {
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	return read(f, p.processes)
}

// survey records when a crawl begins, and the hosts, addresses and domains that it requests.
func (j *joint) survey(of *Part) error {
	p := &part{Part: of, number: len(j.parts), auditor: auditor{config: of.Config, processes: processesOf(&of.Config), body: of.Body}, runs: map[string]time.Time{}}
	p.spans, _ = spans(of.Config.Hours) // Check reports the error
	l, err := p.open()
	if err != nil {
		return err
	}
	j.parts, j.Parts = append(j.parts, p), append(j.Parts, of.Name)
	j.Requests += len(l.requests)
	for _, r := range l.requests {
		if p.begins.IsZero() || r.start.Written.Before(p.begins) {
			p.begins = r.start.Written
		}
		if at, known := p.runs[r.run]; !known || r.start.Written.Before(at) {
			p.runs[r.run] = r.start.Written
		}
		x := &partRequest{request: r, of: p}
		for _, key := range x.keys() {
			number, known := j.keys[key]
			if !known {
				j.keys[key] = p.number
			} else if number != p.number && number != several {
				j.keys[key] = several
				j.Shared++
			}
			if key[0] == 'd' && of.Config.PerDomain {
				j.domains[key] = true
			}
		}
		if host := j.hourly[r.start.Host]; len(p.spans) > 0 && !slices.Contains(host, p) {
			j.hourly[strings.Clone(r.start.Host)] = append(host, p)
		}
	}
	return nil
}

// keys returns the keys of the host, the address and the domain of a request, as far as crawls share their clocks. The address of
// an own host is not shared, nor is loopback, where each port is another program.
func (r *partRequest) keys() (all []string) {
	all = append(all, "h "+r.start.Host)
	if addr := r.of.address(r.request); addr != "" {
		if ip, err := netip.ParseAddr(addr); err != nil || !ip.Unmap().IsLoopback() {
			all = append(all, "a "+addr)
		}
	}
	if domain := r.of.domain(r.request); domain != "" {
		all = append(all, "d "+domain)
	}
	return all
}

// read reads the requests of a part, and the back-off of each host after each request.
func (j *joint) read(of *part) error {
	l, err := of.open()
	if err != nil {
		return err
	}
	of.files, of.changed, of.rep = map[string]*file{}, map[string]bool{}, &Report{}
	of.rules(l)
	of.files, of.rep = nil, nil
	most := secs(of.config.MaxBackoff)
	pauses := map[string]*backoff{}
	older := 0
	for _, r := range l.requests {
		if r.epoch < len(l.steps) {
			older++
			continue
		}
		b := pauses[r.start.Host]
		if b == nil {
			b = &backoff{}
			pauses[r.start.Host] = b
		}
		b.begin(r, most)
		x := &partRequest{request: r, of: of, backoff: b.pause}
		b.note(r, most)
		x.owned = b.pause
		j.pending = append(j.pending, x)
	}
	for _, r := range l.unsent {
		if r.epoch == len(l.steps) {
			j.robots.unsent(&partRequest{request: r, of: of})
		}
	}
	if older > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d requests of %s were not compared with those of the others: its clock was set back after them", older, of.Name))
	}
	return nil
}

// check checks a request against the requests that began before it.
func (j *joint) check(r *partRequest) {
	for _, key := range r.keys() {
		if j.keys[key] != several || key[0] == 'd' && !j.domains[key] {
			continue
		}
		p := j.places[key]
		if p == nil {
			p = &place{map[*part]*partRequest{}, map[*part]*waits{}}
			j.places[key] = p
		}
		p.forget(r.start.Written)
		if key[0] == 'h' {
			j.host(p, r)
		} else {
			j.sameClock(p, key[2:], r)
		}
		p.last[r.of] = ended(p.last[r.of], r)
	}
	j.redirected(r)
	if host, l := r.of.leads(r.request); host != "" {
		j.led[host] = append(j.led[host], &jointLed{l, r.of})
		slices.SortStableFunc(j.led[host], func(x, y *jointLed) int { return x.known.Compare(y.known) })
	}
	j.sharedRobots(r)
	j.rate(r)
	j.hours(r)
}

// waitTime limits the time that a crawl needs to register its wait at each host, after its hours have ended or its process
// has begun. From then on its hours bind the other crawls, too.
const waitTime = 5 * time.Minute

// hours checks the requests of other parts to r's host that were made outside the hours of r's part while r waited. Only r shows that it
// waited: its URL was queued before those requests.
func (j *joint) hours(r *partRequest) {
	mine := outsiders{r.start.Host, r.of}
	for _, x := range j.outside[mine] {
		from := x.start.Allowed.Add(-waitTime)
		if !r.start.Queued.IsZero() && r.start.Queued.Before(from) && r.of.runs[r.run].Before(from) {
			j.violation("hours", x, r, "allowed at %s, outside of the hours %s of a crawl that waited for the host", stamp(x.start.Allowed), strings.Join(r.of.config.Hours, ", "))
		}
	}
	delete(j.outside, mine)
	for _, other := range j.hourly[r.start.Host] {
		if other == r.of || !outside(other.spans, r.start.Allowed) {
			continue
		}
		j.outOf[[2]int{r.of.number, other.number}]++
		if outside(other.spans, r.start.Allowed.Add(-waitTime)) && outside(other.spans, r.start.Allowed.Add(r.error())) {
			key := outsiders{r.start.Host, other}
			j.outside[key] = append(j.outside[key], r)
		}
	}
}

// forget removes requests that cannot require a pause any more at this time: no pause lasts a day, unless the host
// requested it.
func (p *place) forget(now time.Time) {
	maps.DeleteFunc(p.last, func(_ *part, r *partRequest) bool { return now.Sub(r.over()) > 24*time.Hour+r.after })
	maps.DeleteFunc(p.said, func(_ *part, w *waits) bool { return w.last != nil && w.until.Before(now) })
}

// host checks a request against the requests of other crawls to its host.
func (j *joint) host(p *place, r *partRequest) {
	for _, of := range inOrder(p.last) {
		if of != r.of && (j.told(r, p.said[of], of) || j.pause("", p.last[of], r)) {
			break
		}
	}
	if p.said[r.of] == nil {
		p.said[r.of] = &waits{}
	}
	p.said[r.of].note(r.request)
}

// sameClock checks a request against the requests of other parts to other hosts at its address, or of its domain.
func (j *joint) sameClock(p *place, name string, r *partRequest) {
	for _, of := range inOrder(p.last) {
		if of != r.of && p.last[of].start.Host != r.start.Host && j.pause(name, p.last[of], r) {
			break
		}
	}
}

// ended returns the request that was over later, a or b; a may be nil.
func ended(a, b *partRequest) *partRequest {
	if a == nil || b.over().After(a.over()) {
		return b
	}
	return a
}

func inOrder(last map[*part]*partRequest) []*part {
	return slices.SortedFunc(maps.Keys(last), func(x, y *part) int { return cmp.Compare(x.number, y.number) })
}

// pause checks the pause between a request of one part and r of another part, to one host or, with a name, at one address or
// domain. It reports whether it was too short.
func (j *joint) pause(name string, last, r *partRequest) bool {
	mine, theirs := r.of.config.OwnHosts[r.start.Host], last.of.config.OwnHosts[last.start.Host]
	if mine > 1 && theirs > 1 {
		return false
	}
	due := max(last.of.due(last.request, theirs), r.of.due(last.request, mine))
	if theirs == 0 {
		due = max(due, last.owned)
	}
	if mine == 0 && name == "" {
		due = max(due, r.before, r.backoff)
	}
	gap := r.start.Written.Sub(last.over())
	if gap >= due-Tolerance {
		return false
	}
	where := cmp.Or(name, "the host")
	if gap < -Tolerance {
		return j.early(-gap, cmp.Or(invariantAt(name), "P3"), r, last, "begun %v before a request to %s had ended", -gap, where)
	}
	inv := cmp.Or(invariantAt(name), paceInvariant(due, max(last.of.config.delay(&last.start), r.of.config.delay(&last.start))))
	return j.early(due-Tolerance-gap, inv, r, last, "%v after a request to %s, %v is due", gap, where, due)
}

func invariantAt(name string) string {
	if name != "" {
		return "P6"
	}
	return ""
}

// told checks r against the Retry-After headers that its host sent to another part (P7). It reports whether r came too
// early.
func (j *joint) told(r *partRequest, w *waits, of *part) bool {
	if w == nil || w.last == nil || !r.start.Written.After(w.last.heard()) || !r.start.Written.Before(w.until.Add(-Tolerance)) {
		return false
	}
	by := &partRequest{request: w.last, of: of}
	return j.early(w.until.Add(-Tolerance).Sub(r.start.Written), "P7", r, by, "the host requested a pause until %s", stamp(w.until))
}

// redirected checks a request against the pauses that redirects to its host requested of another crawl, if that crawl had
// received them before the request was allowed (P7).
func (j *joint) redirected(r *partRequest) {
	host := r.start.Host
	if len(j.led[host]) == 0 {
		return
	}
	j.led[host] = slices.DeleteFunc(j.led[host], func(l *jointLed) bool { return !r.start.Written.Before(l.until) })
	for _, l := range j.led[host] {
		if !r.start.Allowed.After(l.known) {
			break // the list is sorted by known, so the rest became known later, too
		}
		if l.of != r.of && (r.of.config.OwnHosts[host] <= 1 || l.of.config.OwnHosts[host] <= 1) {
			by := min(l.until.Sub(r.start.Written), r.start.Allowed.Sub(l.known))
			j.early(by, "P7", r, &partRequest{request: l.by, of: l.of}, "a redirect to the host requested a pause until %s", stamp(l.until.Add(Tolerance)))
			return
		}
	}
}

// rate checks a request against those of other crawls on its machine, to any hosts, if both have a rate. Requests come in the order
// in which they began, which may differ from that in which they were allowed.
func (j *joint) rate(r *partRequest) {
	mine := r.of
	if mine.config.Rate <= 0 || len(mine.config.Processes) > 0 {
		return
	}
	byAllowed := func(x *partRequest, at time.Time) int { return x.start.Allowed.Compare(at) }
	for _, of := range j.parts {
		theirs := j.rated[of]
		if of == mine || len(theirs) == 0 || !sameMachine(r, theirs[0]) {
			continue
		}
		due := secs(1 / min(mine.config.Rate, of.config.Rate))
		i, _ := slices.BinarySearchFunc(theirs, r.start.Allowed, byAllowed)
		for _, x := range theirs[max(0, i-1):min(i+1, len(theirs))] {
			if gap := r.start.Allowed.Sub(x.start.Allowed).Abs(); gap < due-Tolerance {
				j.violation("rate", r, x, "allowed within %v of a request of another crawl, of both together one in %v", gap, due)
				break
			}
		}
	}
	all := j.rated[mine]
	i, _ := slices.BinarySearchFunc(all, r.start.Allowed, byAllowed)
	all = slices.Insert(all, i, r)
	if n := len(all) / 2; n > 1000 && r.start.Written.Sub(all[n].start.Allowed) > secs(1/mine.config.Rate)+time.Hour {
		all = slices.Delete(all, 0, n)
	}
	j.rated[mine] = all
}

// noteHours reports the number of requests that one crawl made outside the hours of another at hosts of both.
func (j *joint) noteHours() {
	for _, p := range slices.SortedFunc(maps.Keys(j.outOf), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		of, other := j.parts[p[0]], j.parts[p[1]]
		j.Notes = append(j.Notes, fmt.Sprintf("%d requests of %s to hosts that %s requests, too, are outside of the hours of that one (%s)",
			j.outOf[p], of.Name, other.Name, strings.Join(other.config.Hours, ", ")))
	}
}

// early records that a request began too early by this much, or that this is not proven. It always returns true.
func (j *joint) early(by time.Duration, inv string, r, other *partRequest, format string, args ...any) bool {
	if d := r.error() + other.error(); by <= d && !sameMachine(r, other) {
		j.Unproven++
		return true
	}
	j.violation(inv, r, other, format, args...)
	return true
}

// error returns the maximum error of the times of a request.
func (r *partRequest) error() time.Duration {
	if p := r.of.processes[r.run]; p != nil {
		return secs(p.Error)
	}
	return unmeasuredClock
}

// sameMachine reports whether the times of two requests are from one clock.
func sameMachine(a, b *partRequest) bool {
	return a.of.processes[a.run] == nil && b.of.processes[b.run] == nil && strings.EqualFold(a.of.Machine, b.of.Machine)
}
