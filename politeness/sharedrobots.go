package politeness

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// RobotsKey identifies a robots.txt that crawls share.
type RobotsKey struct {
	Origin  string // weburl.URL.Origin
	Account string // the crawls' [Config.Account]; "" if they have none
}

// RobotsFile holds the response that a crawl received for the robots.txt of an origin, with its redirects, or the
// failure to fetch it.
type RobotsFile struct {
	Crawl     string    // Config.Name of the crawl that requested the file
	Gate      string    // ID of that crawl's Gate in the ledger (Entry.Run)
	Fetched   time.Time // end of the last request for the file
	Until     time.Time // when the response expires or, after a failure, when another attempt may be made
	Failures  int       // consecutive failed attempts, including this one; 0: there was a response
	Status    int       // status of the last response; 0: there was none
	Err       string    // why there was no response
	Wall      string    // the bot wall whose challenge the response is
	Redirects []string  // URLs that led to the response
	Body      string    // body of a response with rules
}

// size estimates the memory that f takes, in bytes.
func (f *RobotsFile) size() int64 {
	n := 512 + len(f.Body) + len(f.Err)
	for _, to := range f.Redirects {
		n += len(to)
	}
	return int64(n)
}

// robotsEntry is a file as it is stored. Body is stored separately because it may contain any bytes.
type robotsEntry struct {
	Format int
	Key    RobotsKey
	File   RobotsFile
	Body   []byte
}

const (
	robotsFormat = 1
	robotsValid  = 30 * 24 * time.Hour // entries with a longer validity are rejected
)

// Encode returns f as text for [DecodeRobotsFile], for implementations of [Sharing] that store it. The text includes the key.
func (f RobotsFile) Encode(key RobotsKey) []byte {
	e := robotsEntry{Format: robotsFormat, Key: key, File: f, Body: []byte(f.Body)}
	e.File.Body = ""
	b, _ := json.Marshal(e) // cannot fail: e consists of strings, numbers and times
	return b
}

// DecodeRobotsFile returns the file that [RobotsFile.Encode] has written for a key. It returns false for a text of another version or
// another key, for one that is damaged, and for a file that would be valid for more than 30 days. The caller checks whether the file
// is still fresh.
func DecodeRobotsFile(b []byte, key RobotsKey) (RobotsFile, bool) {
	var e robotsEntry
	if json.Unmarshal(b, &e) != nil || e.Format != robotsFormat || e.Key != key || e.File.Until.After(e.File.Fetched.Add(robotsValid)) {
		return RobotsFile{}, false
	}
	e.File.Body = string(e.Body)
	return e.File, true
}

// defaultRobotsBytes is the default of [HostsLimits].RobotsBytes.
const defaultRobotsBytes = 64 << 20

// sharedFiles is the bounded cache of robots.txt files of a [Hosts]. The least recently used are dropped first.
type sharedFiles struct {
	limit, size int64
	dropped     time.Time                   // the latest Fetched of the dropped files
	byKey       map[RobotsKey]*list.Element // each element holds a *sharedFile
	used        list.List                   // the most recently used first
}

type sharedFile struct {
	key RobotsKey
	RobotsFile
}

// Robots implements [Sharing].
func (s *Hosts) Robots(key RobotsKey) (RobotsFile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, missing := s.files.byKey[key], RobotsFile{Fetched: s.files.dropped}
	if e == nil {
		return missing, false
	}
	f := e.Value.(*sharedFile) //nolint:forcetypeassert // the list contains only this type
	if !f.Until.After(time.Now()) {
		s.files.remove(e)
		return missing, false
	}
	s.files.used.MoveToFront(e)
	return f.RobotsFile, true
}

