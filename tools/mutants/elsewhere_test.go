package mutants

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// elsewhere lists mutants of protections that do not concern politeness. For each of them, a test of the table's packages must fail.
var elsewhere = [][]mutant{revisits, schedules, mirrors, machines, audits, keeps, queues, services, estimates, texts, documents, renderingNodes, outputs, orders, scores, storedScores, uploads}

// seenBy lists the tests that must fail for the mutants of a table, by the directory of the first file in the table.
var seenBy = map[string]string{
	"job/watch":          "^Test(Watch|WatchDiscovers|KilledWatches|WatchToBeKilled|GoneAndBack|SignalsAreRecalled)$",
	"job/recrawl":        "Schedule|Signals|Pages|History",
	"job/export/mirror":  ".",
	"politeness/machine": ".",
	"politeness/audit":   ".",

	"job/estimate": ".",

	"cmd/amble/internal/kept": ".",
	"jobs/server":             "^Test([^P]|P[^a]|Page[^I])", // without the tests that need a browser
	"jobs":                    "Key|Paused|Stopped|Priority|MissedRuns|Overlap|Once|Removed|Webhook",
	"job/export/text":         ".",
	"article/document":        "Isolated|Misbehave|Links",
	"job":                     "^Test(ItemsOfKilledJobs|JobToBeKilled|.*Segments?.*|ClaimOf.*|GrownFiles.*|JobIsResumedFrom.*|JobOfLostMachine.*|OnlyOneDirectory.*|DamagedQueue.*|SpaceLeft.*|RobotsFilesMake.*)$",
	"crawler":                 "^Test(BestFirst|Rescore)",
	"cluster/work":            "Renders|MaxResources",
	"sink/items":              "^Test(Files|StoreThatIsAway)",
	"frontier":                "^TestMemoryConforms$/^(F23|random)",
	"frontier/disk":           "^(TestParts|TestCopyWithoutURLs|TestCopyWithoutURLsRefusesRubbish|TestStoreConforms)$/^(F23|random)",
}

// renderingNodes let a cluster's node request the resources of pages no more often than a crawl on one machine does.
var renderingNodes = []mutant{
	{"each shard keeps what its pages load for itself", "cluster/work/node.go", "cfg.RenderStore, cfg.Limits.Resources = resources, maxResources", "_, cfg.Limits.Resources = resources, maxResources", 0, false, nil},
}

// estimates ensure that confidence intervals are correct.
var estimates = []mutant{
	{"a page stands for itself alone", "job/estimate/sample.go", " / s.Probability }", " }", 0, false, nil},
	{"pages without an answer stand for nothing", "job/estimate/sample.go", "float64(s.Drawn) / float64(s.answered) / ", "1 / ", 0, false, nil},
	{"a redirect is an answer", "job/estimate/sample.go", "			end = next\n", "			break\n", 0, false, nil},
	{"a page that was refused answers", "job/estimate/sample.go", "			p.answered = end.status.Valid", "			p.answered = true\n		default:\n			p.answered = true", 0, false, nil},
	{"an interval is too narrow", "job/estimate/statistics.go", "		variance += u.weight * (u.weight - 1) * residual * residual", "		variance += (u.weight - 1) * residual * residual", 0, false, nil},
	{"a total is too certain", "job/estimate/statistics.go", "		variance += u.weight * (u.weight - 1) * u.value * u.value", "		variance += (u.weight - 1) * u.value * u.value", 0, false, nil},
	{"sites are no sample", "job/estimate/statistics.go", "			picked[i] = random.IntN(sites)", "			picked[i] = i", 0, false, nil},
	{"text is a number", "job/estimate/sample.go", "		case int64, float64:", "		case string:\n		case int64, float64:", 0, false, nil},
}

