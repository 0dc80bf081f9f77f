package cluster_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var runMutants = flag.Bool("mutants", false, "build this package without each of its protections and run the test that must see it: some minutes")

// mutant is a change of the source that removes one protection.
type mutant struct {
	name     string
	file     string
	old, new string // old occurs exactly once in the file
	run      string // regular expression for the tests, at least one of which must fail
}

var mutants = []mutant{
	// The lease and its fence: I3, I4.
	{"the gate does not ask for the lease", "lease.go", "	if l.left(time.Now()) <= 0 {\n		return ErrLease", "	if false {\n		return ErrLease", "FencedOwner|Sim"},
	{"a lease lasts by the wall clock alone", "lease.go", "max(now.Sub(l.from), now.Round(0).Sub(l.from.Round(0)))", "now.Round(0).Sub(l.from.Round(0))", "LeaseEndsByEither"},
	{"a lease lasts by the monotonic clock alone", "lease.go", "max(now.Sub(l.from), now.Round(0).Sub(l.from.Round(0)))", "now.Sub(l.from)", "LeaseEndsByEither"},
	{"a lease counts from the answer", "owner.go", "	o.appended(seq, sent)\n	return n, nil", "	o.appended(seq, time.Now())\n	return n, nil", "LeaseCounts"},
	{"an append that was lost is waited for until the lease ends", "owner.go", "min(d, most)", "d", "LostAppend"},
	{"a fenced owner keeps its lease", "owner.go", "		o.lease.giveUp()\n		o.err = fmt", "		o.err = fmt", "FencedOwner"},
	{"URLs are handed out until the lease ends", "shard.go", "case left >= ttl/3:", "case left > 0:", "NothingIsHandedOut"},
	{"requests begin although their answers cannot be stored", "turns.go", "if s.owner.under.longest(time.Now()) < s.node.job.storeTime() {", "if true {", "NothingBegins"},
	{"a shard is taken over before its TTL", "node.go", "return r.kind == kindClose || unchanged >= n.job.TTL", "return unchanged >= 0", "Sim"},
	{"a shard of any process of the name is taken at once", "node.go", "return err == nil && info.IsDir()", "_, _ = info, err\n	return true", "RestartedNode"},
	{"a journal of two epochs is replayed", "takeover.go", "case r.epoch != f.epoch || r.kind == kindOpen:", "case false:", "EpochsFollow"},
	{"a copy of another journal is continued", "takeover.go", "x.Seq != f.at.Seq || x.Nonce != f.at.Nonce", "false", "CopyOfAnother"},
	{"a part of a group outlives its owner", "takeover.go", "f.epoch, f.parts = r.epoch, nil", "f.epoch = r.epoch", "UnfinishedGroup"},

	// Offers and the end: I6, I8.
	{"offers are dropped before they are queued", "inbox.go", "		in, err := s.readInbox(ctx, some-read)\n", "		in, err := s.readInbox(ctx, some-read)\n		_ = s.node.engine.Drop(ctx, s.Number, in.last)\n", "Sim"},
	{"a message for another shard is read", "inbox.go", "!s.node.job.had(", "false && !s.node.job.had(", "OfferInAWrong"},
	{"one round of probes is enough", "finish.go", "		f.marks = f.answers()\n		f.begin(2, shards)", "		done = true\n		*f = finisher{}", "EndModel"},
	{"groups between the rounds do not matter", "finish.go", "slices.Equal(f.marks, f.answers())", "slices.Equal(f.marks, f.marks)", "EndModel"},
	{"any idle beat answers a probe", "finish.go", "|| x.probe != q.probe", "", "EndModel"},
	{"a shard that is not idle answers a probe", "finish.go", "return x.idle, !x.idle", "return true, false", "EndModel"},
	{"a job ends although somebody has added to it", "finish.go", "		_, err := e.Store(ctx, registerEnd, []byte(EndDone), f.end)\n", "		err := setRegister(ctx, e, registerEnd, EndDone)\n", "EndModel"},
	{"whoever adds to a job does not hold its end", "add.go", "		if _, err = a.engine.Store(ctx, registerEnd, nil, rev); !errors.Is(err, ErrConflict)", "		if err = nil; !errors.Is(err, ErrConflict) || rev > 0", "EndModel"},
	{"a beat is idle whatever was appended since", "owner.go", "idle && now == mark", "idle", "BeatOfAnEarlier"},

	{"links are sent behind the commit", "shard.go", "	if err := q.s.outbox.send(ctx, all); err != nil {\n		return err\n	}\n	if !changed {", "	defer func() { _ = q.s.outbox.send(ctx, all) }()\n	if !changed {", "LinksAreSent"},
	{"links count as sent before they are", "outbox.go", "	if err := o.s.node.batches.send(ctx, o.s, shard, links, size); err != nil {\n", "	for i := range links {\n		o.sent.note(o.key(links[i].URL), links[i].Depth)\n	}\n	if err := o.s.node.batches.send(ctx, o.s, shard, links, size); err != nil {\n", "LinksAreSent"},

	// The clocks that all crawls on an engine share: I5.
	{"a clock has many holders", "clock.go", "if h := c.Held; h != nil {\n		return min(now", "if h := c.Held; h != nil && false {\n		return min(now", "JobsOn|Crawls"},
	{"a clock does not rest", "clock.go", "until, by = c.Free, c.Owner", "by = c.Owner", "JobsOn|Crawls"},
	{"the delay of a crawl that waits holds for itself alone", "clock.go", "	if ended != 0 && c.owed(w.claimant) {\n		c.rest(", "	if false {\n		c.rest(", "JobsOn|Crawls"},
	{"a host rests for what another part of its job knows of it", "clock.go", "(c.host || p.Job == ", "(p.Job == ", "DelayOfAHostHolds"},
	{"crawls that wait have no order", "clock.go", "if n := c.place(me.Gate); n > 0 {", "if n := c.place(me.Gate); n > 0 && false {", "CrawlThatWaits"},
	{"a clock whose holder is silent is free", "clock.go", "h != nil && h.Until <= now {\n		c.done(h.Turn, h.claimant, h.Until, h.Until+int64(h.Rest))", "h != nil {\n		c.done(h.Turn, h.claimant, now, now+int64(h.Rest))", "KilledProcess|JobsOn"},
	{"a clock whose holder was silent does not rest", "clock.go", "c.done(h.Turn, h.claimant, h.Until, h.Until+int64(h.Rest))", "c.Held = nil", "KilledProcess"},
	{"nobody says that a request is under way", "clocks.go", "wait(ctx, time.Until(next.Add(k.hold/3)))", "wait(ctx, time.Until(next.Add(time.Hour)))", "KilledProcess|ClocksOutlive|Sim"},
	{"who has kept a clock never tells the engine again", "keptclock.go", "min(lookEvery, k.hold/6)", "time.Hour", "NewcomerGets"},
	{"a clock is kept that another waits for", "keptclock.go", "	if !x.alone || ", "	if ", "ClocksAreGiven"},
	{"a clock is kept with a long pause", "keptclock.go", "until.Sub(owed.Ended) > x.delay+keepMore || until.After(x.stored.Add(k.hold/2)) ||", "", "ClocksAreGiven"},
	{"a clock that is kept is not given back", "keptclock.go", "		c.late.Stop()\n		k.push(c.key, c.done)\n", "		c.late.Stop()\n", "NewcomerGets|SingleGate"},
	{"a clock that is kept is not given back in time", "keptclock.go", "time.Until(until), func()", "time.Hour, func()", "NewcomerGets"},
	{"every process is known to have ended", "clocks.go", "h.Process == k.gone {", "true {", "ClocksOfAKilled"},
	{"a request whose clock is lost goes on", "clocks.go", "				x.lost(errClock)\n				return", "				return", "LostClock"},
	{"clocks that the engine has lost are free at once", "clocks.go", "k.opens = since.Add(maxHold)", "k.opens = since", "ClocksOutlive"},
	{"pauses are lost with the engine's clocks", "clocks.go", "		lost = k.rests\n", "", "ClocksOutlive"},
	{"an engine has no robots.txt files", "robots.go", "	if k.Err() != nil || k.look(ctx) != nil {", "	if k.look(ctx) != nil || true {", "JobsOn"},
	{"a robots.txt is stored after its turn", "clocks.go", "	if x == nil || stored == nil {", "	if true {", "RobotsFileIsStored"},
	{"times of a robots.txt are those of another machine", "robots.go", "	f.Fetched, f.Until = f.Fetched.Add(o.Ahead), f.Until.Add(o.Ahead-o.Error)\n", "", "RobotsFileIsRequestedOnce"},
	{"an engine has the digest of an account", "robots.go", "	name := hex.EncodeToString(b)\n", "	_, name := b, digest\n", "RobotsFilesOfAccounts"},
	{"a robots.txt is stored whatever its size", "robots.go", "len(b) <= maxRobots && ", "", "BrokenStore"},
	{"a URL is offered before its host is held", "shard.go", "	if err := q.s.node.clocks.Stored(ctx); err != nil {\n		return err\n	}\n", "", "RetryAfterOfRedirect"},
	{"the rate is each shard's", "turns.go", "err != nil || limit <= 0 {", "err != nil || true {", "Sim"},
	{"the interval of another crawl does not hold", "rate.go", "last.End+int64(max(0, r.gap-last.Gap))", "last.End", "CrawlsOnAnEngineShareTheirTotalRate"},
	{"hours hold for one crawl on an engine alone", "clock.go", "		if w.Closed && w.Gate", "		if false && w.Gate", "HoursOfOneCrawl"},
	{"the ledger does not say that the engine was away", "clocks.go", "		t.Away = ledger.Clause{Name: ledger.ClauseEngine, Until: k.back}\n", "", "UnreachableEngine"},
	{"the rate is each node's", "rate.go", "max(k.late(), last.End+int64(max(0, r.gap-last.Gap)))", "k.late()", "CrawlsOnAnEngineShareTheirTotalRate|Sim"},

	// Nodes of version 0.2.0, which ask each other for clocks.
	{"nodes of version 0.2.0 are not waited for", "takeover.go", "	if n.upgraded {\n", "	if true {\n", "NodesOfVersion020"},
	{"a request of version 0.2.0 is not waited out", "takeover.go", "rest := max(oldRest, n.job.Delay)", "rest := n.job.Delay", "NodesOfVersion020"},
	{"an owner of version 0.2.0 is not waited for", "takeover.go", "		if last.Seq != 0 {\n", "		if false {\n", "NodesOfVersion020"},
	{"version 0.2.0 takes shards back", "record.go", "len(r.body)), recordVersion,", "len(r.body)), oldVersion,", "NodesOfVersion020"},
	{"shards are kept free for a node of version 0.2.0", "membership.go", "	case s.Form < jobForm:", "	case false:", "NodeOfVersion020GetsNoShare"},

	// The page budget (invariant I7).
	{"pages are returned before that is committed", "budget.go", "returned := p.s.store.Offsets(ownerName)[offsetReturned]", "returned := p.returned", "PagesAreReturned"},
	{"pages are used before the register grants them", "budget.go", "		if err = storeJSON(", "		p.learn(&g)\n		if err = storeJSON(", "BudgetModel"},

	// Orders.
	{"who takes a shard over may not know its orders", "node.go", "knows = knows || n.knowsOrders(); !knows", "knows = true; !knows", "OrdersOutlive"},
	{"a crawl that begins does not know the orders before", "orders.go", "	all := s.node.orders\n	s.node.mu.Unlock()\n	s.follow(all)", "	all := s.node.orders\n	s.node.mu.Unlock()\n	s.obeyed = len(all)", "OrdersOutlive"},
	{"a pause lets claims go on that wait", "orders.go", "		n.recall()\n	case", "	case", "PauseRecalls"},
	{"a paused job hands URLs out", "orders.go", "	case paused && n.resumed == nil:", "	case false:", "OrdersOutlive"},
	{"of two orders at once one is lost", "orders.go", "		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {\n			return o, err", "		if true {\n			return o, nil", "OrdersAtTheSame"},
	{"an order makes a job faster", "orders.go", "o.Value == 0 || o.Value > j.Rate", "false", "OrdersThatAreRefused"},
	{"an order that was stored makes a job faster", "orders.go", "j.Rate > 0 && !(rate > 0 && rate <= j.Rate)", "false", "StoredOrders"},
	{"a limit of pages is raised by each node", "budget.go", "	from = max(from, g.Limit)\n", "", "MorePages"},

	// A doubling of the shards: I11.
	{"shards are doubled whoever has begun to work", "grow.go", "	if err = storeJSON(ctx, e, registerOrders, append(all, o), rev); errors.Is(err, ErrConflict) {", "	if all, rev, err = holdOrders(ctx, e); err != nil {\n		return err\n	}\n	if err = storeJSON(ctx, e, registerOrders, append(all, o), rev); errors.Is(err, ErrConflict) {", "OnlyOneConcurrentGrow"},
	{"a job that was doubled may be doubled by who does not know", "grow.go", "	if j.grow(orders); err != nil", "	if err != nil", "OnlyOneConcurrentGrow"},
	{"a shard has hosts that were split off", "grow.go", "err == nil && k.Mark() != (disk.Mark{}) && offsets", "false && offsets", "SimGrow"},
	{"who loses its lease waits for a batch", "outbox.go", "			if err := s.owner.lease.check(); err != nil {\n				return err\n			}\n", "", "SenderThatLeaves"},
	{"a busy shard reads its inbox at each arrival", "inbox.go", "if !all && s.store.Stats().Queued > 0 &&", "if false &&", "BusyShards"},
	{"an inbox is not read unless the engine tells of an arrival", "inbox.go", "time.Since(s.looked) >= readAfter*s.node.Poll", "s.looked.IsZero()", "InboxesAreRead"},
	{"idle shards move to other nodes", "node.go", "left > share && !h.idle() ||", "left > share ||", "IdleShards"},
	{"an attempt to end the job waits for an owner that is gone", "finish.go", "return false, err == nil && r.epoch > q.epoch", "return false, false", "OwnerMayLeave"},
	{"links to hosts that were split off are not sent on", "inbox.go", "	return own, s.outbox.send(ctx, moved)", "	return own, nil", "OldOffers"},
	{"a node works on a job that has outgrown it", "node.go", "	if n.outgrown {\n		return ErrGrown\n	}\n", "", "OldOffers"},
	{"a job that nobody has collected counts as collected", "status.go", "len(b) == 0 {\n		return false, err\n	}\n	var c collected", "len(b) == 0 {\n		return true, err\n	}\n	var c collected", "AResumedJob"},
	{"a job that was collected before its last order counts as collected", "status.go", "len(all) != c.Orders", "len(all) < c.Orders", "AResumedJob"},

	// Shares.
	{"a node that leaves keeps its share", "membership.go", "case s.Leaves, s.Refuses", "case s.Refuses", "ReturnedShards"},
	{"a node whose clock is wrong has a share", "membership.go", "case s.Leaves, s.Refuses != \"\", s.Clock.exceeds(j.MaxSkew):", "case s.Leaves:", "OthersTake"},
	{"a node that owns a few has a share like others", "membership.go", "return min(s.Most, j.Shards)", "return j.Shards", "OthersTake"},
}

// TestMutants expects that a test fails without each protection. Without the flag -mutants, it only checks that the lines to change exist.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			b, err := os.ReadFile(m.file)
			if err != nil || strings.Count(string(b), m.old) != 1 {
				t.Fatalf("%s has %d of %q, %v", m.file, strings.Count(string(b), m.old), m.old, err)
			}
			if *runMutants {
				m.try(t, strings.Replace(string(b), m.old, m.new, 1))
			}
		})
	}
}

func (m mutant) try(t *testing.T, text string) {
	dir := t.TempDir()
	at, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{at: filepath.Join(dir, "mutant.go")}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mutant.go"), text)
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	binary := filepath.Join(dir, "mutant.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	cmd := exec.Command(binary, "-test.run", "^Test("+m.run+")", "-test.timeout", "60s", "-test.failfast", "-sim.n", "60")
	cmd.Env = append(os.Environ(), "TEST_FULL=1") // some failures are rare
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("no test notices: %s", m.name)
		return
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- FAIL") || strings.HasPrefix(line, "panic") {
			t.Logf("after %v: %s", time.Since(began).Round(10*time.Millisecond), strings.TrimSpace(line))
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
