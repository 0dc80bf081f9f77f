package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/cluster"
)

// inboxKeepsOrder checks that offers from three concurrent senders keep each sender's order.
func inboxKeepsOrder(k *kit) {
	const offers = 20
	var calls sync.WaitGroup
	for n := range 3 {
		e := k.job.Connect(k.t)
		calls.Go(func() {
			for i := range offers {
				text := fmt.Sprintf("%d:%d", n, i)
				if err := e.Send(k.ctx, 6, text, []byte(text)); err != nil {
					k.Errorf("Send: %v", err)
				}
			}
		})
	}
	calls.Wait()
	k.is("Send to another shard", k.e.Send(k.ctx, 7, "x", []byte("x")), nil)
	all := k.inbox(6, 0)
	for n := range 3 {
		from := slices.DeleteFunc(slices.Clone(all), func(e cluster.Entry) bool { return !strings.HasPrefix(string(e.Data), fmt.Sprint(n, ":")) })
		var want []string
		for i := range offers {
			want = append(want, fmt.Sprintf("%d:%d", n, i))
		}
		k.holds(fmt.Sprintf("the offers of node %d", n), from, want...)
	}
	if len(all) != 3*offers {
		k.Errorf("%d offers, want %d", len(all), 3*offers)
	}
	k.holds("the other inbox", k.inbox(7, 0), "x")
}

// asideStays checks that a message put aside by two owners is stored once, and stays when the inbox is dropped.
func asideStays(k *kit) {
	k.holds("what was put aside at first", k.aside(2))
	for i := range 3 {
		text := fmt.Sprintf("message %d", i)
		k.is("Send", k.e.Send(k.ctx, 2, text, []byte(text)), nil)
	}
	all := k.inbox(2, 0)
	if len(all) != 3 {
		k.Fatalf("%d messages, want 3", len(all))
	}
	other := k.job.Connect(k.t)
	for _, x := range all[:2] {
		k.is("PutAside", k.e.PutAside(k.ctx, 2, x), nil)
		k.is("PutAside again", other.PutAside(k.ctx, 2, x), nil)
	}
	k.holds("the inbox", k.inbox(2, 0), "message 0", "message 1", "message 2")
	k.is("Drop", k.e.Drop(k.ctx, 2, all[2].Seq), nil)
	aside := k.aside(2)
	k.holds("what was put aside", aside, "message 0", "message 1")
	for i, x := range aside[:min(2, len(aside))] {
		if x.Seq != all[i].Seq || x.At.IsZero() {
			k.Errorf("put aside with sequence %d, at %v, want that of the inbox, %d", x.Seq, x.At, all[i].Seq)
		}
	}
	k.holds("what was put aside of another inbox", k.aside(3))
}

// arrivalsAreTold checks that a watcher of an inbox is notified of offers from others until it stops, and not of other inboxes.
func arrivalsAreTold(k *kit) {
	var told, others atomic.Int64
	other := k.job.Connect(k.t)
	stop, err := k.e.Watch(2, func() { told.Add(1) })
	k.is("Watch", err, nil)
	stopOthers, err := k.e.Watch(3, func() { others.Add(1) })
	k.is("Watch", err, nil)
	defer stopOthers()
	sent := 0
	k.soon("Watch", func() bool {
		sent++
		text := fmt.Sprint("offer ", sent)
		k.is("Send", other.Send(k.ctx, 2, text, []byte(text)), nil)
		return told.Load() > 0
	})
	stop()
	before := told.Load()
	k.is("Send", other.Send(k.ctx, 2, "last", []byte("last")), nil)
	k.soon("the last offer", func() bool { return len(k.inbox(2, 0)) == sent+1 })
	if n := told.Load(); n != before {
		k.Errorf("told %d times of offers after stop", n-before)
	}
	if n := others.Load(); n != 0 {
		k.Errorf("told %d times of offers to another inbox", n)
	}
}

func offerStays(k *kit) {
	for i := range 4 {
		text := fmt.Sprintf("offer %d", i)
		k.is("Send", k.e.Send(k.ctx, 2, text, []byte(text)), nil)
	}
	for range 2 {
		k.holds("the inbox", k.inbox(2, 0), "offer 0", "offer 1", "offer 2", "offer 3")
	}
	all := k.inbox(2, 0)
	if len(all) != 4 {
		k.Fatalf("%d offers, want 4", len(all))
	}
	k.holds("the inbox behind an offer", k.inbox(2, all[1].Seq), "offer 2", "offer 3")
	k.is("Drop", k.e.Drop(k.ctx, 2, all[1].Seq), nil)
	k.holds("the inbox, two dropped", k.inbox(2, 0), "offer 2", "offer 3")
	k.is("Drop", k.e.Drop(k.ctx, 2, all[3].Seq), nil)
	k.holds("the inbox, all dropped", k.inbox(2, 0))
	k.is("Drop of nothing", k.e.Drop(k.ctx, 3, 10), nil)
	k.is("Send", k.e.Send(k.ctx, 2, "again", []byte("again")), nil)
	if rest := k.inbox(2, all[3].Seq); len(rest) != 1 || rest[0].Seq <= all[3].Seq {
		k.Errorf("behind %d the inbox has %v, want one offer with a greater sequence", all[3].Seq, rest)
	}
}
