package mutants

import "slices"

// mutant represents one change of the source text.
type mutant struct {
	name     string
	file     string // relative to the module's root
	old, new string // old occurs exactly once, inside a function
	sees     sims   // the simulations that must fail
	quick    bool   // the mutant is tried even without -mutants.all
	seed     seeds  // seeds that are tried first
}

// seeds holds a seed for each simulation.
type seeds = map[sims]uint64

// all returns the mutants of all tables.
func all() []mutant {
	return slices.Concat(protections, clocks, handovers, sharings, exactness, renderings, samples)
}

// protections prevent requests that must not be made, and keep what must be known later (P1 to P12). Without any one of them, a simulation
// must fail.
var protections = []mutant{
	// Pauses, and the number of requests in flight: P3 to P6.
	{"a request is followed by no pause", "politeness/pace.go", "p.hold(end.Add(d), d, clause)", "p.hold(end, d, clause)", both, true, seeds{crawl: 1, gate: 1}},
	{"a request in flight is no hindrance", "politeness/pace.go", "return p.holder == nil && !now", "return !now", both, false, seeds{crawl: 1, gate: 1}},
	{"the address has no clock", "politeness/pacer.go", "c.addr != nil && !p.opensTo(now, c.addr, c.host)", "false", both, false, seeds{crawl: 2, gate: 1}},
	{"the domain has no clock", "politeness/pacer.go", "c.domain != nil && !p.opensTo(now, c.domain, c.host)", "false", both, false, seeds{crawl: 1, gate: 3}},
	{"IPv4 in IPv6 is another address", "politeness/pacer.go", "addr.Unmap().WithZone", "addr.WithZone", both, false, seeds{crawl: 12, gate: 3}},
	{"the hop of a redirected robots.txt holds the wrong host", "politeness/admit.go", "th = g.host(s.url)", "th = g.host(q.URL)", both, false, seeds{crawl: 5, gate: 46}},
	{"slow answers lengthen nothing", "politeness/delay.go", "l > d {", "false && l > d {", both, false, seeds{crawl: 1, gate: 3}},
	{"latency is measured without the ledger's part", "politeness/health.go", ".Sub(p.began))", ".Sub(orTime(r.Written, p.began)))", gate, false, seeds{gate: 26}},
	{"failures lengthen nothing", "politeness/delay.go", "if s.Backoff > d {", "if false {", both, false, seeds{crawl: 1, gate: 14}},
	{"back-off does not grow", "politeness/health.go", "2*h.backoff", "h.backoff", both, false, seeds{crawl: 5, gate: 14}},
	{"a broken answer is a good one", "politeness/health.go", "r.Truncated == CutShort ||", "", both, false, seeds{crawl: 28, gate: 377}},
	{"the last failure ends nothing", "politeness/health.go", "case Limit(h.failures)/Limit(wholeFault) >= c.MaxFailures:", "case false:", both, false, seeds{crawl: 40, gate: 774}},
	{"a time-out is a failure of the page", "politeness/health.go", ", isTimeout(r.Err):", ":", gate, false, seeds{gate: 4055}},
	{"a chain of sitemap indexes has no end", "crawler/sitemaps.go", "c.Depth < maxIndexLevels", "true", 0, false, nil},
	{"hosts lead to robots.txt files without an end", "crawler/budget.go", "crawl.Reached(a.run.tally.r.Robots)", "false", 0, false, nil},
	{"a host has any number of sitemaps", "crawler/budget.go", "most.Reached(u.sitemaps)", "false", 0, false, nil},
	{"a sitemap counts for no budget", "crawler/answer.go", "a.reserved.page = true // a sitemap", "// a sitemap", 0, false, nil},
	{"a page that forbids the purpose is taken", "crawler/terms.go", "!v.Terms.Verdict.Refused()", "true", 0, false, nil},
	{"a page is requested before its licence is read", "crawler/worker.go", "u.PathQuery() != \"/robots.txt\" && a.forbiddenBefore(ctx)", "false", 0, false, nil},
	{"a page does not wait for the licence that it names", "crawler/terms.go", "	if d == nil && !busy {", "	if d == nil || !busy {", 0, false, nil},
	{"a licence never expires", "crawler/terms.go", "d.known && (now.Before(d.Expires) ||", "d.known && (!now.IsZero() ||", 0, false, nil},
	{"a licence is lost with the process", "crawler/terms.go", "	if t.store == nil {", "	if t.store == nil || d != nil {", 0, false, nil},
	{"a licence that cannot be read allows", "crawler/terms.go", "body); d.license != nil &&", "body); d.Error != \"\" {\n		d.license = nil\n	} else if d.license != nil &&", 0, false, nil},
	{"a site names any number of documents", "crawler/terms.go", "t.of[origin] >= maxDocuments", "t.of[origin] > 1<<20", 0, false, nil},
	{"documents do not cover what pages load", "crawler/render.go", "switch reason, ended := a.resourceForbidden(ctx, x, w.URL); {", "switch reason, ended := \"\", false; {", 0, false, nil},
	{"what an answer for a page says about uses is ignored", "crawler/render.go", "case forbidden != \"\":", "case false:", 0, false, nil},
	{"a page without room waits for nothing", "crawler/terms.go", "	t.held[p.URL] = w\n", "	if w.page != nil {\n		t.held[p.URL] = w\n	}\n", 0, false, nil},
	{"what forbids uses forbids the documents that say it", "politeness/rules.go", "why == Terms || ", "", 0, false, nil},
	{"a robots.txt that forbids the purpose lets pages be requested", "politeness/rules.go", "v.Refused()", "false", 0, false, nil},
	{"Robots-Tag is ignored", "crawler/answer.go", "opts = append(opts, robots.WithRobotsTag(values...))", "_ = values", 0, false, nil},
	{"sitemaps precede all pages", "crawler/order.go", "127\n	}\n	return 0", "127\n	}\n	return 1", 0, false, nil},
	{"a resource is for no page", "politeness/admit.go", " || (q.Purpose == Resource) == q.For.IsZero()", "", 0, false, nil},
	{"a replay takes a resource for the robots.txt of its page", "politeness/line.go", " || e.purpose() == Resource", "", 0, false, nil},
	{"a replay takes a time-out for a failure of the page", "politeness/line.go", "	if e.Timeout {", "	if false {", gate, false, seeds{gate: 3882}},
	{"silence ends nothing", "politeness/health.go", "case f == wholeFault && h.failing.since(now) >= c.MaxSilence && int(h.failures)/int(wholeFault) >= minSilent:", "case false:", gate, false, seeds{gate: 12}},
	{"no least delay", "politeness/delay.go", "		d = max(d, MinDelay)", "		d = max(d, 0)", both, false, seeds{crawl: 4, gate: 14}},
	{"a host's own delay lengthens nothing", "politeness/delay.go", "if s.Operator != 0 {", "if false {", gate, false, seeds{gate: 20}},
	{"a range of addresses holds for nobody", "politeness/hostdelay.go", "return uint16(c.hosts.Addr(addr) + 1)", "return h.entry", gate, false, seeds{gate: 118}},
	{"a pause is that of the address met last", "politeness/permit.go", "h.stateBy(c, h.entryAt(c, p.addr), ", "h.stateBy(c, h.entry, ", gate, false, seeds{gate: 828}},
	{"a delay of its own shortens that of anybody's host", "politeness/hostdelay.go", "if own || e.Delay > c.Delay {", "if true {", gate, false, seeds{gate: 1234}},
	{"a host with a delay of its own opens with the others after a kill", "politeness/hostdelay.go", "return t.Add(max(0, d-c.usualDelay()))", "return t.Add(0 * d)", gate, false, seeds{gate: 28}},
	{"an address met later brings no pause", "politeness/hostdelay.go", "until := slot.ended.time().Add(d); until.After(now)", "until := slot.ended.time().Add(d); until.After(now) && false", 0, false, nil},
	{"a host slowed down by its name has the ports 80 and 443 alone", "politeness/slow.go", "	return strings.TrimSuffix(host, \".\")", "	return (other[colon:] == \":80\" || other[colon:] == \":443\") && strings.TrimSuffix(host, \".\")", 0, false, nil},
	{"no rate in all", "politeness/pacer.go", "	if p.total == nil {\n		return now, true", "	if true {\n		return now, true", both, false, seeds{crawl: 1, gate: 1}},

	// Crawl-delay and Retry-After: P5, P7.
	{"Crawl-delay is not obeyed", "politeness/host.go", "if o != nil && o.requestedDelay > d {", "if false {", both, false, seeds{crawl: 1, gate: 1}},
	{"Crawl-delay of a redirected file counts from the next request", "politeness/host.go", "if d > 0 && p.ended != 0 {", "if false {", gate, false, seeds{gate: 102}},
	{"Retry-After of a redirect holds nobody else", "politeness/retry.go", "to.Host() != p.url.Host()", "false", gate, false, seeds{gate: 501}},
	{"a replay forgets Retry-After of redirects", "politeness/replay.go", "	g.obeyRedirect(now, p, reply)\n", "", gate, false, seeds{gate: 1093}},
	{"the target of a redirect that has to wait too long is requested", "crawler/answer.go", "v.Outcome != Failed && a.run.cfg.Politeness.LeavesTarget(v.Page.Header, v.Page.Ended)", "false", 0, false, nil},
	{"RateLimit is ignored", "politeness/health.go", "	h.obeyRateLimit(c, now, r)\n", "", gate, false, seeds{gate: 20}},
	{"a long RateLimit ends nothing", "politeness/retry.go", "d > c.MaxRetryAfter", "false", gate, false, seeds{gate: 49}},
	{"the ledger has no RateLimit", "politeness/journal.go", "	_, e.RateLimit = usedUp(r.Header)\n", "", gate, false, seeds{gate: 49}},
	{"a long Crawl-delay ends nothing", "politeness/host.go", "if d > c.MaxCrawlDelay {", "if false {", both, false, seeds{crawl: 8, gate: 3}},
	{"Retry-After is ignored", "politeness/health.go", "h.obeyRetryAfter(c, now, r)", "", both, true, seeds{crawl: 1, gate: 22}},
	{"an answer 202 is a robots.txt", "robots/status.go", "case status == 202:", "case false:", gate, false, seeds{gate: 484}},
	{"the challenge of a bot wall is a robots.txt", "politeness/answer.go", "r.Err != nil || r.Wall != \"\" ||", "r.Err != nil ||", gate, false, seeds{gate: 26}},
	{"a replay takes a challenge for a robots.txt", "politeness/line.go", "Wall: e.Wall, ", "", gate, false, seeds{gate: 159}},
	{"a challenge lengthens no pause", "politeness/health.go", "r.Err != nil || r.Wall != \"\" ||", "r.Err != nil ||", gate, false, seeds{gate: 203}},
	{"challenges end nothing", "politeness/health.go", "if h.walls++; h.walls >= maxWalls {", "if false {", gate, false, seeds{gate: 449}},
	{"a snapshot counts no challenges", "politeness/snapshot.go", "w.uint(uint64(h.walls))", "w.uint(0)", 0, false, nil},
	{"a host with challenges is forgotten", "politeness/host.go", " && h.walls == 0", "", 0, false, nil},
	{"an answer 202 of an older snapshot is a robots.txt", "politeness/snapshot.go", "if o.status == http.StatusAccepted {", "if false {", 0, false, nil},
	{"no challenge is recognized", "fetcher/client.go", "p != nil && !p.Challenged {", "false {", 0, false, nil},
	{"a challenge is a page", "crawler/answer.go", "case page.Wall != \"\": // another", "case false: // another", 0, false, nil},
	{"Retry-After is obeyed on 429 and 503 only", "politeness/retry.go", "if !ok || c.Offline {", "if !ok || c.Offline || r.Status != 429 && r.Status != 503 {", 0, false, nil},
	{"Retry-After is not held", "politeness/retry.go", "h.hold(t, t.Sub(now), ledger.ClauseRetryAfter)", "", both, false, seeds{crawl: 1, gate: 12}},
	{"Retry-After too long ends nothing", "politeness/retry.go", "if t.Sub(now) > c.MaxRetryAfter {", "if false {", both, false, seeds{crawl: 10, gate: 22}},
	{"Retry-After as a date is ignored", "politeness/retry.go", "return t, t.After(now)", "return t, false", both, false, seeds{crawl: 1, gate: 5}},
	{"a server's slow clock is believed", "politeness/retry.go", "t = t.Add(clockSkew(r, now))", "", both, false, seeds{crawl: 1, gate: 34}},
	{"a number too large is no Retry-After", "politeness/retry.go", "err == nil || errors.Is(err, strconv.ErrRange)", "err == nil || errors.Is(err, strconv.ErrRange) && false", both, false, seeds{crawl: 28, gate: 22}},

	// robots.txt: P1, P2, P8.
	{"a Permit for a recorded answer sends a request", "politeness/permit.go", "case p.p.gate.cfg.Offline:", "case false:", 0, true, nil},
	{"recorded answers are taken from a Gate that counts requests", "politeness/offline.go", "case !p.p.gate.cfg.Offline:", "case false:", 0, false, nil},
	{"robots.txt is not requested", "politeness/admit.go", "return step{url: o.next(u), purpose: Robots}, nil", "return step{url: u, purpose: Page}, nil", both, false, seeds{crawl: 1, gate: 1}},
	{"rules do not forbid", "politeness/rules.go", "!v.Allowed || b.cfg.usesMatter()", "b.cfg.usesMatter() && !v.Allowed", both, true, seeds{crawl: 1, gate: 2}},
	{"no answer for robots.txt means no rules", "politeness/answer.go", "return answer{policy: robots.Unreachable}", "return answer{policy: robots.AllowAll}", both, false, seeds{crawl: 3, gate: 1}},
	{"5xx for robots.txt means no rules", "politeness/rules.go", "case a.policy == robots.Unreachable:", "case false:", both, false, seeds{crawl: 1, gate: 1}},
	{"robots.txt is requested again at once", "politeness/origin.go", "out.retryAt = at(now.Add(robotsPause(out.attempts)))", "out.retryAt = at(now)", both, false, seeds{crawl: 1, gate: 6}},
	{"an unreachable robots.txt is requested while it has to wait", "politeness/admit.go", "case o.retryAt().after(now):", "case false:", both, false, seeds{crawl: 3, gate: 6}},
	{"several request one robots.txt at once", "politeness/admit.go", "case o.fetching != nil:", "case false:", both, false, seeds{crawl: 23, gate: 20}},
	{"robots.txt is kept for a month", "politeness/answer.go", "robots.Freshness(r.Header, a.ended)", "30 * robots.Freshness(r.Header, a.ended)", both, false, seeds{crawl: 1, gate: 1}},
	{"an old copy is used for ever", "politeness/origin.go", "return min(o.retryAt(), o.fetched.add(maxStale))", "return o.retryAt()", both, false, seeds{crawl: 32, gate: 840}},
	{"an unreachable robots.txt is never given up", "politeness/origin.go", "		o.givenUp = true", "", both, false, seeds{crawl: 18, gate: 113}},
	{"redirects of robots.txt are followed without end", "politeness/rules.go", "len(hops) < robots.MaxRedirects", "len(hops) < 1000", both, false, seeds{crawl: 5, gate: 307}},
	{"a redirect that is followed is forgotten", "politeness/rules.go", "append(hops, a.to.String())", "nil", both, false, seeds{crawl: 5, gate: 307}},
	{"a page passes for a robots.txt", "politeness/admit.go", "page := step{url: q.URL, purpose: Page}", "page := step{url: q.URL, purpose: q.Purpose}", gate, false, seeds{gate: 2}},
	{"an opted-out host gets redirect hops", "politeness/admit.go", "case target != q.URL && c.optedOut(target.Hostname()):", "case false:", gate, false, seeds{gate: 80}},
	{"an opted-out host gets requests", "politeness/admit.go", "if g.cfg.optedOut(q.URL.Hostname()) {", "if false {", both, false, seeds{crawl: 2, gate: 3}},
	{"an override never ends", "politeness/rules.go", "!o.Until.IsZero() && !now.Before(o.Until)", "false", crawl, false, seeds{crawl: 7}},
	{"a host that was given up is served", "politeness/admit.go", "	if h.givenUp != nil {", "	if false {", both, false, seeds{crawl: 8, gate: 3}},
	{"a hop goes to a host that was given up", "politeness/admit.go", "if th != h && th.givenUp != nil {", "if false {", gate, false, seeds{gate: 46}},
	{"quiet hours are not kept", "politeness/hours.go", "if until.After(now) {", "if false {", both, false, seeds{crawl: 39, gate: 9}},
	{"hours of a zone are taken for UTC", "politeness/hours.go", "if w.Zone == nil || w.Zone == time.UTC {", "if true {", gate, false, seeds{gate: 9}},
	{"a Permit outlives the hours when clocks are put forward", "politeness/hours.go", "until.IsZero() || !end.After(until)", "true", 0, false, nil},

	// Permits and the ledger: P10, P11.
	{"a Permit can be used twice", "politeness/permit.go", "case p.state.CompareAndSwap(from, to):", "case p.state.CompareAndSwap(from, to) || p.state.Load() >= to:", both, true, seeds{crawl: 3, gate: 1}},
	{"a Permit does not expire", "politeness/permit.go", "	case p.expired(now):", "	case false:", both, false, seeds{crawl: 3, gate: 1}},
	{"a Permit outlives its rules", "politeness/admit.go", "d = min(d, s.valid.until(now))", "_ = s", both, false, seeds{crawl: 4, gate: 157}},
	{"a Permit outlives its claim", "politeness/admit.go", "d = min(d, q.Deadline.Sub(now))", "_ = q", both, false, seeds{crawl: 4, gate: 2}},
	{"a second Report counts", "politeness/report.go", "before != reported && before != lapsed", "before != -1", both, false, seeds{crawl: 3, gate: 1}},
	{"a request under way is taken back", "politeness/report.go", "p.state.CompareAndSwap(redeemed, lapsed)", "p.state.CompareAndSwap(begun, lapsed)", both, false, seeds{crawl: 18, gate: 1}},
	{"a Permit is taken back before it expires", "politeness/report.go", "if p == nil || !p.abandoned(now) {", "if p == nil {", both, false, seeds{crawl: 1, gate: 6}},
	{"a request goes out that the ledger has not", "politeness/report.go", "if err := g.journal.begin(now, p, v); err != nil {", "if err := g.journal.begin(now, p, v); err != nil && false {", both, false, seeds{crawl: 4, gate: 17}},
	{"the User-Agent has no contact", "politeness/identity.go", `comment := "+" + id.Contact`, `comment := "+"`, both, false, seeds{crawl: 1, gate: 2}},
	{"an address for a page's host serves a hop on another", "politeness/admit.go", "case q.Next != target && (!q.Next.IsZero() || target.Host() != q.URL.Host()):", "case false:", gate, false, seeds{gate: 236}},
	{"no contact is needed", "politeness/admit.go", "case c.Contactless && !q.Addr.IsLoopback():", "case false:", both, false, seeds{crawl: 2, gate: 8}},

	// What must not be forgotten: P9.
	{"long pauses are swept", "politeness/host.go", "d <= least &&", "(d <= least || true) &&", gate, false, seeds{gate: 22}},
	{"a slow host is swept for the long delay of one of its addresses", "politeness/host.go", "state := h.shortest(c)", "state := h.state(c, h.local)", 0, false, nil},
	{"waits are swept", "politeness/host.go", "if !p.free(now) {", "if p == nil {", gate, false, seeds{gate: 253}},
	{"addresses are swept while they wait", "politeness/pacer.go", "		if c.idle(now) {\n			delete(p.addrs", "		if c != nil {\n			delete(p.addrs", both, false, seeds{crawl: 12, gate: 1}},
	{"failures of robots.txt are swept", "politeness/origin.go", "o.failures() == 0 && o.chain == nil", "o.chain == nil", gate, false, seeds{gate: 1}},
	{"a pause is evicted with its rules", "politeness/rules.go", "	o.known = false\n", "	o.known, o.requestedDelay = false, 0\n", both, false, seeds{crawl: 11, gate: 1}},
	{"a snapshot has no host's waits", "politeness/snapshot.go", "	w.time(p.notBefore)", "	w.time(time.Time{})", both, false, seeds{crawl: 1, gate: 8}},
	{"a snapshot forgets what is in flight", "politeness/snapshot.go", "w.bool(p.holder != nil)\n	if p.holder != nil {", "w.bool(false)\n	if false {", both, false, seeds{crawl: 3, gate: 1}},
	{"a snapshot has no back-off", "politeness/snapshot.go", "w.duration(h.backoff)", "w.duration(0)", both, false, seeds{crawl: 1, gate: 206}},
	{"a snapshot has no robots.txt retry", "politeness/snapshot.go", "w.instant(o.outage.retryAt)", "w.instant(0)", both, false, seeds{crawl: 4, gate: 73}},
	{"a snapshot has no hosts given up", "politeness/snapshot.go", "w.bool(h.givenUp != nil)\n	if h.givenUp != nil {", "w.bool(false)\n	if false {", both, false, seeds{crawl: 8, gate: 3}},
	{"a snapshot has no Crawl-delay", "politeness/snapshot.go", "w.duration(o.requestedDelay)", "w.duration(0)", both, false, seeds{crawl: 1, gate: 1}},
	{"a snapshot has no rate", "politeness/snapshot.go", "p.restoreRate(now, r.time())", "r.time()", both, false, seeds{crawl: 16, gate: 15}},
	{"a snapshot has no latency", "politeness/snapshot.go", "w.duration(h.latency)", "w.duration(0)", both, false, seeds{crawl: 1, gate: 32}},

	// What a killed process leaves: P9.
	{"a replay forgets what was in flight", "politeness/replay.go", "if p.started.Load() { // otherwise", "if false { // otherwise", both, false, seeds{crawl: 15, gate: 158}},
	{"a replay forgets the outcomes of requests", "politeness/replay.go", "		return r.end(p)\n	case ledger.Unsent:", "		return nil\n	case ledger.Unsent:", both, false, seeds{crawl: 1, gate: 1}},
	{"a replay forgets what was not sent", "politeness/replay.go", "return r.unsent()", "return nil", both, false, seeds{crawl: 40, gate: 61}},
	{"a replay forgets names without an address", "politeness/replay.go", "g.failed(e.time(), wanted, target, errFailed)", "_, _, _ = g, wanted, target", both, false, seeds{crawl: 51, gate: 61}},
	{"a replay counts pauses from the answer's end", "politeness/line.go", "[]time.Time{e.Reported, e.Ended}", "[]time.Time{e.Ended, e.Reported}", gate, false, seeds{gate: 215}},
	{"a replay keeps every robots.txt for a day", "politeness/line.go", "max(e.Expires.Sub(ended), robots.MinFreshness)", "robots.MaxFreshness", both, false, seeds{crawl: 1, gate: 6}},
	{"a replay takes any body for robots.txt", "politeness/replay.go", "err != nil || !r.line.isHash(sha256.Sum256(b))", "err != nil || !r.line.isHash(sha256.Sum256(b)) && false", both, false, seeds{crawl: 41, gate: 195}},
	{"a replay takes a robots.txt without its body for empty", "politeness/replay.go", "a.expires, a.missing = at(a.ended).add(e.life(a.ended)), missing", "a.expires, a.missing = at(a.ended).add(e.life(a.ended)), missing && false", both, false, seeds{crawl: 41, gate: 28}},
	{"a replay forgets redirects", "politeness/replay.go", "p.wantedHost.origin(p.wanted).chain = r.chains[p.id]", "_ = p", both, false, seeds{crawl: 59, gate: 449}},
	{"a replay forgets where redirects lead", "politeness/line.go", `{"Location", e.Location}`, `{"Location", ""}`, both, false, seeds{crawl: 23, gate: 46}},
	{"a replay forgets Retry-After", "politeness/line.go", `{"Retry-After", e.RetryAfter}`, `{"Retry-After", ""}`, both, false, seeds{crawl: 3, gate: 17}},
	{"a replay believes a slow clock", "politeness/line.go", `{"Date", e.Date}`, `{"Date", ""}`, crawl, false, seeds{crawl: 17}},
	{"a replay counts twice what the snapshot has", "politeness/replay.go", "seekLine(lines, mark)", "seekLine(lines, 0)", gate, false, seeds{gate: 196}},
	{"a replayed Gate admits at once", "politeness/replay.go", "g.pacer.opening = now.Add(g.cfg.usualDelay())", "", both, false, seeds{crawl: 17, gate: 1}},
	{"a snapshot forgets that a request had begun", "politeness/snapshot.go", "p.started.Store(!p.began.IsZero())", "", both, false, seeds{crawl: 40, gate: 179}},
	{"a snapshot is taken between a line and its effect", "politeness/snapshot.go", "	g.recording.Lock()\n	defer g.recording.Unlock()\n", "", both, false, seeds{crawl: 101, gate: 41}},
	{"the ledger says that it is complete when it is not", "politeness/journal.go", "if j.unlined > 0 {", "if false {", gate, false, seeds{gate: 6}},
	{"lines follow one that was written in part", "politeness/ledger/writer.go", "case n > 0, e.Event != Start && e.Event != Head:", "case e.Event != Start:", gate, false, seeds{gate: 282}},
	{"a torn line stays in the ledger", "politeness/ledger/file.go", "		err = f.Truncate(size)", "		err = nil", both, false, seeds{crawl: 3, gate: 2}},
	{"a connection may be under way when its Permit is taken back", "politeness/permit.go", "p.expired(now) && now.Sub(p.allowed) > p.gate.cfg.PermitTTL", "p.expired(now)", both, false, seeds{crawl: 4, gate: 54}},
	{"what is reported after it was taken back is followed by no pause", "politeness/report.go", "p.p.clocks.hold(now.Add(d), d, clause)", "_, _ = d, clause", gate, false, seeds{gate: 12}},
	{"an end that was not recorded is passed over", "politeness/ledger/writer.go", "case n > 0, e.Event != Start && e.Event != Head:", "case n > 0:", both, false, seeds{crawl: 4, gate: 33}},
	{"a snapshot includes a part of a line", "politeness/ledger/writer.go", "	case err == nil:\n		l.size += int64(n)\n", "	case err == nil || n > 0:\n		l.size += int64(n)\n		if err != nil {\n			l.broken = err\n		}\n", both, false, seeds{crawl: 11, gate: 383}},
	{"a lost robots.txt takes an earlier pause with it", "politeness/rules.go", "*o = origin{requestedDelay: o.requestedDelay, requestedBy: o.requestedBy, givenUp: o.givenUp}", "*o = origin{givenUp: o.givenUp}", gate, false, seeds{gate: 701}},
	{"a late report holds clocks that were forgotten", "politeness/report.go", "		p.p.clocks = g.clocksAnew(now, p.p)\n", "", gate, false, seeds{gate: 1175}},
	{"a Retry-After does not stop what is about to leave", "politeness/report.go", "p.state.Load() == redeemed && overtaken", "overtaken && false", both, false, seeds{crawl: 67, gate: 20}},
	{"a robots.txt that was not recorded binds", "politeness/report.go", "if p.p.unrecorded != nil && p.p.purpose == Robots {", "if false {", both, false, seeds{crawl: 11, gate: 33}},
	{"an answer that was not recorded counts", "fetcher/client.go", "if lost := a.Permit.Unrecorded(); lost != nil {", "if lost := error(nil); lost != nil {", crawl, false, seeds{crawl: 3}},
	{"a good answer that was not recorded shortens pauses", "politeness/health.go", "case p.unrecorded != nil && !failed(r):", "case false:", crawl, false, seeds{crawl: 412}},
	{"a late line resets the redirects of another robots request", "politeness/replay.go", "if target != wanted && fetching != nil && fetching != p {", "if false && target != wanted && fetching != nil && fetching != p {", gate, false, seeds{gate: 8239}},
	{"a replay puts the rate's clock back", "politeness/pacer.go", "	p.taken = t\n", "", gate, false, seeds{gate: 583}},
	{"an own host of an old ledger rests on one of its clocks after a kill", "politeness/replay.go", "p.clocks.host.hold(now.Add(d), d, clause)", "_, _ = d, clause", 0, false, nil},
	{"an answer of another request ends a chain of redirects", "politeness/rules.go", "if o.chain != nil && o.chain.next == p.url {", "if o.chain != nil {", gate, false, seeds{gate: 8239}},
	{"robots.txt of a host that is tried once more is requested at once", "politeness/gate.go", "o.outage.since = now", "o.outage, _ = nil, now", gate, false, seeds{gate: 203}},
	{"back-off is swept", "politeness/host.go", "h.backoff == 0 && d <= least", "d <= least", gate, false, seeds{gate: 2499}},
	{"a Permit outlives the hours", "politeness/admit.go", "if last := c.openUntil(now, o); last != 0 {", "if last := c.openUntil(now, o); last != 0 && false {", gate, false, seeds{gate: 1181}},
	{"what is reported after it was taken back has no line", "politeness/report.go", "		p.p.unrecorded = g.journal.end(now, p.p, Reply{Aborted: true}, answer{}) // a check of the ledger counts the pause from this line\n", "", gate, false, seeds{gate: 4}},
}

