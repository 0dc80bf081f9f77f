package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// broken returns the number of the first line that breaks the chain, or 0. It implements the description of the format without using this
// package.
func broken(text string) int {
	sum, old := sha256.Sum256(nil), ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		m := regexp.MustCompile(`^(.*"line":(\d+)),"chain":"([^"]{43})"}\n$`).FindStringSubmatch(line)
		if m == nil {
			old += line
			sum = sha256.Sum256([]byte(old))
			continue
		}
		digest := sha256.Sum256([]byte(m[1] + "}"))
		sum = sha256.Sum256(append(sum[:], digest[:]...))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != m[3] || m[2] != fmt.Sprint(n) {
			return n
		}
	}
	return 0
}

// session appends n entries to the ledger at path, as a process does that continues the ledger.
func session(t *testing.T, path string, n int) {
	t.Helper()
	f, size, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := ReadChain(f.Reader())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(f, size)
	w.Continue(chain)
	for i := range n {
		if err := w.Write(&Entry{Event: Start, Run: "r", ID: uint64(i + 1), URL: "https://a.test/\",\"chain\":\"x" + strings.Repeat("y", i*100)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheChainContinuesAfterARestartAndAKillInALine(t *testing.T) {
	for _, was := range []string{"", "{\"event\":\"start\",\"run\":\"old\"}\n{\"event\":\"end\",\"run\":\"old\"}\n", "{\"event\":\"sta"} {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		if err := os.WriteFile(path, []byte(was), 0o600); err != nil {
			t.Fatal(err)
		}
		session(t, path, 5)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append(b, `{"event":"start","line":6,"chain":"AAAA`...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		session(t, path, 5)
		session(t, path, 0)
		session(t, path, 1)
		b, err = os.ReadFile(path)
		if n := broken(string(b)); err != nil || n > 0 || strings.Count(string(b), `"chain":"`) != 11 {
			t.Errorf("after %q: line %d does not fit, %v\n%s", was, n, err, b)
		}
	}
}

func TestAnOldLedgerIsPartOfTheChainThatFollowsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	if err := os.WriteFile(path, []byte("{\"run\":\"old\",\"event\":\"unsent\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	session(t, path, 2)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Replace(string(b), "old", "new", 1), string(b[bytes.IndexByte(b, '\n')+1:]), "{}\n" + string(b)} {
		if broken(text) == 0 {
			t.Errorf("not seen:\n%s", text)
		}
	}
}

// failing is a disk on which complete writes fail at times.
type failing struct {
	bytes.Buffer
	fails bool
}

func (f *failing) Write(b []byte) (int, error) {
	if f.fails {
		return 0, errors.New("disk full")
	}
	return f.Buffer.Write(b)
}

func TestALineThatWasNotWrittenIsNotInTheChain(t *testing.T) {
	var f failing
	w := NewWriter(&f, 0)
	for i := range 6 {
		f.fails = i%2 == 1
		if err := w.Write(&Entry{Event: Start, Run: "r", ID: uint64(i)}); (err != nil) != f.fails {
			t.Fatal(err)
		}
	}
	if n := broken(f.String()); n > 0 {
		t.Errorf("line %d does not fit\n%s", n, f.String())
	}
}

func TestAHeadIsOfTheLinesBeforeIt(t *testing.T) {
	var f failing
	w := NewWriter(&f, 0)
	var heads []Chain
	sign := func() error {
		return w.Sign("r", func(c Chain) (string, error) {
			heads = append(heads, c)
			return "token", nil
		})
	}
	if err := sign(); err != nil || f.Len() > 0 {
		t.Errorf("a head of nothing: %v %s", err, f.String())
	}
	line := func() {
		if err := w.Write(&Entry{Event: Start, Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	line()
	f.fails = true
	if sign() == nil {
		t.Error("a failed write of a head returned no error")
	}
	f.fails = false
	line() // although the head could not be written, the next line can
	for range 2 {
		if err := sign(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(f.String(), "\n")
	if len(heads) != 2 || heads[1].Lines != 2 || len(lines) != 4 || !strings.Contains(lines[2], `"event":"head","run":"r","id":0,"token":"token","line":3,`) || broken(f.String()) > 0 {
		t.Errorf("%+v\n%s", heads, f.String())
	}
	if want := base64.RawURLEncoding.EncodeToString(heads[1].Sum[:]); !strings.Contains(lines[1], want) {
		t.Errorf("the head is of %s, the line says\n%s", want, lines[1])
	}
}

func TestTheChainCostsNoAllocation(t *testing.T) {
	w := NewWriter(&failing{}, 0)
	w.w = discard{}
	e := Entry{Event: Start, Run: "r", URL: "https://a.test/"}
	if n := testing.AllocsPerRun(100, func() { _ = w.Write(&e) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
