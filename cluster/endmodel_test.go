package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// EndModel is a job of three shards in which only the parts that decide when the job ends are real: journals, inboxes, owners, their signs
// of life (beats), and probes. A shard's queue is only a number. A new owner starts from the committed state; the previous owner continues
// until the journal refuses it.
type EndModel struct {
	t       *testing.T
	rng     *rand.Rand
	ctx     context.Context
	calm    Engine // a connection without stale reads
	stale   Engine
	owners  []*modelOwner // including replaced ones
	shards  int
	links   int // number of links that pages may still have
	attempt finisher
	adder   *Adder // adds requests from outside
	adds    int    // number of requests that adder may still add
	added   []int  // offers that adder sent since it last held the end of the job
	counts  []bool // for each offer, by its number: whether its sender has committed the page
}

// modelOwner is a process that owns a shard, or wrongly believes that it does.
type modelOwner struct {
	*owner
	queue int    // number of queued pages, as committed
	inbox uint64 // position up to which the owner has read its inbox, as committed
	probe uint64 // the last probe that the owner has read
	// under holds the number of unsent links of the page in progress, by shard. nil: no page is in progress.
	under  []int
	served bool  // whether a page is in progress
	sent   []int // the offers of the page in progress
}

// NewEndModel makes a model. The reads of a connection from connect are stale with the given probability.
func NewEndModel(t *testing.T, seed uint64, connect func(stale float64) Engine) *EndModel {
	rng := rand.New(rand.NewPCG(seed, 8))
	m := &EndModel{t: t, rng: rng, ctx: t.Context(), calm: connect(0), stale: connect(0.5), shards: 3, links: 1 + rng.IntN(8), adds: rng.IntN(12)}
	m.adder = &Adder{engine: m.stale}
	for shard := range m.shards {
		m.takeOver(shard)
	}
	m.commit(m.owners[0], 1, 0)
	return m
}

// Run makes events happen until the probes find the job done, and reports whether they did.
func (m *EndModel) Run() bool {
	for range 2000 {
		o := m.owners[m.rng.IntN(len(m.owners))]
		switch m.rng.IntN(14) {
		case 0, 1, 2:
			m.serve(o)
		case 3, 4, 5:
			m.read(o)
		case 6, 7:
			m.beat(o)
		case 8:
			if m.rng.IntN(4) == 0 {
				m.takeOver(m.rng.IntN(m.shards))
			}
		case 9:
			m.add()
		default:
			if m.attempt.step(m.ctx, m.stale, m.shards) {
				m.check()
				return true
			}
		}
	}
	return false
}

// serve does one step of a page: its links are sent before the page is committed.
func (m *EndModel) serve(o *modelOwner) {
	switch {
	case !o.served && o.queue > 0:
		o.served, o.under = true, make([]int, m.shards)
		for m.links > 0 && m.rng.IntN(3) > 0 {
			m.links--
			o.under[m.rng.IntN(m.shards)]++
		}
	case o.served:
		for shard, n := range o.under {
			if n > 0 && shard != o.shard {
				o.under[shard] = 0
				m.send(o, shard, n)
				return // another event may happen before the page's next step
			}
		}
		if m.commit(o, o.queue-1+o.under[o.shard], o.inbox) {
			for _, n := range o.sent {
				m.counts[n] = true
			}
			o.served, o.sent = false, nil
		}
	}
}

// add does one step of an operator who adds requests. These must be crawled once the operator has held the job's end after sending them.
func (m *EndModel) add() {
	if m.adds > 0 && (len(m.added) == 0 || m.rng.IntN(2) == 0) {
		m.adds--
		x := message{from: len(m.counts), epoch: 1}
		m.added, m.counts = append(m.added, x.from), append(m.counts, false)
		if err := m.calm.Send(m.ctx, m.rng.IntN(m.shards), fmt.Sprint(m.rng.Uint64()), x.encode()); err != nil {
			m.t.Fatal(err)
		}
		if m.rng.IntN(4) == 0 {
			return // another event may happen before the end is held
		}
	}
	if len(m.added) == 0 {
		return
	}
	if err := m.adder.hold(m.ctx); err != nil {
		m.t.Errorf("a job that runs is over: %v", err)
	}
	for _, n := range m.added {
		m.counts[n] = true
	}
	m.added = nil
}