// clocks protect against wall clocks that are set during a crawl, or between two of its processes. Simulations cannot find these mutants:
// virtual time has a single clock, which nobody sets.
var clocks = []mutant{
	{"a Permit lives longer when the wall clock is set back", "politeness/permit.go", "now.Sub(p.allowed) > p.life || ", "", 0, true, nil},
	{"a Permit lives longer while the machine is suspended", "politeness/permit.go", " || at(p.allowed).since(now) > p.life", "", 0, false, nil},
	{"rules of the future are expired", "politeness/origin.go", "!o.fetched.after(now.Add(unsteady)) && ", "", 0, false, nil},
	{"a ledger of the future is believed", "politeness/replay.go", "	g.correct(now, r.latest)\n", "", 0, false, nil},
	{"a snapshot of the future is believed", "politeness/snapshot.go", "	g.correct(now, time.Time{})\n", "", 0, false, nil},
	{"a ledger of the future hides later pauses", "politeness/replay.go", "		r.gate.rewind(now, r.latest)\n", "", 0, false, nil},
	{"pauses of the future are over", "politeness/pace.go", "p.notBefore = now.Add(p.delay)", "p.notBefore = now", 0, false, nil},
	{"a robots.txt that failed in the future is fetched again at once", "politeness/skew.go", "now.Add(robotsPause(o.outage.attempts))", "now", 0, false, nil},
	{"rules of the future are kept", "politeness/skew.go", "o.fetched, o.expires = at(now), min(o.expires, at(now))", "o.fetched = at(now)", 0, false, nil},
	{"the rate of the future is over", "politeness/skew.go", "		p.emptyRate(now)\n", "", 0, false, nil},
	{"the ledger does not say that its times go back", "politeness/journal.go", "Slot: p.slot, Behind: ledger.Duration(j.behind),", "Slot: p.slot,", 0, false, nil},
}

