package cluster

import (
	"context"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/frontier"
)

// foreigners are the hosts of a shard that other shards have requested, where a robots.txt redirects to them. Only for those
// the shard's crawl has to wait after a takeover until what an earlier keeper has granted must be over.
type foreigners struct {
	s     *Shard
	mu    sync.Mutex
	hosts map[string]bool // whether that is durable
	all   bool            // there are too many to tell them apart
}

const (
	valueForeign = "foreign/"
	allForeign   = valueForeign + "*"
	mostForeign  = 10_000
)

// newForeigners reads what earlier owners have committed.
func newForeigners(ctx context.Context, s *Shard) (*foreigners, error) {
	f := &foreigners{s: s, hosts: map[string]bool{}}
	err := s.store.Values(ctx, ownerName, valueForeign, func(name string, _ []byte) error {
		f.hosts[strings.TrimPrefix(name, valueForeign)] = true
		f.all = f.all || name == allForeign
		return nil
	})
	return f, err
}

// has reports whether it is durable that other shards request the host.
func (f *foreigners) has(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all || f.hosts[host]
}

// learn commits that other shards request the host.
func (f *foreigners) learn(host string) {
	f.mu.Lock()
	name := valueForeign + host
	if len(f.hosts) >= mostForeign {
		host, name = "*", allForeign
	}
	_, known := f.hosts[host]
	if !known {
		f.hosts[host] = false
	}
	f.mu.Unlock()
	if known {
		return // it is under way
	}
	f.s.tasks.Go(func() {
		c := frontier.Checkpoint{Owner: ownerName, Values: map[string][]byte{name: {}}}
		if f.s.store.Commit(f.s.owner.ctx, nil, c) != nil {
			return // the store has failed
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.all = f.all || name == allForeign
		f.hosts[host] = true
	})
}