// queues protect services that run several jobs.
var queues = []mutant{
	{"what was paused goes on after a restart", "jobs/jobs.go", "cmp.Or(e.asked, Queued)", "cmp.Or(Queued, e.asked)", 0, false, nil},
	{"a directory is opened twice", "jobs/jobs.go", "err == nil && !mine", "err == nil && !mine && false", 0, false, nil},
	{"what is paused is queued", "jobs/run.go", "cmp.Or(e.asked, Queued)", "cmp.Or(Queued, e.asked)", 0, false, nil},
	{"visits that are not committed are results", "jobs/run.go", "e.lines += int64(t.Visits)", "e.lines += int64(t.Visits) + 1", 0, false, nil},
	{"results begin anew after each stop", "jobs/run.go", "	e.lines, e.crawl = lines, j.Crawler()\n", "	e.lines, e.crawl = lines*0, j.Crawler()\n", 0, false, nil},
	{"a request that is repeated starts another job", "jobs/request.go", "q.Key != \"\" && e != nil", "q.Key != \"\" && e != nil && false", 0, false, nil},
	{"a job that runs is removed", "jobs/control.go", "	case e.info.State == Running:\n		err = ", "	case false:\n		err = ", 0, false, nil},
	{"a run that was started counts as missed", "jobs/schedules.go", "if m.keys[t.key(due)] == nil {", "if m.keys[t.key(due)] == nil || true {", 0, false, nil},
	{"a webhook that does not answer is not told again", "jobs/webhooks.go", "if err != nil && !old {", "if err != nil && !old && false {", 0, false, nil},
	{"what a webhook was not told is lost with the process", "jobs/jobs.go", "s := stored{e.info, e.pending}", "s := stored{e.info, nil}", 0, false, nil},
	{"a process that is killed while a job stops does not tell it", "jobs/jobs.go", "		s.Untold = m.events(e, s.State)", "		s.Untold = m.events(e, Queued)", 0, false, nil},
	{"runs of a schedule overlap", "jobs/schedules.go", "before != nil && !before.info.State.Ended()", "before != nil && !before.info.State.Ended() && false", 0, false, nil},
}

// services protect servers that run jobs for others.
var services = []mutant{
	{"a token without a secret of the file", "jobs/server/tokens.go", "subtle.ConstantTimeCompare(hash[:], c.hash[:]) == 1", "subtle.ConstantTimeCompare(hash[:], c.hash[:]) <= 1", 0, false, nil},
	{"whoever reads may write", "jobs/server/server.go", "	if !c.may(scope) {", "	if !c.may(Read) {", 0, false, nil},
	{"requests without a token", "jobs/server/server.go", "	if c == nil {", "	if c == nil && scope == Write {", 0, false, nil},
	{"tokens can be guessed", "jobs/server/server.go", "c == nil && !s.guesses.AllowN(now, 1)", "false", 0, false, nil},
	{"a token makes any number of requests", "jobs/server/server.go", "d := c.wait(now); d > 0", "d := c.wait(now); d < 0", 0, false, nil},
	{"a token starts any number of jobs", "jobs/server/routes.go", "	if n >= c.MaxJobs {", "	if n > 10*c.MaxJobs {", 0, false, nil},
	{"pages of other sites make requests", "jobs/server/server.go", "case !s.hosts.Ours(r.Host, port):", "case !s.hosts.Ours(r.Host, port) && false:", 0, false, nil},
	{"requests that a proxy had in the clear", "jobs/server/server.go", "s.config.Proxied && ", "false && ", 0, false, nil},
	{"clients set keys that nobody has classified", "jobs/server/settings.go", "why := refused[s.Name]; why != \"\"", "why := \"\"; why != \"\"", 0, false, nil},
	{"the cookie of a session is not compared", "jobs/server/sessions.go", "!localweb.Same(one.cookie, cookie.Value)", "cookie.Value == \"\"", 0, false, nil},
	{"the path of a session is not needed", "jobs/server/sessions.go", "	one := s.all[sessionRoot+secret]\n", "	one := s.all[sessionRoot+secret]\n	for _, o := range s.all {\n		one = o\n	}\n", 0, false, nil},
	{"scripts read the cookie of a session", "jobs/server/sessions.go", "HttpOnly: true", "HttpOnly: false", 0, false, nil},
	{"sessions are not bounded", "jobs/server/sessions.go", "len(s.all) >= maxSessions", "false", 0, false, nil},
	{"other sites give orders on the page", "jobs/server/page.go", "err == nil && crossOrigin.Check(q) != nil", "false", 0, false, nil},
	{"other sites log in", "jobs/server/page.go", "	err := crossOrigin.Check(r)\n", "	var err error\n", 0, false, nil},
	{"whoever reads gives orders on the page", "jobs/server/page.go", "s.admit(one.client, scope, began)", "s.admit(one.client, Read, began)", 0, false, nil},
	{"the audit log has the path of a session", "jobs/server/page.go", "http.StripPrefix(one.path, s.pages).ServeHTTP(w, ", "func(w http.ResponseWriter, r *http.Request) {\n		q := r.URL.Path\n		r.URL.Path = q[len(one.path):]\n		h, _ := s.pages.Handler(r)\n		r.URL.Path = q\n		h.ServeHTTP(w, r)\n	}(w, ", 0, false, nil},
	{"a second click starts another job", "jobs/server/page.go", "	q, err := s.asked(v, r)\n	if err == nil && q.Key == \"\" {", "	q, err := s.asked(v, r)\n	q.Key += rand.Text()\n	if err == nil && q.Key == \"\" {", 0, false, nil},
	{"seeds are private addresses", "jobs/server/settings.go", "err == nil && !open(addr)", "err == nil && !open(addr) && false", 0, false, nil},
	{"names of seeds have private addresses", "jobs/server/settings.go", "return slices.DeleteFunc(private, func(a netip.Addr) bool { return !open(a) }), nil", "return private, nil", 0, false, nil},
	{"webhooks lead to other hosts", "jobs/server/webhooks.go", "strings.HasPrefix(text, w.Prefix)", "true || strings.HasPrefix(text, w.Prefix)", 0, false, nil},
	{"webhooks lead out of their prefix", "jobs/server/webhooks.go", "u.Path != clean", "false", 0, false, nil},
	{"an answer that breaks off seems whole", "jobs/server/results.go", "err == nil && !info.State.Ended()", "err == nil && !info.State.Ended() && false", 0, false, nil},
	{"other machines connect without encryption", "jobs/server/listen.go", "!proxied && !localweb.OnLoopback(ln.Addr())", "false", 0, false, nil},
}

