package job

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/internal/safefile"
)

// ChainCheck is the result of Verify for the hash chain of the ledger and its signed heads. See [ledger.Chain].
type ChainCheck struct {
	Lines  int64  `json:"lines"`           // lines read
	Before int64  `json:"before"`          // lines at the beginning without a chain, written by an earlier version
	Heads  int    `json:"heads"`           // heads with a valid signature
	Signed int64  `json:"signed"`          // lines up to the last valid head
	Line   int64  `json:"line,omitempty"`  // the first line that does not fit the chain; 0 if all lines fit
	Fault  string `json:"fault,omitempty"` // the fault in line Line

	Notes []string `json:"notes,omitempty"` // checks that were skipped, with the reason
}

// PublicKeys returns the public key with the given ID, or false if no trusted key has it.
type PublicKeys = func(id string) (ed25519.PublicKey, bool)

// ReadKeys reads the keys with which heads of ledgers are checked, either from the folder of an identity, except for its
// compromised keys, or from a file with a JWK Set as it is published for sites.
func ReadKeys(path string) (PublicKeys, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Kind: Refused, Err: err}
	}
	if info.IsDir() {
		folder, err := identity.Open(path)
		if err != nil {
			return nil, &Error{Kind: Refused, Err: err}
		}
		return folder.PublicKey, nil
	}
	text, err := safefile.ReadNamed(path, safefile.Settings)
	var set []identity.PublicKey
	if err == nil {
		set, err = identity.ParseDirectory(text)
	}
	if err == nil && len(set) == 0 {
		err = errors.New("it has no Ed25519 key")
	}
	if err != nil {
		return nil, refused("%s: %w", path, err)
	}
	return identity.Trusted(set), nil
}

// keys returns the keys of the identity in the job's settings, or nil and a note if they cannot be read.
func (r *Reader) keys() (public PublicKeys, note string) {
	f, err := r.File()
	if err != nil {
		return nil, ""
	}
	s, _, ok := f.Get("sign")
	if !ok || s.Text() == "" {
		return nil, ""
	}
	if public, err = ReadKeys(s.Text()); err != nil {
		return nil, fmt.Sprintf("signatures of heads were not checked: %v: name the keys, as a folder or a JWK Set", err)
	}
	return public, ""
}

// checkChain compares each line of the ledger with the chain, with code that is independent of the code that wrote it. If
// public is nil, it uses the keys of the job's identity.
func (r *Reader) checkChain(ledger io.Reader, public PublicKeys) (*ChainCheck, error) {
	note := ""
	if public == nil {
		public, note = r.keys()
	}
	c := &chainCheck{keys: public, sum: sha256.New().Sum(nil)}
	err := c.read(ledger)
	if note != "" && c.tokens > 0 {
		c.Notes = append(c.Notes, note)
	}
	c.conclude(note != "")
	return &c.ChainCheck, err
}

// chainCheck is the state of checkChain.
type chainCheck struct {
	ChainCheck
	keys   PublicKeys
	tokens int
	begun  bool   // a line with a chain was read
	sum    []byte // hash of the previous line
}

func (c *chainCheck) read(r io.Reader) error {
	br, before := bufio.NewReaderSize(r, 1<<16), sha256.New()
	var b []byte
	for c.Fault == "" {
		var err error
		b, err = jsonl.ReadLine(br, b)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("line %d of %s: %w", c.Lines+1, LedgerName, err)
		}
		c.Lines++
		plain, chain, ok := unchained(bytes.TrimSuffix(b, []byte("\n")))
		switch {
		case ok:
			c.line(plain, chain)
		case c.begun:
			c.fault("it has no chain, unlike the lines before it: it was inserted or changed, or an earlier version wrote it")
		case bytes.Contains(b, []byte(`,"chain":"`)):
			c.fault("its chain is none: it was changed")
		default:
			_, _ = before.Write(b) // Write on a hash never fails
			c.sum = before.Sum(c.sum[:0])
			c.Before = c.Lines
		}
	}
	return nil
}

// line checks a line that has a chain.
func (c *chainCheck) line(plain, chain []byte) {
	var e struct {
		Event string
		Line  int64
		Token string
	}
	digest := sha256.Sum256(plain)
	sum := sha256.Sum256(append(bytes.Clone(c.sum), digest[:]...))
	switch _ = json.Unmarshal(plain, &e); { // e stays 0 if the line is not an object
	case bytes.Equal(sum[:], chain) && e.Line == c.Lines:
		if e.Event == "head" {
			c.head(e.Token)
		}
	case !c.begun && c.Before > 0:
		c.fault(fmt.Sprintf("the chain begins here, and does not fit: this line or one of the %d before it, which have no chain, was changed", c.Before))
	case e.Line > c.Lines:
		c.fault(fmt.Sprintf("it says that it is line %d: lines %d to %d were removed", e.Line, c.Lines, e.Line-1))
	case e.Line > 0 && e.Line < c.Lines:
		c.fault(fmt.Sprintf("it says that it is line %d: it was inserted here, or moved", e.Line))
	default:
		c.fault("it does not fit the line before: one of the two was changed")
	}
	c.begun, c.sum = true, sum[:]
}

// head checks a signed head, which covers the lines before it.
func (c *chainCheck) head(token string) {
	c.tokens++
	if c.keys == nil {
		return
	}
	h, id, err := identity.VerifyHead(token, c.keys)
	switch {
	case err != nil:
		c.fault(fmt.Sprintf("it is a head that proves nothing: %v", err))
	case h.Lines != c.Lines-1 || !bytes.Equal(h.Hash[:], c.sum):
		c.fault(fmt.Sprintf("the head that key %s signed at %s for lines 1 to %d is not that of these lines: of lines %d to %d, some were changed, removed or inserted after it was signed, and the chain computed anew",
			id, h.Time.UTC().Format("2006-01-02T15:04:05Z"), h.Lines, c.Signed+1, c.Lines-1))
	default:
		c.Heads++
		c.Signed = h.Lines
	}
}

func (c *chainCheck) fault(text string) { c.Line, c.Fault = c.Lines, text }

// conclude notes which lines the chain does not cover.
func (c *chainCheck) conclude(noted bool) {
	note := func(when bool, format string, args ...any) {
		if when {
			c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
		}
	}
	whole := c.Fault == ""
	note(whole && c.Before > 0 && c.begun, "lines 1 to %d were written without a chain by an earlier version: it covers them only as they were when it began", c.Before)
	note(whole && c.Before > 0 && !c.begun, "the ledger was written without a chain by an earlier version: that no line was changed is not known from it")
	note(c.tokens > 0 && c.keys == nil && !noted, "signatures of heads were not checked: the job names no identity; name the keys, as a folder or a JWK Set")
	next := c.Signed + 1
	if c.Signed > 0 {
		next++ // the head itself is the next line
	}
	note(whole && c.keys != nil && next <= c.Lines, "lines %d to %d are under no signed head: whoever writes to the file can change them and compute the chain anew", next, c.Lines)
}

// unchained splits a line into the part that its digest covers and the chain that follows it.
func unchained(line []byte) (plain, chain []byte, ok bool) {
	i := bytes.LastIndex(line, []byte(`,"chain":"`))
	if i < 0 || !bytes.HasSuffix(line, []byte(`"}`)) {
		return nil, nil, false
	}
	text := line[i+len(`,"chain":"`) : len(line)-len(`"}`)]
	chain, err := base64.RawURLEncoding.Strict().DecodeString(string(text))
	if err != nil || len(chain) != sha256.Size {
		return nil, nil, false
	}
	return append(bytes.Clone(line[:i]), '}'), chain, true
}
