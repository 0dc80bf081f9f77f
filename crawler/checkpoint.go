package crawler

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
)

// Keys under which a crawl stores the state that must survive a crash in a durable frontier.
const (
	keyGate      = "crawler/gate"  // one snapshot of the whole state, which earlier versions wrote
	keyGateParts = "crawler/gate/" // prefix of the names that Gate.Changes returns
	keyTally     = "crawler/tally"
	keyHost      = "crawler/host/"
	keyUsed      = "crawler/used/" // followed by the host; the value counts the host's sitemaps and requests for robots.txt
	keyNeed      = "crawler/need/"
	keyBody      = "crawler/body/"
	keyNear      = "crawler/near/"
	keyTrapCount = "crawler/crowd/"
	keyTable     = keyTrapCount     // the number of the table to which the trap counts belong
	oldTable     = "crawler/crowds" // the name of keyTable in earlier versions
	keyPin       = "crawler/pin/"   // followed by the host's name
	keyRules     = "crawler/rules"  // value is the rulebook
	keySample    = "crawler/lot/"   // followed by the site; the value is the state of the sample drawn from its sitemaps
	keySince     = "crawler/since"  // value identifies the history (Config.Since) whose URLs have been queued
)

// checkpoint stores the counts and other state of a run in a durable frontier, and restores them when the crawl is resumed.
type checkpoint struct {
	store      frontier.Durable
	gate       *politeness.Gate
	more       func() (map[string][]byte, error) // Config.AtCommit
	tally      *tally
	hosts      *hostTable
	bound      *bound
	trapCounts *trapCounts
	duplicates *duplicates
	sampler    *sampler // nil without Config.Sample

	table   uint64 // an earlier process began this crawl
	resumed bool   // an earlier process has begun this crawl
}

// newCheckpoint returns a checkpoint of r and makes the parts of r track their changes.
func newCheckpoint(r *run, store frontier.Durable) *checkpoint {
	r.tally.keeps()
	r.bound.changed = map[bottleneck]bool{}
	r.duplicates.contents.fresh = map[[16]byte]*content{}
	r.duplicates.keep = true
	return &checkpoint{
		store: store, gate: r.gate, more: r.cfg.AtCommit,
		tally: r.tally, hosts: r.hosts, bound: r.bound, trapCounts: r.judge.trapCounts, duplicates: r.duplicates, sampler: r.sampler,
	}
}

// durable returns f as a frontier.Durable, or nil if f does not outlive the process.
func durable(f frontier.Frontier) frontier.Durable {
	d, _ := f.(frontier.Durable)
	return d
}

// restoreGate makes a gate start from the state that an earlier process stored, unless p sets another.
func restoreGate(p *politeness.Config, f frontier.Frontier) error {
	store := durable(f)
	if store == nil || p.Snapshot != nil {
		return nil
	}
	ctx := context.Background()
	var unread error
	parts := func(yield func(name string, value []byte) bool) {
		err := store.Values(ctx, "", keyGateParts, func(name string, value []byte) error {
			if !yield(name[len(keyGateParts):], value) {
				return errStopped
			}
			return nil
		})
		if !errors.Is(err, errStopped) {
			unread = errors.Join(unread, err)
		}
	}
	snapshot, err := politeness.Assemble(parts)
	if err = errors.Join(unread, err); err == nil && snapshot == nil {
		snapshot, err = store.Value(ctx, "", keyGate)
	}
	p.Snapshot = snapshot
	return err
}

// errStopped ends an iteration over values early.
var errStopped = errors.New("no more values are wanted")

// kept is the part of a tally that outlives the process.
type kept struct {
	Report  Report
	Elapsed time.Duration // running time of all runs

	Usage     usageCounts
	UsageMore int
	Hosts     []string `json:",omitempty"` // the entries of Config.Hosts that hosts of the crawl have matched
}

// UnmarshalJSON also accepts the names that fields of Report had before it had JSON tags. All other old names differ from the tags only
// in case, which encoding/json ignores.
func (k *kept) UnmarshalJSON(b []byte) error {
	type plain kept
	var old struct{ Report struct{ Same, Near int } }
	err := errors.Join(json.Unmarshal(b, (*plain)(k)), json.Unmarshal(b, &old))
	k.Report.Same, k.Report.Near = max(k.Report.Same, old.Report.Same), max(k.Report.Near, old.Report.Near)
	return err
}

