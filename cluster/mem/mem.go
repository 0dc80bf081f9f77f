// Package mem is a cluster.Engine in memory, for tests. Whole clusters run on it in virtual time, with killed and disconnected nodes,
// calls with an unknown outcome, and stale reads.
package mem

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

// Server holds the data of one cluster job. It is safe for concurrent use.
type Server struct {
	mu        sync.Mutex
	seq       uint64 // last sequence of all journals and inboxes
	journals  map[int]*log
	inboxes   map[int]*log
	aside     map[int]*log // messages of inboxes that were put aside
	registers map[string]*register
	files     map[string][]byte
	answers   map[int][]*answer
	watchers  map[int][]*func()
	clocks    *clocks
}

// log is a journal or an inbox.
type log struct {
	entries []cluster.Entry
	history []cluster.Entry // all entries ever added
	last    uint64
	trimmed uint64                   // greatest sequence that was trimmed
	nonces  map[cluster.Nonce]uint64 // sequences of all records ever appended, by nonce
}

type register struct {
	value []byte
	rev   uint64
	was   []byte // value before the last Store, for stale reads
	old   uint64
}

type answer struct {
	by *Conn
	f  func([]byte) []byte
}

// New returns an empty Server.
func New() *Server {
	return &Server{
		journals: map[int]*log{}, inboxes: map[int]*log{}, aside: map[int]*log{}, registers: map[string]*register{},
		files: map[string][]byte{}, answers: map[int][]*answer{}, watchers: map[int][]*func(){}, clocks: newClocks(),
	}
}

func of(logs map[int]*log, shard int) *log {
	l := logs[shard]
	if l == nil {
		l = &log{nonces: map[cluster.Nonce]uint64{}}
		logs[shard] = l
	}
	return l
}

func (s *Server) append(shard int, n cluster.Nonce, data []byte, last uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(s.journals, shard)
	if seq, stored := l.nonces[n]; stored {
		return seq, nil
	}
	switch {
	case l.last > last:
		return 0, cluster.ErrFenced
	case l.last < last:
		return 0, cluster.ErrWentBack
	}
	s.add(l, n, data)
	l.nonces[n] = l.last
	return l.last, nil
}

func (s *Server) add(l *log, n cluster.Nonce, data []byte) {
	s.seq++
	l.last = s.seq
	l.entries = append(l.entries, cluster.Entry{Seq: l.last, Nonce: n, Data: bytes.Clone(data), At: time.Now()})
	l.history = append(l.history, l.entries[len(l.entries)-1])
}

// lastBut returns the record that comes before the last records of a journal, whose number is many; 0 returns the last record.
func (s *Server) lastBut(shard, many int) cluster.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(s.journals, shard)
	if len(l.entries) == 0 {
		return cluster.Entry{}
	}
	return l.entries[max(0, len(l.entries)-1-many)]
}

// after returns the entries after a sequence, and whether some of them were trimmed.
func (s *Server) after(logs map[int]*log, shard int, after uint64) (all []cluster.Entry, trimmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(logs, shard)
	for i, e := range l.entries {
		if e.Seq > after {
			return slices.Clone(l.entries[i:]), l.trimmed > after
		}
	}
	return nil, l.trimmed > after
}

// cut removes entries whose sequence is less than the parameter below, except the last entries, whose number is keep.
func (s *Server) cut(logs map[int]*log, shard int, below uint64, keep int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(logs, shard)
	n := 0
	for n < len(l.entries)-keep && l.entries[n].Seq < below {
		l.trimmed = l.entries[n].Seq
		n++
	}
	l.entries = slices.Clone(l.entries[n:])
}

func (s *Server) send(shard int, offer []byte) {
	s.mu.Lock()
	s.add(of(s.inboxes, shard), cluster.Nonce{}, offer)
	all := slices.Clone(s.watchers[shard])
	s.mu.Unlock()
	for _, f := range all {
		(*f)()
	}
}

func (s *Server) watch(shard int, f func()) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[shard] = append(s.watchers[shard], &f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers[shard] = slices.DeleteFunc(s.watchers[shard], func(g *func()) bool { return g == &f })
	}
}

func (s *Server) putAside(shard int, e cluster.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(s.aside, shard)
	if !slices.ContainsFunc(l.entries, func(x cluster.Entry) bool { return x.Seq == e.Seq }) {
		l.entries = append(l.entries, cluster.Entry{Seq: e.Seq, Data: bytes.Clone(e.Data), At: time.Now()})
	}
}

func (s *Server) load(name string, stale bool) ([]byte, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.registers[name]
	switch {
	case r == nil:
		return nil, 0
	case stale:
		return bytes.Clone(r.was), r.old
	}
	return bytes.Clone(r.value), r.rev
}

func (s *Server) store(name string, value []byte, rev uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.registers[name]
	if r == nil {
		r = &register{}
	}
	if r.rev != rev {
		return 0, cluster.ErrConflict
	}
	s.seq++
	*r = register{value: append([]byte{}, value...), rev: s.seq, was: r.value, old: r.rev}
	s.registers[name] = r
	return r.rev, nil
}

func (s *Server) put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = data
}

func (s *Server) get(name string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[name]
	if !ok {
		return nil, cluster.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s *Server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
}

// answerer returns the node that answers for a shard, nil if there is none.
func (s *Server) answerer(shard int) *answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Backward(s.answers[shard]) {
		return a
	}
	return nil
}

func (s *Server) answer(shard int, a *answer) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[shard] = append(s.answers[shard], a)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers[shard] = slices.DeleteFunc(s.answers[shard], func(b *answer) bool { return a == b })
	}
}

// History returns all records that were ever appended to a journal, including trimmed ones.
func (s *Server) History(shard int) []cluster.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(of(s.journals, shard).history)
}

// GoBack makes a journal lose its last records, like a disk that acknowledges data without writing it.
func (s *Server) GoBack(shard, records int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := of(s.journals, shard)
	l.entries = l.entries[:max(0, len(l.entries)-records)]
	l.last = l.trimmed
	if n := len(l.entries); n > 0 {
		l.last = l.entries[n-1].Seq
	}
	for n, seq := range l.nonces {
		if seq > l.last {
			delete(l.nonces, n)
		}
	}
}
