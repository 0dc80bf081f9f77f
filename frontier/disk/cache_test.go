package disk

import "testing"

// The cache has room for what the engine needs, and grows with the number of known URLs.
func TestCacheFollowsTheStore(t *testing.T) {
	const most, memTable = 192 << 20, 16 << 20
	c := newCache(most, memTable)
	defer c.engine.Unref()
	room := func() int64 { return most - c.held }
	least := room()
	if least < 2*memTable+maxFilterSize || least > most/2 {
		t.Fatalf("%d MiB for an empty store", least>>20)
	}
	c.fit(1000)
	if room() != least {
		t.Errorf("%d bytes more for a thousand URLs", room()-least)
	}
	c.fit(2_000_000)
	if want := least + 2_000_000*cachePerURL; room() != want {
		t.Errorf("%d MiB for two million URLs, want %d", room()>>20, want>>20)
	}
	c.fit(100_000_000)
	if room() != most || c.release != nil {
		t.Errorf("%d MiB for 100 million URLs, want all %d", room()>>20, most>>20)
	}
	small := newCache(4<<20, memTable)
	defer small.engine.Unref()
	if small.held != 0 {
		t.Errorf("%d bytes are kept from a cache of 4 MiB", small.held)
	}
}