// handovers protect crawls on several machines. The simulations run on a single machine.
var handovers = []mutant{
	{"what has lost its hosts requests them", "politeness/report.go", "	if err := g.cfg.fenced(); err != nil {\n		return err\n	}\n", "", 0, false, nil},
	{"what a request changes is not among the changes", "politeness/report.go", "	g.touch(p)\n	p.clocks.host.learn(", "	p.clocks.host.learn(", 0, false, nil},
	{"the clocks of a request under way are not among the changes", "politeness/changes.go", "			g.touchClocks(p.holder)\n", "", 0, false, nil},
	{"a host that was given up for lack of an address is not among the changes", "politeness/report.go", "	g.touchHost(u, 0)\n", "", 0, false, nil},
	{"hosts that were forgotten stay among the changes", "politeness/evict.go", "			g.touched.forgotten(k)\n", "", 0, false, nil},
	{"rules that were dropped to make room are not among the changes", "politeness/evict.go", "			b.dropped(key, h)\n", "			_ = key\n", 0, false, nil},
	{"rules whose file is missing allow everything", "politeness/snapshot.go", "uint64(len(o.rules.body)) != o.size", "false", 0, false, nil},
	{"a host taken over does not rest", "politeness/takeover.go", "			p.inherit(now, d, clause, slack)", "			p.inherit(now, 0*d, clause, slack)", 0, false, nil},
	{"an address taken over does not rest", "politeness/takeover.go", "p.inherit(now, p.delay, p.clause.String(), slack)", "p.inherit(now, 0, p.clause.String(), slack)", 0, false, nil},
	{"another machine's clock is believed", "politeness/takeover.go", "p.hold(p.notBefore.Add(slack), p.delay, p.clause.String())", "p.hold(p.notBefore, p.delay, p.clause.String())", 0, false, nil},
	{"a host taken over does not rest as after a failure", "politeness/takeover.go", "		s.Backoff = min(max(firstBackoff, 2*s.Backoff), c.MaxBackoff)\n", "", 0, false, nil},
	{"what the gate learned is lost with a commit that failed", "crawler/commit.go", "		c.Values = m.gate(true)\n", "", 0, false, nil},
	{"what is taken over opens at once", "politeness/takeover.go", "	g.pacer.opening = now.Add(g.cfg.usualDelay())\n", "", 0, false, nil},
}

