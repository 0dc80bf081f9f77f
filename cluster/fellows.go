package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// sign is a node's sign of life in the register of nodes.
type sign struct {
	ID   string // of the process
	Beat uint64 // counts
	At   int64  // in milliseconds since 1970, by the node's clock
	// Clock is how far that is off.
	Clock Offset
}

// fellow is another node, and since when its sign has been the same.
type fellow struct {
	sign
	since time.Time
}

// live gives a sign of life and returns how many nodes do so, this one included. The error is ErrName or the engine's.
func (n *Node) live(ctx context.Context) (int, error) {
	for {
		signs, rev, err := loadSigns(ctx, n.engine)
		if err != nil {
			return 0, err
		}
		live, err := n.watch(signs)
		if err != nil {
			return 0, err
		}
		b, err := json.Marshal(signs)
		if err != nil {
			return 0, fmt.Errorf("cluster: %w", err)
		}
		if _, err = n.engine.Store(ctx, registerNodes, b, rev); !errors.Is(err, ErrConflict) {
			return live, err
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

// watch notes which signs have changed, and gives this node's.
func (n *Node) watch(signs map[string]sign) (live int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for name, s := range signs {
		if f := n.fellow[name]; f.ID != s.ID || f.Beat != s.Beat {
			n.fellow[name] = fellow{s, now}
		}
	}
	maps.DeleteFunc(signs, func(name string, s sign) bool {
		return name != n.Name && now.Sub(n.fellow[name].since) > 10*n.job.TTL
	})
	if err := n.mine(now, signs[n.Name]); err != nil {
		return 0, err
	}
	signs[n.Name] = sign{n.id, signs[n.Name].Beat + 1, now.UnixMilli(), n.offset}
	n.fellow[n.Name] = fellow{signs[n.Name], now}
	for _, f := range n.fellow {
		if now.Sub(f.since) < n.job.TTL {
			live++
		}
	}
	return live, nil
}

// errWait: whether another node has this node's name is not known yet.
var errWait = errors.New("cluster: another process had this name lately")

// mine reports why this node may not use its name: another process does, or did lately.
func (n *Node) mine(now time.Time, s sign) error {
	switch {
	case s.ID == n.id, s.ID == "":
		return nil
	case n.other.ID == "":
		n.other = s
	case n.other.ID != s.ID, n.other.Beat != s.Beat:
		return ErrName
	case now.Sub(n.fellow[n.Name].since) >= n.job.TTL/3:
		return nil
	}
	return errWait
}
