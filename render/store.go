package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// defaultMemory is the default limit of a Store in memory, in bytes.
const defaultMemory = 256 << 20

// Errors of a Store.
var (
	// ErrFull means that there is no room for another answer, because all stored ones are in use.
	ErrFull = errors.New("render: the resource store is full")
	// ErrGone means that an answer was evicted, removed or damaged. It must be requested again.
	ErrGone = errors.New("render: the answer is no longer in the resource store")
)

// Record is a key and a value that the crawler stores, atomically with its frontier. A nil Value removes the key.
type Record struct {
	Key   string
	Value []byte
}

// Index reads the Records that a crawler has committed. Its methods may be called concurrently.
type Index interface {
	// Get returns the value of a key, nil if there is none.
	Get(key string) ([]byte, error)
	// Each calls f with every key that begins with prefix, and its value. It ends when f returns an error, and returns that error.
	Each(prefix string, f func(key string, value []byte) error) error
}

// Prefixes of the keys of Records.
const (
	// prefixURL is the prefix for answers that may serve other pages, by URL.
	prefixURL = "render/url/"
	// PrefixPage is the prefix for renderings in progress.
	PrefixPage = "render/page/"
)

// Store keeps answers under the hash of their content. Those that may serve more than one page are also found by URL. It is safe for
// concurrent use.
//
// A Store of [NewStore] is in memory. A Store of [OpenStore] keeps answers in files. Records, which the crawler commits together with its
// frontier, say which answer belongs to a URL, so files and frontier are consistent after a kill at any time. Sweep, or the next opening of
// the Store, removes answers that no Record names. A Record whose answer is gone or damaged is ignored.
type Store struct {
	index  Index // nil for a Store in memory
	box    box
	folder *folder   // the box, if box stores answers in a directory; otherwise nil
	files  *urlFiles // files of answers that are also in memory; nil if there are no such files

	mu         sync.Mutex
	young, old map[string]located // recent Records by key, in two generations
	reserved   int                // total bytes of the pages that are being rendered
}

// maxReserved limits the total bytes of the pages that are rendered with a Store at the same time.
const maxReserved = 64 << 20

// Reserve reserves room to render another page of the given size, and reports whether there was enough. Free releases it.
func (s *Store) Reserve(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved+bytes > maxReserved {
		return false
	}
	s.reserved += bytes
	return true
}

// Free releases the room reserved by Reserve.
func (s *Store) Free(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= bytes
}

// box stores answers by name. An answer in use is not removed.
type box interface {
	put(r address, b []byte) error // counts as one use, even if the answer is already stored
	get(r address) ([]byte, error)
	hold(r address) error // counts one more use of a stored answer
	release(r address)
	drop(r address) // removes a damaged answer
}

// maxLocated limits the entries in a generation of Store.young and old: far fewer answers arrive between two commits of a crawler.
const maxLocated = 1 << 14

// located describes the answer for a URL, and the requests for which it may be used.
type located struct {
	Ref     address   `json:"ref"`
	Expires time.Time `json:"expires"`
	Pinned  bool      `json:"pinned,omitempty"`
	Accept  *string   `json:"accept,omitempty"` // the only Accept header of requests that may use the answer; nil: any
}

// NewStore returns a Store in memory, of at most limit bytes; 0: 256 MiB. To make room, it evicts answers that were unused for longest.
func NewStore(limit int64) *Store {
	if limit == 0 {
		limit = defaultMemory
	}
	return &Store{box: newMemoryStore(limit)}
}

// fresh returns the stored answer for a Want of another page, if there is one that may be used now, and marks it as used.
func (s *Store) fresh(w Want, now time.Time) (address, bool) {
	key := urlKey(w.URL)
	l, ok := s.locate(key)
	switch {
	case !ok,
		!l.Pinned && !now.Before(l.Expires),
		l.Accept != nil && *l.Accept != w.Accept:
		return address{}, false
	}
	return l.Ref, s.box.hold(l.Ref) == nil || s.reload(key, l.Ref)
}