// texts protect exported texts.
var texts = []mutant{
	{"a page whose site refuses the use has a row", "job/export/text/rows.go", "slices.Contains(c.o.Refuse, u.Use)", "slices.Contains(c.o.Refuse, u.Use) && false", 0, false, nil},
	{"rows of one URL are in the order of the jobs", "job/export/text/rows.go", "c.created[p.job], v.WARC.File", "fmt.Sprint(p.job), v.WARC.File", 0, false, nil},
	{"a page loses most of its text", "job/export/text/repeated.go", "if 2*a.Words < words {", "if 2*a.Words < words && false {", 0, false, nil},
	{"what three pages have is repeated", "job/export/text/repeated.go", "texts < repeatedPages", "texts < repeatedPages-1", 0, false, nil},
	{"what a few of many pages have is repeated", "job/export/text/repeated.go", "texts*repeatedShare < pages", "texts*repeatedShare < pages && false", 0, false, nil},
	{"each copy of a page counts", "job/export/text/repeated.go", "if !bytes.Equal(b[16:24], text) {", "if true {", 0, false, nil},
	{"a page that the crawl is refused is read", "job/export/text/reader.go", "v.Outcome == crawler.Refused || ", "", 0, false, nil},
}

// documents protect against malicious files.
var documents = []mutant{
	{"a document takes any memory", "article/document/isolated.go", "q := request{Type: mediaType, Memory: r.MaxMemory}", "q := request{Type: mediaType}", 0, false, nil},
	{"a document sees the environment", "article/document/isolated.go", "	cmd.Env = []string{", "	_ = []string{", 0, false, nil},
}

