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

// UnmeasuredClock is by how much the clock of a machine may be wrong that nobody has compared with others.
const UnmeasuredClock = time.Second

// Part is one of several crawls that are checked together.
type Part struct {
	Name    string // for people
	Ledger  io.Reader
	Config  Config
	Body    Body
	Machine string // whose clock the ledger has, unless Config.Processes says how it was measured
}

// Joint is the result of CheckTogether.
type Joint struct {
	Parts    []string `json:"jobs"`
	Requests int      `json:"requests"` // of all parts
	// Shared counts the hosts, addresses and domains that several parts have requested.
	Shared int `json:"shared"`
	// Unproven counts requests that began too early by less than the clocks of two machines may have differed.
	Unproven   int              `json:"unproven"`
	Violations []JointViolation `json:"violations"`
	Notes      []string         `json:"notes"`
}

// JointViolation is a request of one part that came too early after a request of another one.
type JointViolation struct {
	Invariant string       `json:"invariant"` // P1, or P3 to P8
	Host      string       `json:"host"`
	Lines     [2]JointLine `json:"lines"` // the request, and the one of the other part
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

// CheckTogether checks the requests of several crawls against each other, as if one crawler had made them: one request at a time to
// a host, an address other than loopback and, where one of the parts has Config.PerDomain, a domain (P3, P6); after each the longest pause that
// either of the two crawls owes (P4 to P6); a Retry-After that one of them was told is owed by all, also that of a redirect to another
// host (P7); a robots.txt that crawls share is requested once while it is fresh, and each copy of it is what the crawl that it names
// was answered (P1); and one that fails is tried again no earlier than a single crawl would (P8). What one crawl owes
// after its own requests is left to [Check]. A host that is an own one of both parts is left out if both may request it several
// times at once. Hours and rates are each crawl's own: a note counts the requests of one outside the hours of another. An error means
// that a ledger cannot be read.
func CheckTogether(parts []Part) (*Joint, error) {
	j := &joint{led: map[string][]*jointLed{}, Joint: Joint{Parts: []string{}, Violations: []JointViolation{}, Notes: []string{}}}
	for i := range parts {
		if err := j.read(&parts[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", parts[i].Name, err)
		}
	}
	slices.SortStableFunc(j.requests, func(x, y *partRequest) int { return x.start.Written.Compare(y.start.Written) })
	j.byKey(func(r *partRequest) string { return r.start.Host }, j.host)
	j.byKey(sharedAddress, j.sameClock)
	j.byKey(func(r *partRequest) string { return r.of.domain(r.request) }, func(key string, rs []*partRequest) {
		if slices.ContainsFunc(rs, func(r *partRequest) bool { return r.of.config.PerDomain }) {
			j.sameClock(key, rs)
		}
	})
	j.redirects()
	j.robots()
	j.hours()
	if j.Unproven > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d times a request began too early by less than the clocks of two machines may have differed: that is not proven", j.Unproven))
	}
	return &j.Joint, nil
}

// joint is a check under way.
type joint struct {
	Joint
	requests []*partRequest
	copies   []*partRequest         // robots.txt files that another crawl is said to have requested
	unsent   []*partRequest         // attempts at a robots.txt that failed before a byte was sent
	led      map[string][]*jointLed // redirects that request a pause, by the host to which they lead
}

// jointLed is a redirect that requests a pause, and the crawl that was told.
type jointLed struct {
	led
	of *part
}

// part is a crawl that was read.
type part struct {
	auditor
	*Part
	number int
}

// partRequest is a request with its crawl.
type partRequest struct {
	*request
	of             *part
	backoff, owned time.Duration // the back-off of its host before and after it
}

// read reads a part and what its own requests tell of pauses.
func (j *joint) read(p *Part) error {
	l, err := read(p.Ledger, processesOf(&p.Config))
	if err != nil {
		return err
	}
	of := &part{Part: p, number: len(j.Parts), auditor: auditor{
		config: p.Config, processes: processesOf(&p.Config), body: p.Body, files: map[string]*file{}, changed: map[string]bool{}, rep: &Report{},
	}}
	of.rules(l)
	j.Parts = append(j.Parts, p.Name)
	j.Requests += len(l.requests)
	most := secs(p.Config.MaxBackoff)
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
		j.requests = append(j.requests, x)
		if host, l := of.leads(r); host != "" {
			j.led[host] = append(j.led[host], &jointLed{l, of})
		}
	}
	for _, r := range l.unsent {
		switch x := (&partRequest{request: r, of: of}); {
		case r.epoch < len(l.steps):
		case r.copied:
			j.copies = append(j.copies, x)
		default:
			j.unsent = append(j.unsent, x)
		}
	}
	if older > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d requests of %s were not compared with those of the others: its clock was set back after them", older, p.Name))
	}
	return nil
}

// sharedAddress returns the address of a request, "" for one whose clock crawls do not share: an own host's, and loopback, where each
// port is another program.
func sharedAddress(r *partRequest) string {
	addr := r.of.address(r.request)
	if ip, err := netip.ParseAddr(addr); err == nil && ip.Unmap().IsLoopback() {
		return ""
	}
	return addr
}