// sharings protect hosts that several crawls request. The simulations run a single crawl.
var sharings = []mutant{
	{"crawls that share a host request it at once", "politeness/internal/sharedclock/clock.go", "	if c.Turns > 0 {\n		if c.Holder", "	if false {\n		if c.Holder", 0, false, nil},
	{"a crawl obeys no pause of another", "politeness/internal/sharedclock/clock.go", "	if c.Waits || c.Owner.Gate != p.Gate {", "	if false {", 0, false, nil},
	{"a crawl's own delay does not follow the requests of others", "politeness/internal/sharedclock/clock.go", "	if c.Last.Gate != p.Gate && !c.Ended.IsZero() {\n		if own", "	if false {\n		if own", 0, false, nil},
	{"what a crawl was told holds for itself alone", "politeness/sharing.go", "c.Hold(now, me, owed.Ended, until)", "_ = until\n\t\tc.Hold(now, me, owed.Ended, owed.Ended.Add(t.Delay))", 0, false, nil},
	{"the delay of a crawl that waits holds for itself alone", "politeness/internal/sharedclock/clock.go", "		c.owe(ended, w)\n", "		_ = w\n", 0, false, nil},
	{"the delay of a crawl that begins to wait holds for itself alone", "politeness/internal/sharedclock/clock.go", "		c.owe(c.Ended, *w)\n", "		_ = w\n", 0, false, nil},
	{"crawls come in any order", "politeness/internal/sharedclock/clock.go", "if n := c.place(now, p.Gate); n > 0 {", "if n := c.place(now, p.Gate); n > 99 {", 0, false, nil},
	{"crawls share no address", "politeness/sharing.go", "if t.Addr = clockAddr(q.Addr); q.Addr.IsLoopback() {", "if q.Addr.IsLoopback() {", 0, false, nil},
	{"crawls take an address in IPv6 for another one", "politeness/sharing.go", "t.Addr = clockAddr(q.Addr)", "t.Addr = q.Addr", 0, false, nil},
	{"crawls share no domain", "politeness/sharing.go", "		t.Domain = a.step.url.Domain()\n", "", 0, false, nil},
	{"a crawl that does not come keeps its place", "politeness/internal/sharedclock/clock.go", "return w.Due.Add(waiting).Before(now)", "return false", 0, false, nil},
	{"a turn that was not used costs its place", "politeness/internal/sharedclock/clock.go", "	if ended.IsZero() {\n		return\n	}\n", "", 0, false, nil},
	{"a crawl that has left holds what it had", "politeness/sharing.go", "			s.done(t, Owed{now, rested, rested, rested, rested})", "			_ = rested", 0, false, nil},
	{"pauses of a resumed crawl hold for itself alone", "politeness/sharing.go", "			g.shareHold(r.Host, r.Until)\n", "", 0, false, nil},
	{"pauses of domains of a resumed crawl hold for itself alone", "politeness/sharing.go", "Domain: r.Domain}, Owed{Domain: r.Until})", "Domain: r.Domain}, Owed{})", 0, false, nil},
	{"clocks that crawls share are kept for ever", "politeness/sharing.go", "			delete(s.clocks, k)", "			_ = k", 0, false, nil},
	{"crawls of loopback ports wait for each other", "politeness/sharing.go", "clockAddr(q.Addr); q.Addr.IsLoopback() {", "clockAddr(q.Addr); false {", 0, false, nil},
	{"the delay of a host to which robots.txt redirects is not taken from another crawl", "politeness/sharedrobots.go", "return g.copyFile(hop, new(time.Time))", "return nil", 0, false, nil},
	{"crawls share no total rate", "politeness/admit.go", "	if err == nil && p.rate != nil {", "	if false {", 0, false, nil},
	{"a request that waits for the total rate holds its host", "politeness/admit.go", "		if err = g.cfg.Shared.Take(p.rate); err != nil {\n			g.cfg.Shared.Done(&p.turn, Owed{})\n		}", "		err = g.cfg.Shared.Take(p.rate)", 0, false, nil},
	{"a crawl of another interval does not obey the total rate", "politeness/sharing.go", "owed.Domain, owed.Total} {", "owed.Domain, owed.Ended} {", 0, false, nil},
	{"hours hold for one crawl alone", "politeness/admit.go", "g.shareQuiet(q, err)", "err", 0, false, nil},
	{"hours of a crawl that has left hold", "politeness/sharing.go", "		c.Leave(gate)\n", "		_ = c\n", 0, false, nil},
	{"a long pause is told to others after the ledger has its end", "politeness/report.go", "		g.announce(now, p.p, r, a)\n", "", 0, false, nil},
	{"a pause of robots.txt is told to others after the ledger has its end", "politeness/sharing.go", "max(s.Requested, d)", "s.Requested + 0*d", 0, false, nil},
	{"a turn without a permit is not given back", "politeness/admit.go", "		g.cfg.Shared.Done(&p.turn, Owed{})\n	}\n	return a, err\n", "	}\n	return a, err\n", 0, false, nil},
}

