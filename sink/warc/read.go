package warc

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

const (
	maxFields = 1 << 20   // maximum bytes of a record's header
	maxBlock  = 128 << 20 // maximum bytes of a block that is kept in memory
)

var (
	// errCut means that the file ends within a record.
	errCut       = errors.New("the file ends within it")
	errNoRecord  = errors.New("no WARC record begins there")
	errDigest    = errors.New("its content does not match its digest")
	errHeader    = errors.New("its header is too long")
	errNotSingle = errors.New("several records are compressed together: compress each by itself, as the WARC standard recommends (warcio recompress does)")
)

// stored is a record as read from a file.
type stored struct {
	head  []byte // header fields
	size  int64  // size of the block
	block []byte
	short bool  // whether block has less than size bytes
	end   int64 // offset of the next record
}

// get returns the value of a field.
func (r *stored) get(name string) string { return fieldIn(r.head, name) }

func (r *stored) kind() string { return r.get("WARC-Type") }

func (r *stored) target() string { return bare(r.get("WARC-Target-URI")) }

// isAnswer reports whether r has the response to an HTTP request.
func (r *stored) isAnswer() bool {
	kind := r.kind()
	return (kind == "response" || kind == "revisit") && strings.HasPrefix(r.target(), "http")
}

// bare returns a URI without the angle brackets that the grammar of WARC 1.0 put around it.
func bare(uri string) string { return strings.TrimSuffix(strings.TrimPrefix(uri, "<"), ">") }

// fieldIn returns the value of the first field with a name, or "".
func fieldIn(fields []byte, name string) string {
	for line := range bytes.Lines(fields) {
		if len(line) > len(name) && named(line[:len(name)+1], name) {
			return string(bytes.TrimSpace(line[len(name)+1:]))
		}
	}
	return ""
}

// message returns the HTTP response in r: its header section as received, empty if there is none, and its body without transfer coding.
func (r *stored) message() (head, payload []byte) {
	n := 0
	for line := range bytes.Lines(r.block) {
		n += len(line)
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			x := sink.Exchange{Head: originalHead(r.block[:n]), Body: r.block[n:]}
			if fieldIn(r.block[:n], renamed+"Transfer-Encoding") != "" { // the field was renamed because the body was stored without chunks
				return x.Head, x.Body
			}
			return x.Head, x.Payload()
		}
	}
	return nil, nil
}

// originalHead undoes the renaming by storedHead.
func originalHead(head []byte) []byte {
	if fieldIn(head, renamed+"Transfer-Encoding") == "" {
		return head
	}
	var out []byte
	for line := range bytes.Lines(head) {
		if named(line, renamed+"Transfer-Encoding") || named(line, renamed+"Content-Length") {
			line = line[len(renamed):]
		}
		out = append(out, line...)
	}
	return out
}

// read reads the record at a place.
func (a *Archive) read(p place) (*stored, error) { return a.readAt(p.file(), p.offset()) }

func (a *Archive) readAt(file int, offset int64) (*stored, error) {
	f := a.files[file]
	r, err := readRecord(newCountingReader(f, offset), true)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, &ArchiveError{f.name, offset, err}
	}
	return r, nil
}

// check compares the block with its digest, if the algorithm of the digest is known.
func (r *stored) check() error {
	algorithm, want, _ := strings.Cut(r.get("WARC-Block-Digest"), ":")
	var sum []byte
	switch algorithm {
	case "sha1":
		s := sha1.Sum(r.block)
		sum = s[:]
	case "sha256":
		s := sha256.Sum256(r.block)
		sum = s[:]
	}
	if r.short || sum == nil || strings.EqualFold(want, hex.EncodeToString(sum)) || strings.EqualFold(want, base32.StdEncoding.EncodeToString(sum)) {
		return nil
	}
	return errDigest
}

// readRecord reads a record, with or without its block. Afterwards the tape is at the beginning of the next record.
func readRecord(t *countingReader, block bool) (*stored, error) {
	m, err := t.member()
	if err != nil {
		return nil, err
	}
	r := new(stored)
	if err := r.readHead(m); err != nil {
		return nil, whole(t, err)
	}
	if block {
		r.block, err = io.ReadAll(io.LimitReader(m, min(r.size, maxBlock)))
		r.short = r.size > maxBlock
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, m, r.size-int64(len(r.block)))
	}
	if err == nil {
		err = endRecord(m)
	}
	r.end = t.n
	return r, whole(t, err)
}

// whole returns errCut if err was caused by the end of the file, otherwise err.
func whole(t *countingReader, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if _, atEnd := t.r.Peek(1); errors.Is(atEnd, io.EOF) {
			return errCut
		}
		return io.ErrUnexpectedEOF
	}
	return err
}

// readHead reads the version and the fields. A field's value may continue in lines that begin with white space.
func (r *stored) readHead(m *member) error {
	version, err := m.line()
	if err == nil && !bytes.HasPrefix(version, []byte("WARC/")) {
		err = errNoRecord
	}
	if err != nil {
		return err
	}
	for {
		line, err := m.line()
		if err != nil {
			return err
		}
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case len(text) == 0:
			return r.measure()
		case len(r.head)+len(line) > maxFields:
			return errHeader
		case text[0] == ' ' || text[0] == '\t':
			r.head = append(bytes.TrimRight(r.head, "\r\n"), ' ')
		}
		r.head = append(append(r.head, bytes.TrimLeft(text, " \t")...), '\n')
	}
}

func (r *stored) measure() (err error) {
	length := r.get("Content-Length")
	if r.size, err = strconv.ParseInt(length, 10, 64); err != nil || r.size < 0 {
		return fmt.Errorf("its Content-Length is %q", length)
	}
	return nil
}

// endRecord reads the two line ends after a record. In a compressed file, the record's gzip member or zstd frame must end there. Reading to
// that end also verifies the checksum.
func endRecord(m *member) error {
	var end [len(recordEnd)]byte
	_, err := io.ReadFull(m, end[:])
	switch {
	case err != nil:
		return err
	case string(end[:]) != recordEnd:
		return errors.New("its length is wrong: no line ends follow it")
	case !m.packed:
		return nil
	}
	n, err := io.Copy(io.Discard, m)
	if n > 0 {
		return errNotSingle
	}
	return err
}

// member is the source of one record's bytes.
type member struct {
	source
	packed bool // the compressed data ends with the record
}

type source interface {
	io.Reader
	io.ByteReader
}

// line reads a line, with its line end.
func (m *member) line() (line []byte, err error) {
	for len(line) < maxFields {
		b, err := m.ReadByte()
		if err != nil {
			return line, err
		}
		if line = append(line, b); b == '\n' {
			return line, nil
		}
	}
	return nil, errHeader
}