// outputs protect the files that a job writes.
var outputs = []mutant{
	{"texts are not committed", "job/text.go", "o.keep(k)", "o.closes(k)", 0, false, nil},
	{"a commit does not store that a segment is closed", "job/segmented.go", "		now.Closed, grown, s.full = true, true, true", "		grown, s.full = true, true", 0, false, nil},
	{"a closed segment may be longer than committed", "job/segmented.go", "	case err == nil && size > committed:\n		return longer", "	case false:\n		return longer", 0, false, nil},
	{"a small segment stays open for ever", "job/segmented.go", "(open.bytes >= s.limit || s.old())", "open.bytes >= s.limit", 0, false, nil},
	{"a crawl writes until its space is used up", "job/space.go", "s.MaxDisk - s.MaxDisk/spareShare - s.Used", "s.MaxDisk - s.Used", 0, false, nil},
	{"robots.txt files make no room", "job/upload.go", "				err = u.storeRobotsAgain(ctx)", "				err = nil", 0, false, nil},
	{"a claim that was cut off bars the prefix", "job/upload.go", "if o.Name == probeName && ", "if o.Name == probeName && false && ", 0, false, nil},
	{"a file that grew after it was stored stays as it was", "job/upload.go", "ok && was == FileFact{e.Bytes, e.SHA256})", "ok && was != FileFact{})", 0, false, nil},
	{"a job is crawled in two places", "job/lease.go", "		return l.held(u.list.Store)\n	}\n	return l.moved(u.j.dir)", "		return l.held(u.list.Store)\n	}\n	return nil", 0, false, nil},
	{"a job is taken from a process that crawls it", "job/lease.go", "if l.Ended || age >= leaseTime", "if true || age >= leaseTime", 0, false, nil},
	{"what is newer than the queue stays listed", "job/restore.go", " && n >= last[whole]:\n			continue", " && n > 1<<30:\n			continue", 0, false, nil},
	{"requests that are newer than the queue are forgotten", "job/restore.go", "case whole == LedgerName && n >= last[whole]:", "case whole == LedgerName && n > 1<<30:", 0, false, nil},
	{"requests after the last commit are not collected", "job/assemble.go", "a.whole(LedgerName)", "a.committed(LedgerName), error(nil)", 0, false, nil},
	{"a robots.txt after the last commit is not collected", "job/assemble.go", "a.whole(name)", "a.committed(name), error(nil)", 0, false, nil},
	{"a process that stored nothing seems to be of an earlier version", "job/segment.go", "			s.Stored = s.Begun\n", "", 0, false, nil},
	{"a changed part of a queue is used", "job/queue.go", "case factOfBytes(b).SHA256 != sum:", "case false:", 0, false, nil},
	{"a queue may name any file", "job/queue.go", "if !isQueued(f.Name) || ", "if ", 0, false, nil},
	{"what is in a store counts as made here", "job/restore.go", "	manifest.Maker = &Maker{} // anyone who can write to the store may have written it\n", "", 0, false, nil},
}

// orders determine which URL is requested first.
var orders = []mutant{
	{"a better host is not waited for", "crawler/config.go", "	return bestPatience\n", "	return 0 * bestPatience\n", 0, false, nil},
	{"a random sample is scored", "crawler/control.go", "	if _, ok := c.cfg.Order.Seed(); ok {", "	if false {", 0, false, nil},
	{"the queue of a job that does not run is not scored", "crawler/control.go", "	if c.cfg.Frontier != nil {", "	if c.cfg.Frontier != nil && len(c.runs) > 0 {", 0, false, nil},
}

// uploads ensure that a store gets each row exactly once.
var uploads = []mutant{
	{"a file is stored before its commit", "sink/items/upload.go", " && x.last <= committed {", " {", 0, false, nil},
	{"a file is stored twice", "sink/items/upload.go", "u.stored[name] != \"\" || round", "round", 0, false, nil},
	{"what was not committed stays in the store", "sink/items/upload.go", "		if err := u.store.Delete(ctx, path.Join(u.prefix, name)); err != nil {", "		if err := ctx.Err(); err != nil {", 0, false, nil},
}

// scores ensure that each URL stays in the queue exactly once when the scores of a queue in memory are computed again.
var scores = []mutant{
	{"what a raise has left comes back", "frontier/rescore.go", "		case m.raised(held{it, h}):\n", "		case m.raised(held{it, h}) && false:\n", 0, false, nil},
	{"a score says nothing of the valid record", "frontier/rescore.go", "		m.ranks.set(v.hash, ", "		m.ranks.set(v.hash+1, ", 0, false, nil},
	{"a queue is half scored when a function panics", "frontier/rescore.go", "		ranks = append(ranks, rank)\n", "		ranks = append(ranks, rank)\n		m.ranks.set(m.hashOf(held{it, h}), levelOf(it.priority, rank), false)\n", 0, false, nil},
}