// KeepRobots implements [Sharing].
func (s *Hosts) KeepRobots(key RobotsKey, f RobotsFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := &s.files
	if e := files.byKey[key]; e != nil {
		files.remove(e)
	}
	if files.byKey == nil {
		files.byKey = make(map[RobotsKey]*list.Element)
	}
	key.Origin, f.Body = strings.Clone(key.Origin), strings.Clone(f.Body) // cloned, so that the longer strings that contain them can be freed
	files.byKey[key] = files.used.PushFront(&sharedFile{key, f})
	files.size += f.size()
	for now := time.Now(); files.size > files.limit; {
		if f := files.remove(files.used.Back()); f.Until.After(now) {
			files.dropped = later(files.dropped, f.Fetched)
		}
	}
}

func (s *sharedFiles) remove(e *list.Element) *sharedFile {
	f, _ := s.used.Remove(e).(*sharedFile)
	delete(s.byKey, f.key)
	s.size -= f.size()
	return f
}

// sharesRobots reports whether other crawls may use the robots.txt that p requests. Loopback addresses are excluded: different
// programs listen there over time.
func (p *permit) sharesRobots() bool {
	return p.purpose == Robots && p.turn.Gate != "" && !p.addr.IsLoopback()
}

// robotsKey returns the key of the robots.txt of u's origin.
func (c *Config) robotsKey(u weburl.URL) RobotsKey {
	key := RobotsKey{Origin: u.Origin()}
	if c.Account != nil {
		key.Account = c.Account(u)
	}
	return key
}

// shareRobots gives other crawls the result of p's request for robots.txt. It is called before they can take p's turn
// at the host.
func (g *Gate) shareRobots(p *permit, r Reply, a answer) {
	o := p.wantedHost.origin(p.wanted)
	// Check Aborted first: a late Report of a Permit that was taken back, and so is aborted, may be writing p.unrecorded.
	if !p.sharesRobots() || r.Aborted || r.Challenged || o.chain != nil || p.unrecorded != nil {
		return
	}
	f := RobotsFile{Crawl: g.cfg.Name, Gate: g.journal.run, Fetched: a.ended, Status: r.Status, Wall: r.Wall}
	switch {
	case a.policy == robots.Unreachable && o.outage != nil:
		f.Until, f.Failures = ledger.Ceil(o.outage.retryAt.time()), o.outage.attempts
		if r.Err != nil {
			f.Err = r.Err.Error()
		}
	case a.policy == robots.Unreachable, r.Truncated != "": // not shared: another crawl may accept longer bodies
		return
	default:
		f.Until, f.Redirects = ledger.Ceil(o.expires.time()), o.redirects()
		if a.policy == robots.Obey {
			f.Body = string(r.Body)
		}
	}
	g.cfg.Shared.KeepRobots(g.cfg.robotsKey(p.wanted), f)
}

// copyRobots adopts another crawl's response for the robots.txt of q's origin. If there is none, it returns nil, and records
// in p whether there may have been one that was dropped. Otherwise it returns the error for Admit: the URL may be requested at
// once, or its rules forbid it. If the robots.txt redirects to another origin, copyRobots also adopts the file of that origin, whose
// Crawl-delay the request must keep. The Gate is not locked.
func (g *Gate) copyRobots(q Request, p *permit) error {
	if q.Addr.IsLoopback() {
		return nil
	}
	err := g.copyFile(q.URL, &p.dropped)
	if hop := p.turn.URL; err == nil && hop.Origin() != q.URL.Origin() && g.needsRobots(ledger.Ceil(time.Now()), hop) {
		return g.copyFile(hop, new(time.Time))
	}
	return err
}

// copyFile adopts another crawl's response for the robots.txt of u's origin. If there is none, it sets dropped to the time up to which
// responses may have been dropped.
func (g *Gate) copyFile(u weburl.URL, dropped *time.Time) error {
	f, ok := g.cfg.Shared.Robots(g.cfg.robotsKey(u))
	if !ok {
		*dropped = f.Fetched
	}
	if !ok || f.Gate == g.journal.run {
		return nil
	}
	g.recording.RLock()
	defer g.recording.RUnlock()
	g.copying.Lock()
	defer g.copying.Unlock()
	now := ledger.Ceil(time.Now())
	stale := notYet(ledger.Clause{Name: ledger.ClauseStale, Until: now})
	switch {
	case !f.Until.After(now), f.Fetched.After(now.Add(unsteady)): // expired, or received in the future: the wall clock was set back
		return nil
	case !g.needsRobots(now, u): // another goroutine of this crawl has adopted the file
		return stale
	}
	if g.cfg.CopyRobots != nil {
		if err := g.cfg.CopyRobots(u.RobotsURL(), f); err != nil {
			return err
		}
	}
	if g.journal.copied(now, u, &f) != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules.copied(now, g.host(u), u, &f)
	g.touchHost(u, changedFiles)
	stale.Copied = true
	return stale
}