func (s *Store) locate(key string) (located, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.young[key]; ok {
		return l, true
	}
	l, ok := s.old[key]
	if !ok && s.index != nil {
		b, err := s.index.Get(key)
		ok = err == nil && b != nil && json.Unmarshal(b, &l) == nil
	}
	if ok {
		s.remember(key, l)
	}
	return l, ok
}

// remember adds an entry to the young generation. The caller must hold mu.
func (s *Store) remember(key string, l located) {
	if s.young == nil || len(s.young) >= maxLocated {
		s.young, s.old = map[string]located{}, s.young
	}
	s.young[key] = l
}

// put stores an answer and marks it as used. If the answer may serve other pages, it also returns the Record to commit.
func (s *Store) put(w Want, a *Answer, at time.Time) (address, []Record, error) {
	ref, err := s.keep(a)
	if err != nil {
		return address{}, nil, err
	}
	sh := share(w.Kind, a, at)
	if !sh.shared {
		return ref, nil, nil
	}
	l := located{Ref: ref, Expires: sh.expires.UTC(), Pinned: sh.pinned}
	if sh.accept {
		l.Accept = &w.Accept
	}
	value, err := json.Marshal(l)
	if err != nil {
		return ref, nil, nil //nolint:nilerr // A time out of JSON's range: the answer then serves this page alone.
	}
	key := urlKey(w.URL)
	s.mu.Lock()
	s.remember(key, l)
	s.mu.Unlock()
	return ref, []Record{{key, value}}, nil
}

// keep stores an answer and marks it as used.
func (s *Store) keep(a *Answer) (address, error) {
	b, ref, err := encode(a)
	if err != nil {
		return address{}, err
	}
	return ref, s.box.put(ref, b)
}

// get returns a stored answer. The error is ErrGone if it is not there or damaged.
func (s *Store) get(r address) (*Answer, error) {
	b, err := s.box.get(r)
	if err != nil {
		return nil, err
	}
	a, err := decode(b, r)
	if err != nil {
		s.box.drop(r)
		return nil, ErrGone
	}
	return a, nil
}

func (s *Store) release(refs ...address) {
	for _, r := range refs {
		s.box.release(r)
	}
}

func urlKey(u weburl.URL) string {
	h := sha256.Sum256([]byte(u.String()))
	return prefixURL + hex.EncodeToString(h[:16])
}

// address is the SHA-256 of an answer in its stored form. It is the answer's name in a box.
type address [sha256.Size]byte

// String returns the hexadecimal digits.
func (r address) String() string { return hex.EncodeToString(r[:]) }

// MarshalText returns the result of String.
func (r address) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *address) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(r)) {
		return fmt.Errorf("render: a reference of %d digits instead of %d", len(b), hex.EncodedLen(len(r)))
	}
	_, err := hex.Decode(r[:], b)
	return err
}

// maxStoredHead limits the bytes of the header of a stored answer.
const maxStoredHead = 256 << 10

var errStored = errors.New("render: a stored answer is damaged")

// head is the first line of a stored answer. The body follows.
type head struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"`
	Truncated string      `json:"truncated,omitempty"`
}

// encode returns the stored form of an answer, and its name.
func encode(a *Answer) ([]byte, address, error) {
	h, err := json.Marshal(head{a.Status, a.Header, a.Truncated})
	if err != nil {
		return nil, address{}, fmt.Errorf("render: storing an answer: %w", err)
	}
	if len(h) > maxStoredHead {
		return nil, address{}, fmt.Errorf("render: storing an answer: its header has %d bytes, more than %d", len(h), maxStoredHead)
	}
	b := make([]byte, 0, len(h)+1+len(a.Body))
	b = append(append(append(b, h...), '\n'), a.Body...)
	return b, sha256.Sum256(b), nil
}

// decode reads a stored answer. The body shares the memory of b.
func decode(b []byte, r address) (*Answer, error) {
	first, body, ok := bytes.Cut(b, []byte{'\n'})
	if !ok || sha256.Sum256(b) != r {
		return nil, errStored
	}
	var h head
	if err := json.Unmarshal(first, &h); err != nil {
		return nil, errStored
	}
	return &Answer{Status: h.Status, Header: h.Header, Body: body, Truncated: h.Truncated}, nil
}
