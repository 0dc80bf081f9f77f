package job

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/cli"
)

// extent is the length of an append-only file at a commit, with the SHA-256 of that part, which "head -c BYTES FILE | sha256sum"
// prints. It is stored in the queue in the same step as the visits that it covers.
type extent struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	State  []byte `json:"state"`            // state of the hash, from which hashing continues without reading the file again
	Closed bool   `json:"closed,omitempty"` // the segment will not grow any more

	// From and Mark are earlier points. A process that resumes the job hashes again from From on, and Verify uses them to name
	// the part of the file that differs.
	From point `json:"from"`
	Mark point `json:"mark"`
}

// point is an offset in a file, with the state of the hash there.
type point struct {
	Bytes int64  `json:"bytes"`
	State []byte `json:"state,omitempty"` // empty at the beginning of the file
}

// markEvery is the distance between points, in bytes.
const markEvery = 4 << 20

// grown returns the extent of a file that has grown to this length, and reports whether it has a new mark.
func (e extent) grown(bytes int64, sum string, state []byte) (next extent, marked bool) {
	next = extent{Bytes: bytes, SHA256: sum, State: state, From: e.From, Mark: e.Mark}
	if bytes-e.Mark.Bytes < markEvery {
		return next, false
	}
	next.From, next.Mark = e.Mark, point{bytes, state}
	return next, true
}

func (e *extent) encode() []byte {
	b, err := json.Marshal(e)
	if err != nil { // marshalling numbers and strings cannot fail
		panic(err)
	}
	return b
}

// check compares a file with the extent, starting at the last point, and returns its hash up to the end of the extent. The error
// is a *damage, or an error of reading the file.
func (e *extent) check(f io.ReaderAt, size int64) (hash.Hash, error) {
	if size < e.Bytes {
		return nil, short(size, e.Bytes)
	}
	h, from := e.From.hash(), e.From.Bytes
	if h == nil { // another version of Go may have stored the state: hash from the beginning
		h, from = sha256.New(), 0
	}
	if _, err := io.Copy(h, io.NewSectionReader(f, from, e.Bytes-from)); err != nil {
		return nil, err
	}
	if hexSum(h) != e.SHA256 {
		return nil, differs(from, e.Bytes)
	}
	return h, nil
}

// hash returns the hash of the bytes before the point, or nil if its state cannot be read.
func (p point) hash() hash.Hash {
	h := sha256.New()
	if p.Bytes == 0 {
		return h
	}
	if h.(encoding.BinaryUnmarshaler).UnmarshalBinary(p.State) != nil {
		return nil
	}
	return h
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// stateOf returns the state of a hash of crypto/sha256.
func stateOf(h hash.Hash) []byte {
	b, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil { // crypto/sha256 never fails
		panic(err)
	}
	return b
}

// damage describes an error in a committed file.
type damage struct{ what string }

func (d *damage) Error() string { return d.what }

func short(size, want int64) error {
	return &damage{fmt.Sprintf("it ends at byte %d, where %d bytes were committed", size, want)}
}

func longer(size, want int64) error {
	return &damage{fmt.Sprintf("it is a closed segment of %d bytes, where %d bytes were committed", size, want)}
}

func gone(want int64) error {
	return &damage{fmt.Sprintf("it is missing, where %d bytes were committed", want)}
}

func differs(from, to int64) error {
	return &damage{fmt.Sprintf("between byte %d and byte %d it is not what was committed", from, to)}
}

// queueError returns an error of the queue in a form for users.
func (d jobFiles) queueError(err error) error {
	if !errors.Is(err, disk.ErrDamaged) && !errors.Is(err, disk.ErrForeign) {
		if errors.Is(err, crawler.ErrResume) {
			return outputError(err)
		}
		return err
	}
	text, _, _ := strings.Cut(err.Error(), "\n") // keep one line: every reader of the queue adds the same damage
	if abs, absErr := filepath.Abs(d.path(frontierName)); absErr == nil {
		if _, cause, ok := strings.Cut(text, abs+": "); ok {
			text = cause
		}
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "disk: not a crawl directory: "), ": name ")
	dir := d.root.Name()
	return &Error{Kind: Storage, Err: fmt.Errorf(
		"%s is damaged (%s), and the crawl in it cannot be resumed; the visits, archives and the ledger in %s are not affected: put the whole directory back from a copy, or crawl what is missing into a new one, with since set to %s",
		d.path(frontierName), text, dir, cli.ShellWord(dir))}
}

// told returns err in a form for users: damage gets the path of the file and advice.
func (d jobFiles) told(name string, err error) error {
	var dam *damage
	if !errors.As(err, &dam) {
		return err
	}
	dir := d.root.Name()
	instead := "crawl into a new directory with since set to " + cli.ShellWord(dir) + ", which fetches again only what has changed"
	if name == VisitsName {
		instead = "begin a new crawl in another directory"
	}
	return &Error{Kind: Storage, Err: fmt.Errorf("%s is damaged: %w: put it back as it was, or %s", d.path(name), dam, instead)}
}