func (m *EndModel) send(o *modelOwner, shard, links int) {
	x := message{from: len(m.counts), epoch: uint64(links)} // from is the number of the offer, and epoch that of its links
	o.sent, m.counts = append(o.sent, x.from), append(m.counts, false)
	if err := m.calm.Send(m.ctx, shard, fmt.Sprint(m.rng.Uint64()), x.encode()); err != nil {
		m.t.Fatal(err)
	}
}

// commit makes a shard's state durable after a page was served or the inbox was read. It reports whether the journal accepted the state.
func (m *EndModel) commit(o *modelOwner, queue int, inbox uint64) bool {
	state := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(queue)), inbox)
	if _, err := o.Append(state); err != nil {
		return false
	}
	o.queue, o.inbox = queue, inbox
	return true
}

// read reads new messages of the inbox like Shard.receive: it queues offers first, and then records and reports the probe.
func (m *EndModel) read(o *modelOwner) {
	queue, at, probe := o.queue, o.inbox, o.probe
	for x, err := range m.stale.Inbox(m.ctx, o.shard, o.inbox) {
		if err != nil {
			m.t.Fatal(err)
		}
		msg, err := decodeMessage(x.Data)
		if err != nil {
			m.t.Fatal(err)
		}
		at = x.Seq
		if msg.probe != 0 {
			probe = msg.probe
		} else {
			queue += int(msg.epoch)
		}
	}
	if queue > o.queue && !m.commit(o, queue, at) {
		return
	}
	o.inbox, o.probe = at, probe // if there was no offer, this is not committed: after a takeover, the messages are read again
	m.beat(o)
}

func (m *EndModel) beat(o *modelOwner) {
	mark := o.marked()
	_ = o.beat(o.queue == 0 && !o.served, o.probe, mark)
}

// takeOver makes another process the owner. It starts from the state in the journal.
func (m *EndModel) takeOver(shard int) {
	last, err := m.calm.Last(m.ctx, shard)
	if err != nil {
		m.t.Fatal(err)
	}
	o, err := takeOver(m.ctx, m.calm, shard, "n", DefaultTTL, last)
	if err != nil {
		m.t.Fatal(err)
	}
	x := &modelOwner{owner: o}
	for e, err := range m.calm.Read(m.ctx, shard, 0) {
		r, derr := decodeRecord(e.Data)
		if err = errors.Join(err, derr); err != nil {
			m.t.Fatal(err)
		}
		if r.kind == kindGroup {
			state, err := join(r.body)
			if err != nil {
				m.t.Fatal(err)
			}
			d := decoder{b: state}
			x.queue, x.inbox, x.mark = int(d.uint()), d.uint(), e.Seq
		}
	}
	m.owners = append(m.owners, x)
}

// check checks that the job is done when the probes say so. An offer whose sender has not committed the page does not count, because the
// present owner of the sender's shard sends the page's links again.
func (m *EndModel) check() {
	for shard := range m.shards {
		var o *modelOwner
		for _, x := range m.owners {
			if x.shard == shard && (o == nil || x.epoch > o.epoch) {
				o = x
			}
		}
		if o.queue > 0 || o.served {
			m.t.Errorf("the job has ended, and shard %d has %d pages", shard, o.queue)
		}
		for x, err := range m.calm.Inbox(m.ctx, shard, o.inbox) {
			if msg, derr := decodeMessage(x.Data); err != nil || derr != nil || msg.probe == 0 && m.counts[msg.from] {
				m.t.Errorf("the job has ended, and an offer to shard %d is not read: %v %v", shard, err, derr)
			}
		}
	}
}