// exactness ensures other properties of a Gate. A crawl without them makes no forbidden request, but is slower, more cautious, or asks the
// Gate more often than necessary. Only politeness' own tests find these mutants.
var exactness = []mutant{
	// Consequence: hosts that failed once get requests more and more rarely.
	{"back-off does not shrink", "politeness/health.go", "h.backoff /= 2", "h.backoff /= 1", 0, false, nil},
	// Consequence: if one page fails at each attempt, the other pages of its site are not crawled.
	{"a page that fails again and again ends its host", "politeness/health.go", "	return noFault\n}", "	return pageFault\n}", 0, false, nil},
	{"a page that fails is the host's failure", "politeness/health.go", "		return pageFault", "		return wholeFault", 0, false, nil},
	{"a replay takes later attempts for first ones", "politeness/replay.go", "Addr: addr, Attempt: e.Attempt}", "Addr: addr}", 0, false, nil},
	{"a snapshot takes later attempts for first ones", "politeness/snapshot.go", "w.uint(uint64(p.attempt))", "w.uint(0)", 0, false, nil},
	// Consequence: hosts are given up because the crawler has aborted requests to them.
	{"aborted requests count as failures", "politeness/health.go", "case r.Aborted, !begun", "case !begun", 0, false, nil},
	// Consequence: a caller that waits until the given time is refused, and has to wait again.
	{"a wait that is over before it begins", "politeness/errors.go", "Until: cs[0].Until, Clauses", "Until: cs[0].Until.Add(-time.Hour), Clauses", 0, false, nil},
	// Consequence: some hosts at a crowded address are never served.
	{"whoever comes is served, whatever the turn", "politeness/shared.go", "return !now.Before(p.turn(now, min(p.place(h), strangers)))", "return true", 0, false, nil},
	{"a turn that is not taken never passes", "politeness/shared.go", "time.Duration(place) * grace)", "time.Duration(place) * time.Hour)", 0, false, nil},
	{"hosts come after their turn", "politeness/shared.go", "time.Duration(place-1) * pause", "time.Duration(place+9) * pause", 0, false, nil},
	// Consequence: hosts at a crowded address are given up because other hosts take long.
	{"waiting for the turn is a failure of robots.txt", "politeness/origin.go", "out.retryAt != 0 && late > 0", "false", 0, false, nil},
	{"few failures in a long time end a host", "politeness/health.go", " && int(h.failures)/int(wholeFault) >= minSilent", "", 0, false, nil},
	// Consequence: one attempt is counted twice, but only in the ledger.
	{"of two failed look-ups for one robots.txt both are noted", "politeness/report.go", "	g.naming.Lock()\n	defer g.naming.Unlock()\n", "", 0, false, nil},
	// Consequence: no page is requested until robots.txt has been fetched again.
	{"an old copy does not serve", "politeness/origin.go", "return min(o.retryAt(), o.fetched.add(maxStale))", "return o.expires", 0, false, nil},
	// Consequence: as above, no page is requested, because there is no copy.
	{"a copy in use is evicted", "politeness/evict.go", "o.rules == nil || o.failures() > 0:", "o.rules == nil:", 0, false, nil},
	{"files that are packed count as if they were parsed", "politeness/answer.go", "	case s.rules == nil:\n", "	case false:\n", 0, false, nil},
	{"files that were parsed again are never packed", "politeness/evict.go", "	g.rules.bound()\n", "", 0, false, nil},
	// Otherwise, the URLs of a host that was given up wait as long as the host has asked for, and are refused only then.
	{"a host that was given up keeps its URLs waiting", "politeness/report.go", "	if p.wantedHost.givenUp != nil {", "	if false {", 0, false, nil},
	// Consequence: with little memory, robots.txt is requested again before each page.
	{"rules of who still waits are dropped", "politeness/rules.go", "	group := o.group()\n	if group == nil {", "	group := o.group()\n	o.use = usedLately\n	if group == nil {", 0, false, nil},
}

