package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
)

// Ownership describes the committed files that one node has written for a shard in one epoch. What lies behind that in its
// directory, Dir/Shard/Epoch of the node, does not count: the next owner has done it again. The ledger and the robots.txt
// files there count as a whole, as they say what was requested.
type Ownership struct {
	Shard  int              `json:"shard"`
	Epoch  uint64           `json:"epoch"`
	Node   string           `json:"node"`
	Began  time.Time        `json:"began"`  // by the node's clock
	Sinks  map[string]int64 `json:"sinks"`  // how far each counts (sink.Sink.Sync), by the name it has without Shard.Sink
	Visits int64            `json:"visits"` // that are committed: so many records are in each sink
}

// The entries of an ownership in the shard's store: a value of the cluster's, which its owner begins with, and an offset of
// the crawl's, which is committed with the visits.
const (
	valueEpoch   = "epoch/"
	offsetVisits = "cluster/visits"
)

// atEpoch returns the storage key of data owned by one epoch.
func atEpoch(name string, epoch uint64) string { return name + "@" + strconv.FormatUint(epoch, 10) }

// cutEpoch is the reverse of atEpoch.
func cutEpoch(s string) (name string, epoch uint64, ok bool) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return "", 0, false
	}
	epoch, err := strconv.ParseUint(s[at+1:], 10, 64)
	return s[:at], epoch, err == nil
}

// Committed returns what counts of the outputs of all the owners that a shard has had, by epoch. It brings the copy of the
// shard's queue in dir up to the journal's end for that, as [Follow] does, and changes nothing in the engine. While the
// job runs, more is committed later.
func Committed(ctx context.Context, e Engine, shard int, dir string, c disk.Config) ([]Ownership, error) {
	k, err := Follow(ctx, e, shard, dir, c)
	if err != nil {
		return nil, err
	}
	all, err := committed(k, shard)
	return all, errors.Join(err, k.Close())
}

// committed reads the ownerships in a copy.
func committed(k *disk.Copy, shard int) (all []Ownership, err error) {
	byEpoch := map[uint64]*Ownership{}
	err = k.Values(ownerName, valueEpoch, func(name string, value []byte) error {
		o := &Ownership{Sinks: map[string]int64{}}
		if err := json.Unmarshal(value, o); err != nil {
			return fmt.Errorf("cluster: shard %d: %s: %w", shard, name, err)
		}
		byEpoch[o.Epoch] = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	offsets, err := k.Offsets("")
	if err != nil {
		return nil, err
	}
	for name, n := range offsets {
		name, epoch, ok := cutEpoch(name)
		o := byEpoch[epoch]
		switch {
		case !ok || o == nil: // not by Shard.Sink
		case name == offsetVisits:
			o.Visits = n
		default:
			o.Sinks[name] = n
		}
	}
	for _, o := range byEpoch {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b Ownership) int { return int(int64(a.Epoch) - int64(b.Epoch)) })
	return all, nil
}

// Follow brings the copy of a shard's queue in dir up to the end of its journal, without owning the shard: dir must be such
// a copy's directory, or not exist. What the crawl has committed is read from the copy. The caller closes it.
func Follow(ctx context.Context, e Engine, shard int, dir string, c disk.Config) (*disk.Copy, error) {
	last, err := e.Last(ctx, shard)
	if err != nil {
		return nil, err
	}
	if last.Seq == 0 {
		return disk.OpenCopy(dir, c)
	}
	k, err := (&owner{ctx: ctx, engine: e, shard: shard, opened: last.Seq}).followed(dir, c)
	if err != nil {
		return nil, fmt.Errorf("cluster: shard %d: %w", shard, err)
	}
	return k, nil
}