// storedScores ensure the same for queues on disk.
var storedScores = []mutant{
	{"a URL is scored again in its new place", "frontier/disk/rescore.go", "			if e.number >= newest {\n", "			if e.number >= newest && false {\n", 0, false, nil},
	{"what a raise has left is scored", "frontier/disk/rescore.go", " || st.isStale(e.place) {", " {", 0, false, nil},
	{"a lower score is known to be the highest", "frontier/disk/known.go", "				n.forget(&links[i].id)\n", "", 0, false, nil},
	{"a copy without URLs is opened as a whole one", "frontier/disk/copy.go", " && k.noURLs && k.mark != (Mark{}) {", " && false {", 0, false, nil},
	{"a copy without URLs takes part of a group", "frontier/disk/copy.go", "!more && n != group.Count()", "false", 0, false, nil},
	{"a part keeps what was there before", "frontier/disk/part.go", "		if err := g.batch.DeleteRange([]byte{0}, []byte{0xff}, nil); err != nil {\n			return err\n		}\n", "", 0, false, nil},
}

// keeps protect jobs in a store.
var keeps = []mutant{
	{"a kept job that runs is removed", "cmd/amble/internal/kept/kept.go", "	if read(j.Dir).State == \"running\" {", "	if false {", 0, false, nil},
	{"a kept job that began after it was listed is removed", "cmd/amble/internal/kept/kept.go", "	if read(j.Dir).State == \"running\" {", "	if j.State == \"running\" {", 0, false, nil},
	{"a name leaves the directory of kept jobs", "cmd/amble/internal/kept/kept.go", "strings.ContainsAny(name, `/\\:`)", "false", 0, false, nil},
	{"a name follows a link", "cmd/amble/internal/kept/kept.go", "	info, err := os.Lstat(path)\n", "	info, err := os.Stat(path)\n", 0, false, nil},
}

// revisits protect watches.
var revisits = []mutant{
	// The budget of requests.
	{"a host has no budget", "job/watch/budget.go", "&budget{most: most,", "&budget{most: 1 << 30,", 0, false, nil},
	{"a request counts for half a day", "job/watch/budget.go", "now.Sub(s.ends[n]) >= day", "now.Sub(s.ends[n]) >= day/2", 0, false, nil},
	{"requests of earlier processes do not count", "job/watch/budget.go", "			b.ended(host, at)\n		}\n		clear(open)", "			_, _ = at, host\n		}\n		clear(open)", 0, false, nil},
	{"answered requests of earlier processes do not count", "job/watch/budget.go", "			if host, ok := open[e.ID]; ok {", "			if host, ok := open[e.ID]; ok && host == \"\" {", 0, false, nil},
	{"a request that a kill cut off counts anew at each start", "job/watch/budget.go", "if e.Run != run && !at.IsZero() {", "if run == \"\" && !at.IsZero() {", 0, false, nil},
	{"new pages come all at once", "job/watch/queue.go", "	h.turn = turn.Add(h.step)", "	h.turn = turn", 0, false, nil},
	{"the limits of the job do not hold", "job/watch/queue.go", "if c.Kind != frontier.KindSitemap && w.full(c.URL) {", "if false {", 0, false, nil},
	// Nothing is sent twice without need.
	{"requests are not conditional", "job/watch/learn.go", "	r.past = crawler.Past{Validators: s.valid, SHA256: sum}", "	r.past = crawler.Past{SHA256: sum}", 0, false, nil},
	{"a page that is gone is requested on condition", "job/watch/learn.go", "		r.gone, r.past = true, crawler.Past{}", "		r.gone = true", 0, false, nil},
	// A change is reported once, and the report survives a kill.
	{"changes are not part of the visit", "job/watch/learn.go", "	return v.Emit(c)\n", "	return nil\n", 0, false, nil},
	{"a page that is gone is gone at each visit", "job/watch/learn.go", "		if !r.gone {\n", "		if true {\n", 0, false, nil},
	{"visits are forgotten", "job/watch/learn.go", "	w.note(&s)\n	w.announced(said.Announced)", "	w.announced(said.Announced)", 0, false, nil},
	{"announcements are forgotten", "job/watch/learn.go", "	if len(news) == 0 {", "	if true {", 0, false, nil},
	{"what signals missed is forgotten", "job/watch/learn.go", "		missed: said.Signal == Missed,\n", "", 0, false, nil},
	{"a sitemap that is read again is a page", "job/watch/learn.go", "	if w.maps[w.profile.Key(u)] != nil {\n", "	if false {\n", 0, false, nil},
}

