package crawler

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
)

// The names under which a crawl keeps, in a durable frontier, what it must know again after a crash.
const (
	keyGate  = "crawler/gate"
	keyTally = "crawler/tally"
	keyHost  = "crawler/host/"
	keyNeed  = "crawler/need/"
	keyBody  = "crawler/body/"
	keyNear  = "crawler/near/"
	keyCrowd = "crawler/crowd/"
	keyTable = "crawler/crowds" // the table that the crowds belong to
	keyPin   = "crawler/pin/"   // by host name
	keyRules = "crawler/rules"  // the rulebook
	keySince = "crawler/since"  // which history is queued
)

// kept is the part of a tally that outlives the process.
type kept struct {
	Report  Report
	Elapsed time.Duration // of all runs
}

// UnmarshalJSON also reads the names that Report had in JSON before it had tags. All but these differ in case alone.
func (k *kept) UnmarshalJSON(b []byte) error {
	type plain kept
	var old struct{ Report struct{ Same, Near int } }
	err := errors.Join(json.Unmarshal(b, (*plain)(k)), json.Unmarshal(b, &old))
	k.Report.Same, k.Report.Near = max(k.Report.Same, old.Report.Same), max(k.Report.Near, old.Report.Near)
	return err
}

// memory is what has changed of it since it was last asked for. The committer's lock is held: the
// counts are those of the visits in the sinks.
func (r *run) memory() (map[string][]byte, error) {
	values := map[string][]byte{}
	b, err := json.Marshal(r.tally.keep(time.Now()))
	if err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	values[keyTally] = b
	for host, n := range r.tally.changedHosts() {
		values[keyHost+host] = binary.AppendUvarint(binary.AppendUvarint(nil, uint64(n.pages)), uint64(n.retries))
	}
	for sum, c := range r.contents.changed() {
		values[keyBody+string(sum[:])] = append(binary.AppendUvarint(nil, uint64(c.count)), c.url...)
	}
	for who, n := range r.bound.changes() {
		values[keyNeed+who] = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil,
			uint64(n.total)), uint64(n.last)), uint64(n.slots))
	}
	r.keepCrowds(values)
	for _, n := range r.fresh.take() {
		values[fmt.Sprintf("%s%016x/%s", keyNear, n.fingerprint, n.url)] = []byte{}
	}
	return values, nil
}

// errForeignOutput is wrapped by Run's error when a sink holds what this crawl did not write.
var errForeignOutput = errors.New("holds records that the crawl in this frontier has not written: give it a place of its own")

// resume brings the run to where the frontier says that the crawl was: the counts, and every sink cut
// back to what was committed. The offsets are committed before the first record is written, so that
// from then on each sink's is known.
func (r *run) resume(ctx context.Context) error {
	offsets := r.store.Offsets("")
	for i, s := range r.cfg.Sinks {
		name := sinkName(s, i)
		offset, known := offsets[name]
		if known {
			if err := s.Restore(offset); err != nil {
				return fmt.Errorf("sink %s: cutting it back to what was committed: %w", name, err)
			}
			continue
		}
		if at, err := s.Sync(); err != nil || at != 0 {
			return fmt.Errorf("sink %s: %w", name, errors.Join(err, errForeignOutput))
		}
	}
	if err := r.recall(ctx); err != nil {
		return fmt.Errorf("what the crawl knew before: %w", err)
	}
	offsets, err := r.syncSinks()
	if err != nil {
		return err
	}
	values := map[string][]byte{}
	if err := r.atCommit(values); err != nil {
		return err
	}
	return r.store.Commit(ctx, nil, frontier.Checkpoint{Offsets: offsets, Values: values})
}