// values returns everything that changed since the last call, and the values from Config.AtCommit. The caller holds the
// output's lock, so the counts are those of the visits in the sinks.
func (k *checkpoint) values() (map[string][]byte, error) {
	values := map[string][]byte{}
	kept := k.tally.keep(time.Now())
	kept.Hosts = k.hosts.matches()
	b, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	values[keyTally] = b
	for host, n := range k.tally.changedHosts() {
		values[keyHost+host] = n.encode()
		if n.used != (uses{}) {
			values[keyUsed+host] = n.used.encode()
		}
	}
	for sum, c := range k.duplicates.contents.changed() {
		values[keyBody+string(sum[:])] = append(binary.AppendUvarint(nil, uint64(c.count)), c.url...)
	}
	for who, n := range k.bound.changes() {
		values[keyNeed+who] = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil,
			uint64(n.total)), uint64(n.last)), uint64(n.slots))
	}
	k.keepTrapCounts(values)
	for _, n := range k.duplicates.fresh.take() {
		values[fmt.Sprintf("%s%016x/%s", keyNear, n.fingerprint, n.url)] = []byte{}
	}
	samples, err := k.sampler.changes()
	maps.Copy(values, samples)
	return values, errors.Join(err, k.addMore(values))
}

// addMore adds the values that Config.AtCommit returns.
func (k *checkpoint) addMore(values map[string][]byte) error {
	if k.more == nil {
		return nil
	}
	more, err := k.more()
	maps.Copy(values, more)
	return err
}

// keepTrapCounts adds to values the trap counts that have changed. Counts of a discarded table stay in the frontier under the number of
// that table, and are not read again.
func (k *checkpoint) keepTrapCounts(values map[string][]byte) {
	counts, seed, fresh := k.trapCounts.changes()
	if fresh {
		k.table++
		values[keyTable] = binary.BigEndian.AppendUint64(binary.AppendUvarint(nil, k.table), seed)
		values[oldTable] = nil
	}
	for group, n := range counts {
		values[trapCountName(group)] = binary.AppendUvarint(binary.AppendUvarint(nil, k.table), uint64(n))
	}
}

// resume brings the run to the point that the frontier has recorded: it restores the counts and cuts every
// sink back to what was committed. The offsets are committed before the first record is written, so that
// from then on the offset of each sink is known.
func (k *checkpoint) resume(ctx context.Context, out *output) (was kept, err error) {
	if err := out.restore(ctx, k.store.Offsets("")); err != nil {
		return was, err
	}
	if was, err = k.recall(ctx); err != nil {
		return was, fmt.Errorf("what the crawl knew before: %w", err)
	}
	offsets, err := out.sync(ctx)
	if err != nil {
		return was, err
	}
	values := map[string][]byte{}
	if err := k.addMore(values); err != nil {
		return was, err
	}
	return was, k.store.Commit(ctx, nil, frontier.Checkpoint{Offsets: offsets, Values: values})
}

// recall restores the state that values has stored.
func (k *checkpoint) recall(ctx context.Context) (was kept, err error) {
	b, err := k.store.Value(ctx, "", keyTally)
	if err != nil {
		return was, err
	}
	if b != nil {
		if err := json.Unmarshal(b, &was); err != nil {
			return was, err
		}
		k.resumed = true
		k.tally.recall(was)
		k.hosts.recall(was.Hosts)
	}
	for prefix, recall := range map[string]func(name string, value []byte){
		keyHost: k.recallHost, keyUsed: k.tally.recallUses, keyBody: k.recallBody, keyNeed: k.recallNeed, keyNear: k.recallNear,
	} {
		err := k.store.Values(ctx, "", prefix, func(name string, value []byte) error {
			recall(name[len(prefix):], value)
			return nil
		})
		if err != nil {
			return was, err
		}
	}
	if err := k.recallLots(ctx); err != nil {
		return was, err
	}
	return was, k.recallTrapCounts(ctx)
}

func (k *checkpoint) recallHost(host string, value []byte) {
	pages, n := binary.Uvarint(value)
	value = value[max(0, n):]
	retries, n := binary.Uvarint(value) // states stored by earlier versions have no retries: 0
	c := hostCount{pages: int(pages), retries: int(retries)}
	for i := range c.usage {
		value = value[max(0, n):]
		var count uint64
		count, n = binary.Uvarint(value)
		c.usage[i] = uint32(min(count, math.MaxUint32))
	}
	c.spent = readSpending(value[max(0, n):])
	k.tally.recallHost(host, c)
}

