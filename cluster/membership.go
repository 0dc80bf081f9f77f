package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// sign is a node's sign of life in the register of nodes.
type sign struct {
	ID   string // ID of the process
	Beat uint64 // counter that grows with each sign of life
	At   int64  // milliseconds since 1970, by the node's clock
	// Clock is the offset of the node's clock from the engine's.
	Clock Offset
	// Orders is the number of the last order that the node applies.
	Orders int `json:",omitempty"`
	// Most limits the shards that the node owns. 0: no limit.
	Most int `json:",omitempty"`
	// Leaves marks a node that takes no shards at present: it gives all of its shards back, or is not ready yet.
	Leaves bool `json:",omitempty"`
	// Form is the form of jobs that the node's version creates. 0: the version is 0.2.0 or before.
	Form int `json:",omitempty"`
	// Refuses is the reason why the node does not work on the job, after its process has ended; "": it works on the job.
	Refuses string `json:",omitempty"`
}

// room returns the number of the job's shards that a node may own.
func (s sign) room(j *Job) int {
	switch {
	case s.Leaves, s.Refuses != "", s.Clock.exceeds(j.MaxSkew):
		return 0
	case s.Form < jobForm: // a node of version 0.2.0 or before takes no shard that this version has owned
		return 0
	case s.Most > 0:
		return min(s.Most, j.Shards)
	}
	return j.Shards
}

// waits returns the reason why a node that works on the job takes no shards at present; "" if it takes its share.
func (s sign) waits(j *Job) string {
	switch {
	case s.Clock.exceeds(j.MaxSkew):
		return fmt.Sprintf("its clock is off by more than %v", j.MaxSkew)
	case s.Leaves:
		return "it gives its shards back, or waits for nodes of an earlier version to end"
	}
	return ""
}

// share returns the number of shards for a node without a lower limit: such nodes divide equally the shards that other nodes leave.
func share(shards int, rooms []int) int {
	slices.Sort(rooms)
	rest := shards
	for i, room := range rooms {
		left := len(rooms) - i
		each := (rest + left - 1) / left
		if room >= each {
			return each
		}
		rest -= room
	}
	return shards // the nodes together cannot own all shards
}

// peer is a node, this one included, and the time at which its sign of life last changed.
type peer struct {
	sign
	since time.Time
}

// live gives a sign of life and returns the number of shards that this node should own. The error is ErrName or the engine's.
func (n *Node) live(ctx context.Context) (int, error) {
	for {
		signs, rev, err := loadSigns(ctx, n.engine)
		if err != nil {
			return 0, err
		}
		mine, err := n.watch(signs)
		if err != nil {
			return 0, err
		}
		if err = storeJSON(ctx, n.engine, registerNodes, signs, rev); !errors.Is(err, ErrConflict) {
			return mine, err
		}
	}
}

func loadSigns(ctx context.Context, e Registers) (signs map[string]sign, rev uint64, err error) {
	b, rev, err := e.Load(ctx, registerNodes)
	if err != nil {
		return nil, 0, err
	}
	signs = map[string]sign{}
	if rev != 0 {
		if err := json.Unmarshal(b, &signs); err != nil {
			return nil, 0, fmt.Errorf("cluster: the register of nodes: %w", err)
		}
	}
	return signs, rev, nil
}

// watch records which signs of life have changed, gives this node's, and returns its share.
func (n *Node) watch(signs map[string]sign) (mine int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for name, s := range signs {
		if f := n.peers[name]; f.ID != s.ID || f.Beat != s.Beat {
			n.peers[name] = peer{s, now}
		}
	}
	maps.DeleteFunc(n.peers, func(name string, _ peer) bool {
		_, lives := signs[name]
		return name != n.Name && !lives // the node has left the job
	})
	maps.DeleteFunc(signs, func(name string, s sign) bool {
		return name != n.Name && now.Sub(n.peers[name].since) > 10*n.job.TTL
	})
	if err := n.mine(now, signs[n.Name]); err != nil {
		return 0, err
	}
	signs[n.Name] = sign{ID: n.id, Beat: signs[n.Name].Beat + 1, At: now.UnixMilli(), Clock: n.offset, Orders: n.obeyed, Most: n.MaxShards, Leaves: n.leaves || !n.upgraded, Form: jobForm}
	n.peers[n.Name] = peer{signs[n.Name], now}
	var rooms []int
	for name, f := range n.peers {
		if name != n.Name && now.Sub(f.since) < n.job.TTL {
			rooms = append(rooms, f.room(&n.job))
		}
	}
	room := signs[n.Name].room(&n.job)
	return min(room, share(n.job.Shards, append(rooms, room))), nil
}

// leave announces that this node gives its shards back, so that other nodes take them at once. With done, it announces that the node is
// gone. If the announcement fails, the others notice the silence of the node.
func (n *Node) leave(ctx context.Context, done bool) {
	n.mu.Lock()
	n.leaves = true
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, n.job.TTL/6)
	defer cancel()
	if !done {
		_, _ = n.live(ctx)
		return
	}
	for ctx.Err() == nil {
		signs, rev, err := loadSigns(ctx, n.engine)
		if err != nil || signs[n.Name].ID != n.id {
			return
		}
		delete(signs, n.Name)
		if err := storeJSON(ctx, n.engine, registerNodes, signs, rev); !errors.Is(err, ErrConflict) {
			return
		}
	}
}

// maxRefusal limits the reason given to Refuse, in bytes: the signs of all nodes are one value in the engine.
const maxRefusal = 1000

// Refuse records that a node does not work on the job, and why. [ReadStatus] returns the reason until the node works on the job; if other
// nodes do, for at most ten times the TTL. The sign of a live node of that name is kept. The error is ErrNoJob or the engine's.
func Refuse(ctx context.Context, e Registers, name, why string) error {
	j, err := LoadJob(ctx, e)
	if err != nil {
		return err
	}
	for {
		signs, rev, err := loadSigns(ctx, e)
		if err != nil {
			return err
		}
		was, now := signs[name], time.Now()
		if was.ID != "" && now.Sub(time.UnixMilli(was.At)) < j.TTL {
			return nil
		}
		signs[name] = sign{Beat: was.Beat + 1, At: now.UnixMilli(), Refuses: strings.ToValidUTF8(why[:min(len(why), maxRefusal)], "")}
		if err := storeJSON(ctx, e, registerNodes, signs, rev); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// errWait means that it is not known yet whether another live node uses this node's name.
var errWait = errors.New("cluster: another process had this name lately")

// mine returns an error if this node may not use its name, because another process uses it or did so recently.
func (n *Node) mine(now time.Time, s sign) error {
	switch {
	case s.ID == n.id, s.ID == "", s.ID == n.Gone:
		return nil
	case n.other.ID == "":
		n.other = s
	case n.other.ID != s.ID, n.other.Beat != s.Beat:
		return ErrName
	case now.Sub(n.peers[n.Name].since) >= n.job.TTL/3:
		return nil
	}
	return errWait
}