// renderings ensure that a kill loses no response for a rendered page. Without any one of them, the simulation of rendered crawls must
// fail.
var renderings = []mutant{
	{"a page is kept when its first round has ended", "crawler/render.go", "	a.saveRendering(ctx, x, nil)", "", page, true, seeds{page: 2}},
	{"an answer is kept without its exchange", "crawler/commit.go", "		m.out.appendExchange(ctx, x)", "", page, false, seeds{page: 1}},
	{"answers wait for the end of a page", "crawler/commit.go", "len(m.ends) == 0 && len(m.values) > 0 && waited", "false", page, false, seeds{page: 1}},
	{"a page that has ended is kept", "crawler/render.go", "		a.values = recordValues(a.values, records)", "		_ = records", page, false, seeds{page: 1}},
	{"the end of a page is committed before that of its rendering", "crawler/commit.go", "	m.ends = append(m.ends, e)\n	m.add(values)", "	m.ends = append(m.ends, e)", page, false, seeds{page: 1}},
	{"a page that waits is requested again", "crawler/renderstore.go", "		s.keep(x.page.URL, x)", "		_ = x", page, false, seeds{page: 1}},
}

// samples ensure that the lists and the seed determine the sample of a crawl, at whatever time the crawl is killed. The tests of samples in
// package crawler find these mutants.
var samples = []mutant{
	{"a kill forgets what was listed", "crawler/checkpoint.go", "	maps.Copy(values, samples)\n", "	_ = samples\n", lots, true, nil},
	{"a sample is drawn before that is certain", "crawler/sample.go", "err = r.checkpoint.store.Commit(ctx, nil, frontier.Checkpoint{Values: values})", "_ = values", lots, false, nil},
	{"what was drawn before a kill is not queued", "crawler/sample.go", "		if err == nil {\n			err = r.addDrawn(ctx)", "		if err == nil && len(values) > 0 {\n			err = r.addDrawn(ctx)", lots, false, nil},
	{"a robots.txt that was read before a kill names nothing", "crawler/sample.go", "}, a.run.named(u))\n	return true", "}, nil)\n	return true", lots, false, nil},
	{"sitemaps named after the draw are read", "crawler/sample.go", "	return !l.Closed\n", "	return true\n", lots, false, nil},
	{"sitemaps named by other sites are read", "crawler/sample.go", "	if l == nil {\n		return false", "	if l == nil {\n		return true", lots, false, nil},
	{"http and https are two sites", "crawler/sample.go", "return s.samples[hostName(u)]", "return s.samples[u.Host()]", lots, false, nil},
	{"the scope hides lists", "crawler/judge.go", "return j.sampler.site(u) != nil", "return false", lots, false, nil},
	{"a list counts although its visit failed", "crawler/finish.go", "	if v.Outcome == Fetched {\n", "	if true {\n", lots, false, nil},
	{"another sample continues one", "crawler/checkpoint.go", "was.Sample != is {", "false {", lots, false, nil},
	{"there is no end to what is remembered", "crawler/sample.go", "if len(s.samples)*of.N > maxSampled {", "if false {", lots, false, nil},
	{"links are followed beside a sample", "crawler/links.go", "	case cfg.Sample.N > 0:\n", "	case false:\n", lots, false, nil},
}