// recall reads what memory has kept.
func (r *run) recall(ctx context.Context) error {
	b, err := r.store.Value(ctx, "", keyTally)
	if err != nil {
		return err
	}
	if b != nil {
		var k kept
		if err := json.Unmarshal(b, &k); err != nil {
			return err
		}
		r.resumed = true
		if k.Report.Bytes > 0 || len(k.Report.Statuses) > 0 {
			r.hear()
		}
		r.tally.recall(k)
		r.budget.spend(k.Report.Pages)
	}
	return errors.Join(
		r.store.Values(ctx, "", keyHost, func(name string, value []byte) error {
			pages, k := binary.Uvarint(value)
			retries, _ := binary.Uvarint(value[max(0, k):]) // of an earlier version there are none
			r.tally.recallHost(name[len(keyHost):], hostCount{int(pages), int(retries)})
			return nil
		}),
		r.store.Values(ctx, "", keyBody, func(name string, value []byte) error {
			n, k := binary.Uvarint(value)
			if sum := name[len(keyBody):]; len(sum) == 16 && k > 0 {
				r.contents.recall([16]byte([]byte(sum)), string(value[k:]), int(n))
			}
			return nil
		}),
		r.store.Values(ctx, "", keyNeed, func(name string, value []byte) error {
			total, k := binary.Uvarint(value)
			last, l := binary.Uvarint(value[max(0, k):])
			slots, m := binary.Uvarint(value[max(0, k)+max(0, l):])
			if k > 0 && l > 0 && m > 0 {
				r.bound.recall(name[len(keyNeed):], need{time.Duration(total), time.Duration(last), max(1, int(slots))})
			}
			return nil
		}),
		r.recallCrowds(ctx),
		r.store.Values(ctx, "", keyNear, func(name string, _ []byte) error {
			hex, url, _ := strings.Cut(name[len(keyNear):], "/")
			var f uint64
			if _, err := fmt.Sscanf(hex, "%x", &f); err == nil && r.near != nil {
				r.near.Meet(url, f)
			}
			return nil
		}),
	)
}

// keepCrowds adds what has changed of the crowds. Those of a table that was given up stay in the
// frontier under its number, and are not read again.
func (r *run) keepCrowds(values map[string][]byte) {
	counts, seed, fresh := r.crowds.changes()
	if fresh {
		r.table++
		values[keyTable] = binary.BigEndian.AppendUint64(binary.AppendUvarint(nil, r.table), seed)
	}
	for k, n := range counts {
		name := binary.BigEndian.AppendUint64([]byte(keyCrowd), k)
		values[string(name)] = binary.AppendUvarint(binary.AppendUvarint(nil, r.table), uint64(n))
	}
}

func (r *run) recallCrowds(ctx context.Context) error {
	b, err := r.store.Value(ctx, "", keyTable)
	table, k := binary.Uvarint(b)
	if err != nil || k <= 0 || len(b) != k+8 {
		return err
	}
	r.table = table
	counts := map[uint64]uint32{}
	err = r.store.Values(ctx, "", keyCrowd, func(name string, value []byte) error {
		of, k := binary.Uvarint(value)
		if hash := name[len(keyCrowd):]; len(hash) == 8 && k > 0 && of == table && len(counts) < maxCrowds {
			n, _ := binary.Uvarint(value[k:])
			counts[binary.BigEndian.Uint64([]byte(hash))] = uint32(n)
		}
		return nil
	})
	r.crowds.load(binary.BigEndian.Uint64(b[k:]), counts)
	r.crowds.changes() // all that there is is kept already
	return err
}

// restoreGate lets a gate begin with what the gate of an earlier process knew, unless it is told
// otherwise.
func restoreGate(p *politeness.Config, f frontier.Frontier) error {
	store := durable(f)
	if store == nil || p.Snapshot != nil {
		return nil
	}
	b, err := store.Value(context.Background(), "", keyGate)
	p.Snapshot = b
	return err
}

// nearPages are pages whose similarity is not kept yet.
type nearPages struct {
	mu    sync.Mutex
	pages []nearPage
}

type nearPage struct {
	url         string
	fingerprint uint64
}

func (n *nearPages) add(p nearPage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pages = append(n.pages, p)
}

func (n *nearPages) take() []nearPage {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.pages
	n.pages = nil
	return all
}

// checkSinks reports sinks that could not be told apart after a crash.
func checkSinks(sinks []sink.Sink) error {
	seen := map[string]bool{}
	for i, s := range sinks {
		name := sinkName(s, i)
		if seen[name] {
			return fmt.Errorf("crawler: Config.Sinks: two are named %s; in a crawl with a durable frontier each needs its own name (sink.Named)", name)
		}
		seen[name] = true
	}
	return nil
}

// durable is the run's frontier if it outlives the process.
func durable(f frontier.Frontier) frontier.Durable {
	d, _ := f.(frontier.Durable)
	return d
}