// needsRobots reports whether a robots.txt must be requested before u.
func (g *Gate) needsRobots(now time.Time, u weburl.URL) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.host(u)
	o := h.origin(u)
	return h.givenUp == nil && !o.givenUp && o.fetching == nil && !o.usable(now) && !o.retryAt().after(now) && g.rules.override(now, u) == nil
}

// copied applies another crawl's response for the robots.txt of u's origin, under this crawl's settings.
func (b *rulebook) copied(now time.Time, h *host, u weburl.URL, f *RobotsFile) {
	o := h.origin(u)
	o.chain = nil
	if f.Failures > 0 {
		if o.outage == nil {
			o.outage = &outage{since: at(now)}
		}
		o.outage.attempts, o.outage.retryAt = f.Failures, at(f.Until)
		o.tried(b.cfg, now)
		return
	}
	var rules *ruleset
	switch (robots.StatusPolicy{ForbiddenDenies: b.cfg.ForbiddenDenies}).ForStatus(f.Status) {
	case robots.Obey:
		rules = b.cfg.ruleset(u.Origin(), f.Body[:min(len(f.Body), robots.MaxSize+1)])
		rules.hash = sha256.Sum256([]byte(f.Body))
	case robots.DenyAll:
		rules = b.cfg.denyAll()
	}
	o.fetched, o.expires, o.status, o.via, o.outage = at(f.Fetched), at(f.Until), int16(f.Status), nil, nil
	if n := len(f.Redirects); n > 0 {
		if to, err := weburl.Parse(f.Redirects[n-1]); err == nil {
			o.via = &redirectChain{to, f.Redirects}
		}
	}
	b.keep(now, o, rules)
	d, clause := requestedDelay(rules.bound())
	h.slowDown(b.cfg, o, d, clause)
}

// copied writes the line of a robots.txt that another crawl has requested.
func (j *journal) copied(now time.Time, u weburl.URL, f *RobotsFile) error {
	if j.ledger.Discards() {
		return nil
	}
	e := ledger.Entry{
		Event: ledger.Copied, Run: j.run, URL: u.RobotsURL().String(), Host: u.Host(), Purpose: Robots.String(), Attempt: f.Failures,
		Behind: ledger.Duration(j.behind), Ended: f.Fetched, Reported: now, Status: f.Status, Err: f.Err, Wall: f.Wall, Expires: f.Until,
		By: f.Crawl, ByRun: f.Gate, Via: strings.Join(f.Redirects, " "),
	}
	if f.Failures == 0 && robots.ForStatus(f.Status) == robots.Obey {
		sum := sha256.Sum256([]byte(f.Body))
		e.SHA256 = hex.EncodeToString(sum[:])
	}
	return j.write(now, &e)
}

// copied replays the adoption of another crawl's robots.txt. If its body is missing, robots.txt counts as not requested yet.
func (r *replay) copied() error {
	e := r.line
	u, err := weburl.Parse(e.URL)
	if err != nil {
		return err
	}
	f := RobotsFile{Fetched: e.Ended, Until: e.Expires, Failures: e.Attempt, Status: e.Status, Err: e.Err, Wall: e.Wall, Redirects: strings.Fields(e.Via)}
	if e.SHA256 != "" {
		b, missing := r.body()
		if missing {
			r.gate.rules.unlearn(r.gate.host(u).origin(u))
			return nil
		}
		f.Body = string(b)
	}
	r.gate.rules.copied(e.time(), r.gate.host(u), u, &f)
	return nil
}