// schedules protect the schedules of jobs.
var schedules = []mutant{
	{"pages are due as fast as one asks", "job/recrawl/schedule.go", "	if now.Before(s.slot) {", "	if false {", 0, false, nil},
	{"a page is visited twice at once", "job/recrawl/schedule.go", "	s.pages[first].out = true", "	s.pages[first].out = false", 0, false, nil},
	{"a page is requested again at once", "job/recrawl/schedule.go", "	if least := p.tried.Add(s.cfg.Shortest); from.Before(least) {", "	if least := p.tried; from.Before(least) {", 0, false, nil},
	{"pages that change fast are forgotten", "job/recrawl/schedule.go", "	least, most := s.cfg.Floor*budget/n,", "	least, most := 1e-9/n,", 0, false, nil},
	{"old news are news", "job/recrawl/schedule.go", "!changed.After(p.last) || ", "", 0, false, nil},
	{"signals that are wrong are believed", "job/recrawl/history.go", " && s.Precision() >= 0.5", "", 0, false, nil},
	{"a page of the moment changes each minute", "job/recrawl/schedule.go", "		age = max(age, s.cfg.Shortest)\n", "", 0, false, nil},
	{"a history grows without end", "job/recrawl/history.go", "	if len(h.periods) == maxPeriods {", "	if false {", 0, false, nil},
}

// machines protect the files that several processes share.
var machines = []mutant{
	{"processes do not ask each other", "politeness/machine/machine.go", "	err := m.locked(func(now time.Time) error { return m.take(now, t) })", "	var err error", 0, false, nil},
	{"the end of a request is told to nobody", "politeness/machine/machine.go", "	m.leaves(t, owed)\n	m.settle()\n", "", 0, false, nil},
	{"a process that was killed holds its hosts", "politeness/machine/crawls.go", "	if c.Turns > 0 && !m.alive(", "	if false && !m.alive(", 0, false, nil},
	{"a process that was killed owes no pause", "politeness/machine/crawls.go", "now, now.Add(owes))", "now, now.Add(0*owes))", 0, false, nil},
	{"a process that runs counts as killed", "politeness/machine/crawls.go", "		alive = !locked || err != nil", "		alive = false && (!locked || err != nil)", 0, false, nil},
	{"a foreign file is overwritten", "politeness/machine/clocks.go", "	case info.Size() == 0 || ", "	case true || ", 0, false, nil},
	{"a full page forgets a clock", "politeness/machine/clocks.go", "			if !s.Idle(p.now) {", "			if false {", 0, false, nil},
	{"a removed file is used on", "politeness/machine/machine.go", "		if err := m.inPlace(); err != nil {\n			return err\n		}\n", "", 0, false, nil},
	{"a file that was removed for want of room was never there", "politeness/machine/robots.go", "	noteDropped(state, dropped)\n", "	_ = dropped\n", 0, false, nil},
	{"a file that is too long was never there", "politeness/machine/robots.go", "		noteDropped(m.dir, f.Fetched)\n", "", 0, false, nil},
	{"hours hold for one process alone", "politeness/machine/machine.go", "		clocks[0].Close(c.party(), t.Delay, t.Quiet)\n", "", 0, false, nil},
	{"processes share no total rate", "politeness/machine/machine.go", "	if t.Total {\n", "	if false {\n", 0, false, nil},
	{"others can write to the state directory", "politeness/machine/dir.go", "mode.Perm()&0o022 != 0", "mode.Perm()&0o022 == 0o7", 0, false, nil},
}

