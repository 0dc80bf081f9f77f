package frontiertest

import (
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// compareKnown checks what a Knower and a Counter say of Requests about to be added. A Knower may
// forget, but what it says to be known must be.
func (r *run) compareKnown(rs []frontier.Request) {
	for _, q := range rs {
		e := r.m.urls[q.URL.Key()]
		if k, ok := r.f.(frontier.Knower); ok {
			known := []bool{true}
			k.Known([]weburl.Key{q.URL.Key()}, q.Depth, q.Priority, known)
			if known[0] && r.m.changes(e, q) {
				r.fail("%s is said to be known, and adding it would change something", name(q))
			}
		}
		if c, ok := r.f.(frontier.Counter); ok {
			want := 0
			if h := r.m.hosts[q.URL.Host()]; h != nil {
				want = len(h.entries) - h.count(stateDone)
			}
			if got := c.HostPending(q.URL.Host()); got != want {
				r.fail("%d URLs of %s are said to be pending, want %d", got, q.URL.Host(), want)
			}
		}
	}
}

// changes reports whether adding q, a Request of e's URL, would change something.
func (m *model) changes(e *entry, q frontier.Request) bool {
	return e == nil || (e.state == stateQueued || e.state == stateWaiting) && q.Depth < e.req.Depth || m.raises(e, q)
}

func knownIsKnown(k *kit) {
	n, ok := k.f.(frontier.Knower)
	if !ok {
		k.Skipf("the store is no Knower")
	}
	k.add(2, k.deep("a/1", 3), k.deep("a/2", 3))
	keys := []weburl.Key{k.page("a/1").Key(), k.page("a/2").Key(), k.page("a/3").Key(), {}}
	check := func(depth int, may ...bool) {
		k.Helper()
		known := []bool{true, true, true, true}
		n.Known(keys, depth, 0, known)
		for i := range known {
			if known[i] && !may[i] {
				k.Errorf("URL %d at depth %d is said to be known", i, depth)
			}
		}
	}
	check(3, true, true, false, false)
	check(2, false, false, false, false)
	k.done(k.claimOf("a/1"))
	check(2, true, false, false, false)
	check(9, true, true, false, false)
	if c, ok := k.f.(frontier.Counter); ok {
		if got := [2]int{c.HostPending("a.test:80"), c.HostPending("b.test:80")}; got != [2]int{1, 0} {
			k.Errorf("pending of two hosts: %d, want [1 0]", got)
		}
	}
}
