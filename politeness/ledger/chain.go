package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Chain is the state of a ledger's hash chain after a line. A line's digest is the SHA-256 of its bytes without the member
// "chain", which is the last; Sum is the SHA-256 of the Sum before and that digest, each of 32 bytes. Before the first line
// with the member, Sum is the SHA-256 of all bytes before it; in a new ledger, that of no bytes.
type Chain struct {
	Sum   [sha256.Size]byte
	Lines int64 // number of all lines so far, with or without the member "chain"
}

// noLines returns the chain of an empty ledger.
func noLines() Chain { return Chain{Sum: sha256.Sum256(nil)} }

// The members that end each line.
const (
	lineMember  = `,"line":`
	chainMember = `,"chain":"`
	chainEnd    = `"}`
)

var sumText = base64.RawURLEncoding

// append appends the line number and the chain to b, in which the line's other bytes start at
// begin, and returns the state after that line.
func (c Chain) append(b []byte, begin int) ([]byte, Chain) {
	c.Lines++
	b = strconv.AppendInt(append(b[:len(b)-1], lineMember...), c.Lines, 10)
	b = append(b, '}')
	digest := sha256.Sum256(b[begin:])
	var both [2 * sha256.Size]byte
	copy(both[:], c.Sum[:])
	copy(both[sha256.Size:], digest[:])
	c.Sum = sha256.Sum256(both[:])
	b = sumText.AppendEncode(append(b[:len(b)-1], chainMember...), c.Sum[:])
	return append(b, chainEnd...), c
}

// ReadChain returns the state of the chain at the end of a ledger, without a last line that is incomplete. It reads only the
// end of the ledger, unless its last line was written by an earlier version and has no chain: then it reads all of it.
func ReadChain(lines io.ReadSeeker) (Chain, error) {
	size, err := lines.Seek(0, io.SeekEnd)
	if err == nil {
		size, err = wholeLines(lines, size)
	}
	if err != nil {
		return Chain{}, fmt.Errorf("ledger: %w", err)
	}
	var buf [256]byte // long enough for the two members
	tail := buf[:min(size, int64(len(buf)))]
	if err := readAt(lines, tail, size-int64(len(tail))); err != nil {
		return Chain{}, fmt.Errorf("ledger: %w", err)
	}
	if c, ok := chainOf(bytes.TrimSuffix(tail, []byte("\n"))); ok {
		return c, nil
	}
	return chainFrom(lines, size)
}

// chainOf reads the two members at the end of a line.
func chainOf(line []byte) (c Chain, ok bool) {
	const length = len(chainMember) + (8*sha256.Size+5)/6 + len(chainEnd)
	if len(line) < length {
		return c, false
	}
	line, member := line[:len(line)-length], line[len(line)-length:]
	text, begins := bytes.CutPrefix(member, []byte(chainMember))
	text, ends := bytes.CutSuffix(text, []byte(chainEnd))
	i := bytes.LastIndex(line, []byte(lineMember))
	if !begins || !ends || i < 0 {
		return c, false
	}
	n, err := sumText.Decode(c.Sum[:], text)
	lines, err2 := strconv.ParseInt(string(line[i+len(lineMember):]), 10, 64)
	c.Lines = lines
	return c, n == sha256.Size && err == nil && err2 == nil && lines > 0
}

// chainFrom begins a chain after size bytes of lines without a chain.
func chainFrom(lines io.ReadSeeker, size int64) (c Chain, err error) {
	if _, err := lines.Seek(0, io.SeekStart); err != nil {
		return c, fmt.Errorf("ledger: %w", err)
	}
	h, n := sha256.New(), lineCounter(0)
	if _, err := io.CopyN(io.MultiWriter(h, &n), lines, size); err != nil {
		return c, fmt.Errorf("ledger: %w", err)
	}
	h.Sum(c.Sum[:0])
	c.Lines = int64(n)
	return c, nil
}

// lineCounter counts the ends of lines that are written to it.
type lineCounter int64

func (n *lineCounter) Write(b []byte) (int, error) {
	*n += lineCounter(bytes.Count(b, []byte("\n")))
	return len(b), nil
}

// wholeLines returns the number of bytes, out of size, that are complete lines. It searches backwards.
func wholeLines(f io.ReadSeeker, size int64) (int64, error) {
	buf := make([]byte, 1<<16)
	for end := size; end > 0; {
		start := max(0, end-int64(len(buf)))
		b := buf[:end-start]
		if err := readAt(f, b, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

func readAt(f io.ReadSeeker, b []byte, at int64) error {
	_, err := f.Seek(at, io.SeekStart)
	if err == nil {
		_, err = io.ReadFull(f, b)
	}
	if errors.Is(err, io.EOF) && len(b) == 0 {
		return nil
	}
	return err
}

// Begin returns the chain of an empty ledger, for moving lines into it with [Chain.Move].
func Begin() Chain { return noLines() }

// errNoChain is Move's error for a line that has no chain.
var errNoChain = errors.New("ledger: the line has no chain")

// Move appends to b a line of another ledger, with its newline, as the next line of this ledger: its number and chain are
// replaced. It returns the chain after the line.
func (c Chain) Move(b, line []byte) ([]byte, Chain, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	i := bytes.LastIndex(line, []byte(lineMember))
	if _, ok := chainOf(line); !ok || i < 0 {
		return b, c, errNoChain
	}
	begin := len(b)
	b, c = c.append(append(append(b, line[:i]...), '}'), begin)
	return append(b, '\n'), c, nil
}