// audits protect the joint check of several ledgers, and the checks of hours and rates.
var audits = []mutant{
	{"a redirect's Retry-After is owed by one crawl alone", "politeness/audit/joint.go", "	j.redirected(r)\n", "", 0, false, nil},
	{"a redirect's Retry-After is known before it is heard", "politeness/audit/joint.go", "		if !r.start.Allowed.After(l.known) {", "		if false {", 0, false, nil},
	{"a redirect's Retry-After is proven by clocks that differ", "politeness/audit/joint.go", "	if d := r.error() + other.error(); by <= d && !sameMachine(r, other) {", "	if false {", 0, false, nil},
	{"a robots.txt that fails is tried again by each crawl", "politeness/audit/jointrobots.go", "		j.triedAgain(s.failed[origin], r)\n", "", 0, false, nil},
	{"attempts at a robots.txt are counted for each crawl", "politeness/audit/jointrobots.go", "retryPause(failed.failures)", "retryPause(1)", 0, false, nil},
	{"a robots.txt that failed in a crawl that has ended", "politeness/audit/jointrobots.go", "!failed.heard().Before(r.start.Allowed) || failed.alive.Before(r.start.Written)", "!failed.heard().Before(r.start.Allowed)", 0, false, nil},
	{"a copy of an attempt that came to no request", "politeness/audit/jointrobots.go", "	} else {\n		s.byRun[r.run] = append(s.byRun[r.run], r)\n	}", "	}", 0, false, nil},
	{"rates of several crawls are not compared", "politeness/audit/joint.go", "	j.rate(r)\n", "", 0, false, nil},
	{"rates of two machines are compared", "politeness/audit/joint.go", " || !sameMachine(r, theirs[0]) {", " {", 0, false, nil},
	{"hours of a crawl that waits do not hold for all", "politeness/audit/joint.go", "		if !r.start.Queued.IsZero() && ", "		if false && ", 0, false, nil},
	{"hours of a crawl that does not run hold for all", "politeness/audit/joint.go", " && r.of.runs[r.run].Before(from) {", " {", 0, false, nil},
	{"hours of others are not noted", "politeness/audit/joint.go", "	j.noteHours()\n", "", 0, false, nil},
	{"crawls that ran one after the other are not compared", "politeness/audit/joint.go", "		p.forget(r.start.Written)\n", "		clear(p.last)\n", 0, false, nil},
	{"ledgers are open together", "politeness/audit/joint.go", "	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing\n", "", 0, false, nil},
	{"hours are not checked", "politeness/audit/hours.go", "		if outside(all, r.start.Allowed) {", "		if outside(all[:0], r.start.Allowed) {", 0, false, nil},
	{"hours do not span midnight", "politeness/audit/hours.go", "s.from > s.to && (now", "false && (now", 0, false, nil},
	{"the rate is not checked", "politeness/audit/hours.go", "gap < due-Tolerance", "false", 0, false, nil},
}