// byKey calls f with the requests of each key that several parts have requested.
func (j *joint) byKey(key func(*partRequest) string, f func(string, []*partRequest)) {
	by := map[string][]*partRequest{}
	for _, r := range j.requests {
		if k := key(r); k != "" {
			by[k] = append(by[k], r)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		if rs := by[k]; slices.ContainsFunc(rs, func(r *partRequest) bool { return r.of != rs[0].of }) {
			j.Shared++
			f(k, rs)
		}
	}
}

// host checks the requests of several parts to one host.
func (j *joint) host(_ string, rs []*partRequest) {
	last := map[*part]*partRequest{}
	said := map[*part]*waits{}
	for _, r := range rs {
		for _, of := range inOrder(last) {
			if of != r.of && (j.told(r, said[of], of) || j.pause("", last[of], r)) {
				break
			}
		}
		if said[r.of] == nil {
			said[r.of] = &waits{}
		}
		said[r.of].note(r.request)
		last[r.of] = ended(last[r.of], r)
	}
}

// sameClock checks the requests of several parts to hosts at one address, or of one domain.
func (j *joint) sameClock(name string, rs []*partRequest) {
	last := map[*part]*partRequest{}
	for _, r := range rs {
		for _, of := range inOrder(last) {
			if of != r.of && last[of].start.Host != r.start.Host && j.pause(name, last[of], r) {
				break
			}
		}
		last[r.of] = ended(last[r.of], r)
	}
}

// ended returns the one of two requests that was over later; a may be nil.
func ended(a, b *partRequest) *partRequest {
	if a == nil || b.over().After(a.over()) {
		return b
	}
	return a
}

func inOrder(last map[*part]*partRequest) []*part {
	return slices.SortedFunc(maps.Keys(last), func(x, y *part) int { return cmp.Compare(x.number, y.number) })
}

// pause checks the pause between a request of one part and r of another one, to one host or, with a name, at one address or
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

// told checks r against what its host said to another part (P7). It reports whether it came too early.
func (j *joint) told(r *partRequest, w *waits, of *part) bool {
	if w == nil || w.last == nil || !r.start.Written.After(w.last.heard()) || !r.start.Written.Before(w.until.Add(-Tolerance)) {
		return false
	}
	by := &partRequest{request: w.last, of: of}
	return j.early(w.until.Add(-Tolerance).Sub(r.start.Written), "P7", r, by, "the host requested a pause until %s", stamp(w.until))
}

// redirects checks requests against the pauses that redirects to their hosts have requested of another crawl (P7), which that one
// knew of before the request was allowed.
func (j *joint) redirects() {
	for _, all := range j.led {
		slices.SortStableFunc(all, func(x, y *jointLed) int { return x.known.Compare(y.known) })
	}
	for _, r := range j.requests {
		host := r.start.Host
		j.led[host] = slices.DeleteFunc(j.led[host], func(l *jointLed) bool { return !r.start.Written.Before(l.until) })
		for _, l := range j.led[host] {
			if !r.start.Allowed.After(l.known) {
				break // so it is with all that follow
			}
			if l.of != r.of && (r.of.config.OwnHosts[host] <= 1 || l.of.config.OwnHosts[host] <= 1) {
				by := min(l.until.Sub(r.start.Written), r.start.Allowed.Sub(l.known))
				j.early(by, "P7", r, &partRequest{request: l.by, of: l.of}, "a redirect to the host requested a pause until %s", stamp(l.until.Add(Tolerance)))
				break
			}
		}
	}
}

// hours notes how many requests to hosts that several crawls request were made outside of the hours of another one.
func (j *joint) hours() {
	type pair struct{ of, other *part }
	outOf := map[pair]int{}
	parts := map[*part][]span{}
	visited := map[string]map[*part]bool{}
	for _, r := range j.requests {
		if _, ok := parts[r.of]; !ok {
			parts[r.of], _ = spans(r.of.config.Hours) // Check says what is wrong
		}
		if visited[r.start.Host] == nil {
			visited[r.start.Host] = map[*part]bool{}
		}
		visited[r.start.Host][r.of] = true
	}
	for _, r := range j.requests {
		for other := range visited[r.start.Host] {
			if other != r.of && outside(parts[other], r.request) {
				outOf[pair{r.of, other}]++
			}
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(outOf), func(x, y pair) int {
		return cmp.Or(x.of.number-y.of.number, x.other.number-y.other.number)
	}) {
		j.Notes = append(j.Notes, fmt.Sprintf("%d requests of %s to hosts that %s requests, too, are outside of the hours of that one (%s): hours are each crawl's own",
			outOf[p], p.of.Name, p.other.Name, strings.Join(p.other.config.Hours, ", ")))
	}
}

// early notes a request that began too early, by so much, or that this is not proven. It reports true.
func (j *joint) early(by time.Duration, inv string, r, other *partRequest, format string, args ...any) bool {
	if d := r.error() + other.error(); by <= d && !sameMachine(r, other) {
		j.Unproven++
		return true
	}
	j.violation(inv, r, other, format, args...)
	return true
}

// error returns by how much the times of a request may be wrong.
func (r *partRequest) error() time.Duration {
	if p := r.of.processes[r.run]; p != nil {
		return secs(p.Error)
	}
	return UnmeasuredClock
}

// sameMachine reports whether two requests have the times of one clock.
func sameMachine(a, b *partRequest) bool {
	return a.of.processes[a.run] == nil && b.of.processes[b.run] == nil && strings.EqualFold(a.of.Machine, b.of.Machine)
}
