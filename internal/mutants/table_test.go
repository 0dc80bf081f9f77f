package mutants

// mutant is one textual change that switches one protection off.
type mutant struct {
	name     string
	file     string // from the module's root
	old, new string // old occurs once
	unit     string // the package whose tests must fail
	seen     bool   // the simulated crawls must fail, too
	quick    bool   // also without -mutants.all
}

const gate = "./politeness"

var table = []mutant{
	// Pauses and flights: P3 to P6.
	{"a request is followed by no pause", "politeness/pace.go", "p.hold(end.Add(d), d, clause)", "p.hold(end, d, clause)", gate, true, true},
	{"a request in flight is no hindrance", "politeness/pace.go", "return p.holder == nil && !now", "return !now", gate, false, false},
	{"the address has no clock", "politeness/clocks.go", "c.addr != nil && !g.opens(now, &c.addr.pace)", "false", gate, true, false},
	{"the domain has no clock", "politeness/clocks.go", "c.domain != nil && !g.opens(now, &c.domain.pace)", "false", gate, false, false},
	{"IPv4 in IPv6 is another address", "politeness/clocks.go", "addr.Unmap().WithZone", "addr.WithZone", gate, false, false},
	{"the hop of a redirected robots.txt holds the wrong host", "politeness/admit.go", "th = g.host(s.url)", "th = g.host(a.URL)", gate, true, false},
	{"slow answers lengthen nothing", "politeness/host.go", "l > d {", "false && l > d {", gate, true, false},
	{"latency is measured without the ledger's part", "politeness/report.go", ".Sub(p.began))", ".Sub(orTime(r.Written, p.began)))", gate, false, false},
	{"failures lengthen nothing", "politeness/host.go", "if h.backoff > d {", "if false {", gate, false, false},
	{"back-off does not grow", "politeness/host.go", "2*h.backoff", "h.backoff", gate, false, false},
	{"back-off does not shrink", "politeness/host.go", "h.backoff /= 2", "h.backoff /= 1", gate, false, false},
	{"a broken answer is a good one", "politeness/report.go", "r.Truncated == CutShort ||", "", gate, false, false},
	{"aborted requests count as failures", "politeness/report.go", "case r.Aborted, !begun", "case !begun", gate, false, false},
	{"the last failure ends nothing", "politeness/host.go", "case int(h.failures) >= g.cfg.MaxFailures:", "case false:", gate, false, false},
	{"silence ends nothing", "politeness/host.go", "case h.failing.since(now) >= g.cfg.MaxSilence:", "case false:", gate, false, false},
	{"no least delay", "politeness/report.go", "d = max(d, MinDelay)", "_ = d", gate, false, false},
	{"no rate in all", "politeness/clocks.go", "if g.total == nil {", "if true {", gate, true, false},
	{"a wait that is over before it begins", "politeness/clocks.go", "Until: cs[0].Until, Clauses", "Until: cs[0].Until.Add(-time.Hour), Clauses", gate, false, false},
	{"all waiters of an address are told one time", "politeness/pace.go", "next.After(t) && p.promised.After(now)", "false", gate, false, false},

	// Crawl-delay and Retry-After: P5, P7.
	{"Crawl-delay is not obeyed", "politeness/host.go", "if o != nil && o.wish > d {", "if false {", gate, true, false},
	{"Crawl-delay of a redirected file counts from the next request", "politeness/origin.go", "if d > 0 && p.ended != 0 {", "if false {", gate, true, false},
	{"a long Crawl-delay ends nothing", "politeness/origin.go", "if d > g.cfg.MaxCrawlDelay {", "if false {", gate, true, false},
	{"Retry-After is ignored", "politeness/report.go", "g.obeyRetryAfter(now, h, r)", "", gate, true, true},
	{"Retry-After is not held", "politeness/retry.go", "h.hold(t, t.Sub(now), ClauseRetryAfter)", "", gate, true, false},
	{"Retry-After too long ends nothing", "politeness/retry.go", "if t.Sub(now) > g.cfg.MaxRetryAfter {", "if false {", gate, false, false},
	{"Retry-After as a date is ignored", "politeness/retry.go", "return t, t.After(now)", "return t, false", gate, true, false},
	{"a server's slow clock is believed", "politeness/retry.go", "t = t.Add(clockSkew(r, now))", "", gate, true, false},
	{"a number too large is no Retry-After", "politeness/retry.go", "err == nil || errors.Is(err, strconv.ErrRange)", "err == nil || errors.Is(err, strconv.ErrRange) && false", gate, false, false},

	// robots.txt: P1, P2, P8.
	{"robots.txt is not asked for", "politeness/admit.go", "return step{url: o.next(a.URL), purpose: Robots}, nil", "return page, nil", gate, true, false},
	{"rules do not forbid", "politeness/admit.go", "!v.Allowed || len(g.cfg.RefuseUsage) > 0", "len(g.cfg.RefuseUsage) > 0 && !v.Allowed", gate, true, true},
	{"no answer for robots.txt means no rules", "politeness/origin.go", "return answer{policy: robots.Unreachable}", "return answer{policy: robots.AllowAll}", gate, true, false},
	{"5xx for robots.txt means no rules", "politeness/origin.go", "case a.policy == robots.Unreachable:", "case false:", gate, true, false},
	{"robots.txt is asked for again at once", "politeness/origin.go", "out.retryAt = at(now.Add(robotsPause(out.attempts)))", "out.retryAt = at(now)", gate, true, false},
	{"an unreachable robots.txt is asked for while it has to wait", "politeness/admit.go", "case o.retryAt().after(now):", "case false:", gate, false, false},
	{"several ask for one robots.txt at once", "politeness/admit.go", "case o.asking != nil:", "case false:", gate, false, false},
	{"robots.txt is kept for a month", "politeness/origin.go", "robots.Freshness(r.Header, a.ended)", "30 * robots.Freshness(r.Header, a.ended)", gate, true, false},
	{"an old copy serves for ever", "politeness/origin.go", "return min(o.retryAt(), o.fetched.add(maxStale))", "return o.retryAt()", gate, true, false},
	{"an old copy does not serve", "politeness/origin.go", "return min(o.retryAt(), o.fetched.add(maxStale))", "return o.expires", gate, false, false},
	{"an unreachable robots.txt is never given up", "politeness/origin.go", "		o.gone = true", "", gate, false, false},
	{"redirects of robots.txt are followed without end", "politeness/origin.go", "len(hops) < robots.MaxRedirects", "len(hops) < 1000", gate, true, false},
	{"a redirect that is followed is forgotten", "politeness/origin.go", "append(hops, a.to.String())", "nil", gate, false, false},
	{"a page passes for a robots.txt", "politeness/admit.go", "page := step{url: a.URL, purpose: Page}", "page := step{url: a.URL, purpose: a.Purpose}", gate, false, false},
	{"an opted-out host gets redirect hops", "politeness/admit.go", "case target != a.URL && g.optedOut(target):", "case false:", gate, false, false},
	{"an opted-out host gets requests", "politeness/admit.go", "if g.optedOut(a.URL) {", "if false {", gate, false, false},
	{"an override never ends", "politeness/override.go", "!o.Until.IsZero() && !now.Before(o.Until)", "false", gate, false, false},
	{"a host that was given up is served", "politeness/admit.go", "	if h.gone != nil {", "	if false {", gate, false, false},
	{"a hop goes to a host that was given up", "politeness/admit.go", "if th != h && th.gone != nil {", "if false {", gate, false, false},
	{"quiet hours are not kept", "politeness/hours.go", "if until.After(now) {", "if false {", gate, false, false},

	// Permits and the ledger: P10, P11.
	{"a Permit can be used twice", "politeness/permit.go", "case p.state.CompareAndSwap(from, to):", "case p.state.CompareAndSwap(from, to) || p.state.Load() >= to:", gate, false, true},
	{"a Permit does not expire", "politeness/permit.go", "	case p.expired(now):", "	case false:", gate, false, false},
	{"a Permit outlives its rules", "politeness/admit.go", "p.expires = min(p.expires, s.valid)", "_ = s", gate, true, false},
	{"a Permit outlives its claim", "politeness/admit.go", "p.expires = min(p.expires, at(a.Deadline))", "_ = a", gate, false, false},
	{"a second Report counts", "politeness/report.go", "before != reported && before != lapsed", "before != -1", gate, false, false},
	{"a request under way is taken back", "politeness/report.go", "p.state.CompareAndSwap(redeemed, lapsed)", "p.state.CompareAndSwap(begun, lapsed)", gate, false, false},
	{"a Permit is taken back before it expires", "politeness/report.go", "if p == nil || !p.abandoned(now) {", "if p == nil {", gate, false, false},
	{"a request goes out that the ledger has not", "politeness/permit.go", "if err := p.gate.begin(p, now); err != nil {", "if err := p.gate.begin(p, now); err != nil && false {", gate, false, false},
	{"the User-Agent has no contact", "politeness/identity.go", `return ua + " (+" + id.Contact + ")"`, "return ua", gate, true, false},
	{"an address for a page's host serves a hop on another", "politeness/admit.go", "case a.Next != target && (!a.Next.IsZero() || target.Host() != a.URL.Host()):", "case false:", gate, false, false},
	{"no contact is needed", "politeness/admit.go", "case g.cfg.Contactless && !a.Addr.IsLoopback():", "case false:", gate, false, false},

	// What must not be forgotten: P9.
	{"long pauses are swept", "politeness/memory.go", "d <= g.cfg.Delay &&", "(d <= g.cfg.Delay || true) &&", gate, false, false},
	{"waits are swept", "politeness/memory.go", "if !p.free(now) {", "if p == nil {", gate, false, false},
	{"addresses are swept while they wait", "politeness/memory.go", "		if p.idle(now) {\n			delete(g.addrs", "		if p != nil {\n			delete(g.addrs", gate, false, false},
	{"failures of robots.txt are swept", "politeness/memory.go", "o.failures() == 0 && o.chase == nil", "o.chase == nil", gate, false, false},
	{"a pause is evicted with its rules", "politeness/memory.go", "o.rules, o.known = nil, false", "o.rules, o.known, o.wish = nil, false, 0", gate, false, false},
	{"a copy in use is evicted", "politeness/memory.go", "o.rules == nil || o.failures() > 0:", "o.rules == nil:", gate, false, false},
	{"a snapshot has no host's waits", "politeness/snapshot.go", "	w.time(p.notBefore)", "	w.time(time.Time{})", gate, false, false},
	{"a snapshot forgets what is in flight", "politeness/snapshot.go", "w.bool(p.holder != nil)\n	if p.holder != nil {", "w.bool(false)\n	if false {", gate, false, false},
	{"a snapshot has no back-off", "politeness/snapshot.go", "w.duration(h.backoff)", "w.duration(0)", gate, false, false},
	{"a snapshot has no robots.txt retry", "politeness/snapshot.go", "w.instant(o.outage.retryAt)", "w.instant(0)", gate, false, false},
	{"a snapshot has no hosts given up", "politeness/snapshot.go", "w.bool(h.gone != nil)\n	if h.gone != nil {", "w.bool(false)\n	if false {", gate, false, false},
	{"a snapshot has no Crawl-delay", "politeness/snapshot.go", "w.duration(o.wish)", "w.duration(0)", gate, false, false},
	{"a snapshot has no rate", "politeness/snapshot.go", "g.restoreRate(now, r.time())", "r.time()", gate, false, false},
	{"a snapshot has no latency", "politeness/snapshot.go", "w.duration(h.latency)", "w.duration(0)", gate, false, false},

	// What a process that is killed leaves: P9.
	{"a replay forgets what was in flight", "politeness/replay.go", "r.report(now, p, Reply{Aborted: true}, answer{})", "_ = now", gate, true, false},
	{"a replay forgets what requests came to", "politeness/replay.go", "		return r.end(p)\n	case eventUnsent:", "		return nil\n	case eventUnsent:", gate, true, false},
	{"a replay forgets what was not sent", "politeness/replay.go", "return r.unsent()", "return nil", gate, false, false},
	{"a replay forgets names without an address", "politeness/replay.go", "g.failed(e.time(), wanted, target, errUnsent)", "_, _, _ = g, wanted, target", gate, false, false},
	{"a replay counts pauses from the answer's end", "politeness/record.go", "[]time.Time{e.reported, e.ended}", "[]time.Time{e.ended, e.reported}", gate, false, false},
	{"a replay keeps every robots.txt for a day", "politeness/record.go", "max(e.expires.Sub(ended), robots.MinFreshness)", "robots.MaxFreshness", gate, false, false},
	{"a replay takes any body for robots.txt", "politeness/replay.go", "err != nil || !r.line.isHash(sha256.Sum256(b))", "err != nil || !r.line.isHash(sha256.Sum256(b)) && false", gate, false, false},
	{"a replay takes a robots.txt without its body for empty", "politeness/replay.go", "	if missing {", "	if false && missing {", gate, false, false},
	{"a replay forgets redirects", "politeness/replay.go", "p.wantedHost.origin(p.wanted).chase = r.chases[p.id]", "_ = p", gate, false, false},
	{"a replay forgets where redirects lead", "politeness/record.go", `{"Location", e.location}`, `{"Location", ""}`, gate, false, false},
	{"a replay forgets Retry-After", "politeness/record.go", `{"Retry-After", e.retryAfter}`, `{"Retry-After", ""}`, gate, false, false},
	{"a replay believes a slow clock", "politeness/record.go", `{"Date", e.date}`, `{"Date", ""}`, gate, false, false},
	{"a replay counts twice what the snapshot has", "politeness/replay.go", "seekLine(ledger, mark)", "seekLine(ledger, 0)", gate, false, false},
	{"a replayed Gate admits at once", "politeness/replay.go", "g.opening = now.Add(max(g.cfg.Delay, MinDelay))", "", gate, false, false},
	{"a snapshot forgets that a request had begun", "politeness/snapshot.go", "p.started.Store(!p.began.IsZero())", "", gate, false, false},
	{"a snapshot is taken between a line and its effect", "politeness/snapshot.go", "	g.recording.Lock()\n	defer g.recording.Unlock()\n", "", gate, false, false},
	{"lines follow one that was written in part", "politeness/ledger.go", "if err != nil && n > 0 {", "if false {", gate, false, false},
	{"a torn line stays in the ledger", "politeness/ledgerfile.go", "		err = f.Truncate(size)", "		err = nil", gate, false, false},
	{"a connection may be under way when its Permit is taken back", "politeness/permit.go", "p.expired(now) && now.Sub(p.allowed) > p.gate.cfg.PermitTTL", "p.expired(now)", gate, false, false},
	{"what is reported after it was taken back is followed by no pause", "politeness/report.go", "p.p.clocks.hold(now.Add(d), d, clause)", "_, _ = d, clause", gate, false, false},
}
