package politeness

import (
	"encoding/binary"
	"time"
)

// writer appends a snapshot's values to b: numbers as varints, texts after their length.
type writer struct{ b []byte }

func (w *writer) uint(v uint64)            { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) duration(d time.Duration) { w.b = binary.AppendVarint(w.b, int64(d)) }
func (w *writer) instant(i instant)        { w.b = binary.AppendVarint(w.b, int64(i)) }
func (w *writer) time(t time.Time)         { w.instant(at(t)) }

func (w *writer) bool(v bool) {
	var c byte
	if v {
		c = 1
	}
	w.b = append(w.b, c)
}

func (w *writer) string(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) strings(ss []string) {
	w.uint(uint64(len(ss)))
	for _, s := range ss {
		w.string(s)
	}
}

// reader reads a snapshot's values from b. After the first error all values are zero, so that loops end.
type reader struct {
	b       []byte
	version uint64 // the format version of the snapshot
	awaited []awaited
	err     error
}

func (r *reader) check(ok bool) {
	if !ok && r.err == nil {
		r.err, r.b = errSnapshot, nil
	}
}

func (r *reader) take(n int) string {
	r.check(n >= 0 && n <= len(r.b))
	if r.err != nil {
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.check(n > 0)
	if r.err != nil {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	r.check(n > 0)
	if r.err != nil {
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count returns a number of items that take at least one byte each.
func (r *reader) count() int {
	n := r.uint()
	r.check(n <= uint64(len(r.b)))
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) duration() time.Duration { return time.Duration(r.int()) }
func (r *reader) instant() instant        { return instant(r.int()) }
func (r *reader) time() time.Time         { return r.instant().time() }
func (r *reader) string() string          { return r.take(r.count()) }
func (r *reader) bool() bool              { return r.take(1) == "\x01" }

func (r *reader) strings() (ss []string) {
	for range r.count() {
		ss = append(ss, r.string())
	}
	return ss
}