// encode returns the stored form of c. It omits usage if that is all zeros and nothing follows it.
func (c *hostCount) encode() []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(c.pages)), uint64(c.retries))
	if c.usage != (usageCounts{}) || c.spent != nil {
		for _, n := range c.usage {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	if c.spent != nil {
		b = c.spent.append(b)
	}
	return b
}

func (k *checkpoint) recallBody(sum string, value []byte) {
	count, n := binary.Uvarint(value)
	if len(sum) == 16 && n > 0 {
		k.duplicates.contents.recall([16]byte([]byte(sum)), string(value[n:]), int(count))
	}
}

func (k *checkpoint) recallNeed(who string, value []byte) {
	total, n := binary.Uvarint(value)
	last, l := binary.Uvarint(value[max(0, n):])
	slots, m := binary.Uvarint(value[max(0, n)+max(0, l):])
	if n > 0 && l > 0 && m > 0 {
		k.bound.recall(who, need{time.Duration(total), time.Duration(last), max(1, int(slots))})
	}
}

func (k *checkpoint) recallNear(name string, _ []byte) {
	hex, url, _ := strings.Cut(name, "/")
	if f, err := strconv.ParseUint(hex, 16, 64); err == nil && k.duplicates.near != nil {
		k.duplicates.near.Meet(url, f)
	}
}

// sameSample returns an error if the stored crawl draws another sample, or none: the sitemaps that the stored crawl has read would not be
// read again for this sample.
func (k *checkpoint) sameSample(ctx context.Context) error {
	b, err := k.store.Value(ctx, "", keyRules)
	if err != nil || b == nil {
		return err
	}
	var was rulebook
	if err := json.Unmarshal(b, &was); err != nil {
		return err
	}
	if is := k.sampler.text(); was.Sample != is {
		return changedRules(fmt.Sprintf("Sample was %q and is %q", was.Sample, is))
	}
	return nil
}

// recallLots restores the sample state that earlier processes stored for each site.
func (k *checkpoint) recallLots(ctx context.Context) error {
	if err := k.sameSample(ctx); err != nil || k.sampler == nil {
		return err
	}
	return k.store.Values(ctx, "", keySample, func(name string, value []byte) error {
		return k.sampler.recall(name[len(keySample):], value)
	})
}

func (k *checkpoint) recallTrapCounts(ctx context.Context) error {
	b, err := k.store.Value(ctx, "", keyTable)
	if err == nil && b == nil {
		b, err = k.moveTable(ctx)
	}
	table, n := binary.Uvarint(b)
	if err != nil || n <= 0 || len(b) != n+8 {
		return err
	}
	k.table = table
	ctx = context.WithoutCancel(ctx)
	k.trapCounts.load(binary.BigEndian.Uint64(b[n:]), func(group uint64) uint32 { return k.keptTrapCount(ctx, table, group) })
	return nil
}

// moveTable moves the trap table's number from the key of earlier versions to the current key.
func (k *checkpoint) moveTable(ctx context.Context) ([]byte, error) {
	b, err := k.store.Value(ctx, "", oldTable)
	if err != nil || b == nil {
		return nil, err
	}
	return b, k.mark(ctx, keyTable, b)
}

// keptTrapCount returns the stored count of a group in a table. If the store cannot be read, it returns 0; the next commit then fails, too.
func (k *checkpoint) keptTrapCount(ctx context.Context, table, group uint64) uint32 {
	b, err := k.store.Value(ctx, "", trapCountName(group))
	of, n := binary.Uvarint(b)
	if err != nil || n <= 0 || of != table {
		return 0
	}
	count, _ := binary.Uvarint(b[n:])
	return uint32(count)
}

func trapCountName(group uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(keyTrapCount), group))
}

// mark commits one value at once.
func (k *checkpoint) mark(ctx context.Context, key string, value []byte) error {
	return k.store.Commit(ctx, nil, frontier.Checkpoint{Values: map[string][]byte{key: value}})
}

// pin stores the private addresses of a host's first look-up in the frontier, or returns those that are already stored.
func (k *checkpoint) pin(ctx context.Context, host string, private []netip.Addr) ([]netip.Addr, error) {
	b, err := k.store.Value(ctx, "", keyPin+host)
	switch {
	case err != nil:
		return nil, err
	case b != nil:
		return parsePin(string(b))
	}
	return private, k.mark(ctx, keyPin+host, pinText(private))
}

// Inherit converts a stored value of a crawl for a second crawl that continues with some of the first crawl's hosts. The value has the
// name under which a durable Frontier keeps it for the owner "" (frontier.Durable.Values). Inherit returns nil if the second crawl does
// not need the value. ours reports whether a host (weburl.URL.Host) belongs to the second crawl. Counts of visits stay with the first
// crawl, which has the records of those visits, and so do the values of Config.AtCommit. Both crawls get the state that makes requests
// polite: pauses, robots.txt files, pinned addresses.
func Inherit(name string, value []byte, ours func(host string) bool) []byte {
	if name == keyTally {
		return inheritTally(value)
	}
	for _, prefix := range []string{keyHost, keyUsed} {
		if host, is := strings.CutPrefix(name, prefix); is && !ours(host) {
			return nil
		}
	}
	if !strings.HasPrefix(name, "crawler/") {
		return nil
	}
	return value
}

// inheritTally returns the stored counts of a crawl that has counted no visits but has begun: on resuming, it looks for sitemaps that an
// earlier process may not have queued.
func inheritTally(value []byte) []byte {
	var was kept
	if json.Unmarshal(value, &was) != nil {
		return value // an unreadable value stays: the crawl that inherits it will report the error
	}
	now := kept{Report: newTally(time.Time{}).r, Hosts: was.Hosts}
	now.Report.Started, now.Report.Runs, now.Report.Sitemaps = was.Report.Started, 0, nil
	b, err := json.Marshal(now)
	if err != nil {
		return value
	}
	return b
}
