package cluster

import (
	"testing"

	"github.com/amble-crawler/amble/frontier/disk"
)

// Except for a small minimum per shard, the memory of a node does not grow with the number of shards that the node owns.
func TestShardsShareTheMemory(t *testing.T) {
	n := &Node{share: 64}
	if c := n.storeConfig(); c.CacheSize != 4<<20 || c.MemTableSize != 1<<20 || c.PrefetchSize != 1<<20 || c.KnownURLs != 1<<13 {
		t.Errorf("one of 64 shards gets %+v", c)
	}
	n.share = 4
	if c := n.storeConfig(); c.CacheSize != disk.DefaultCacheSize/4 || c.KnownURLs != disk.DefaultKnownURLs/4 {
		t.Errorf("one of 4 shards gets %+v", c)
	}
	n.store = disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}
	if c := n.storeConfig(); c.CacheSize != 1<<20 || c.MemTableSize != 64<<10 {
		t.Errorf("what the user has chosen is raised: %+v", c)
	}
}