// mirrors protect other people's files from mirrors, and ensure that no file leads outside a mirror.
var mirrors = []mutant{
	{"hidden files", "job/export/mirror/names.go", "case i == 0 && r == '.':", "case i < 0:", 0, false, nil},
	{"control characters in names", "job/export/mirror/names.go", "case r < ' ' || ", "case ", 0, false, nil},
	{"separators in names", "job/export/mirror/names.go", "`<>:\"/\\|?*`", "`<>:\"|?*`", 0, false, nil},
	{"names that Windows has not", "job/export/mirror/names.go", "`<>:\"/\\|?*`", "`/\\`", 0, false, nil},
	{"marks that hide a name's ending", "job/export/mirror/names.go", "r > 0x7e && (hidden.Is(r) || !unicode.IsPrint(r)):", "false:", 0, false, nil},
	{"endings that Windows drops", "job/export/mirror/names.go", "name[last] == '.' || name[last] == ' '", "false", 0, false, nil},
	{"devices", "job/export/mirror/names.go", "name == \"\" || device(strings.TrimRight(stem, \" \"))", "name == \"\" || stem == name+name", 0, false, nil},
	{"directories without a name", "job/export/mirror/names.go", "name == \"\" || device(", "device(", 0, false, nil},
	{"long names of directories", "job/export/mirror/names.go", "	if len(s) > maxName {", "	if false {", 0, false, nil},
	{"long names of files", "job/export/mirror/names.go", "	if len(name) > maxName {", "	if false {", 0, false, nil},
	{"long names that are equal", "job/export/mirror/names.go", "	sum := sha256.Sum256([]byte(s))\n	cut", "	sum := sha256.Sum256(nil)\n	cut", 0, false, nil},
	{"half a character", "job/export/mirror/names.go", "	for cut > 0 && !utf8.RuneStart(s[cut]) {", "	for false {", 0, false, nil},
	{"long paths", "job/export/mirror/names.go", "p == aside || len(full) > maxPath", "p == aside", 0, false, nil},
	{"bytes that are no text", "job/export/mirror/names.go", "	if !utf8.Valid(b) {", "	if false {", 0, false, nil},
	{"an ending that a server runs", "job/export/mirror/names.go", "		first = unknown", "		return strings.TrimSuffix(name, own), own", 0, false, nil},
	{"an ending that a browser runs", "job/export/mirror/names.go", "|| active(e.mediaType)) {", ") {", 0, false, nil},
	{"upper and lower case", "job/export/mirror/mirror.go", "	name = folded(name)\n", "", 0, false, nil},
	{"composition", "job/export/mirror/names.go", "norm.NFKC.String(path)", "path", 0, false, nil},
	{"a file where a directory is", "job/export/mirror/mirror.go", "	if _, there := m.taken[hash(name)]; there {", "	if m.taken[hash(name)] {", 0, false, nil},
	{"a directory where a file is", "job/export/mirror/mirror.go", "		if isFile {\n", "		if isFile && !there {\n", 0, false, nil},
	{"an older file is overwritten", "job/export/mirror/mirror.go", "os.O_CREATE|os.O_EXCL|os.O_WRONLY", "os.O_CREATE|os.O_TRUNC|os.O_WRONLY", 0, false, nil},
	{"a directory outside the mirror", "job/export/mirror/mirror.go", "m.root.MkdirAll(filepath.Dir(name), 0o755)", "os.MkdirAll(filepath.Join(m.root.Name(), filepath.Dir(name)), 0o755)", 0, false, nil},
	{"a fragment that ends an attribute", "job/export/mirror/mirror.go", "fragmentEscaper.Replace(fragment)", "fragment", 0, false, nil},
	{"a name that ends a reference", "job/export/mirror/mirror.go", "strings.ReplaceAll(url.QueryEscape(s), \"+\", \"%20\")", "s", 0, false, nil},
	{"links of a charset that is not ASCII", "job/export/mirror/mirror.go", "		case !superset(p.Charset):", "		case false:", 0, false, nil},
	{"a base that leads elsewhere", "job/export/mirror/mirror.go", "			r.base, r.moved = b, true\n", "			_ = b\n", 0, false, nil},
	{"a reference that ends its style", "job/export/mirror/rewrite.go", "cssEscaper.Replace(becomes)", "becomes", 0, false, nil},
}

// TestElsewhere expects that for each of these mutants, a test in another package fails. Without the flag -mutants.all, it only checks that
// the lines to change exist.
func TestElsewhere(t *testing.T) {
	for _, table := range elsewhere {
		dir := path.Dir(table[0].file)
		if slices.ContainsFunc(table, func(m mutant) bool { return path.Dir(m.file) != dir }) {
			t.Fatalf("a table with files of several directories, one is %s", dir)
		}
		for i, m := range table {
			mutated(t, m.file, map[int]mutant{i + 1: m})
		}
		if !*every {
			continue
		}
		bin := compile(t, overlay(t, table), "./"+dir)
		for i, m := range table {
			t.Run(dir+"/"+strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
				if failed, _ := execute(t, i+1, bin, dir, "-test.run="+seenBy[dir]); !failed {
					t.Errorf("no test of %s notices: %s", dir, m.name)
				}
			})
		}
	}
}
