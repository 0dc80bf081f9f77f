package job

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// signedLedger returns the lines that two processes wrote: lines 1 to 4, a head, lines 6 to 8, a restart, lines 9 to 11, and a head.
func signedLedger(t *testing.T, keys *identity.Folder) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), LedgerName)
	sign := (&Config{}).headSigner(keys)
	session := func(run string, parts ...int) {
		f, size, err := ledger.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := ledger.ReadChain(f.Reader())
		if err != nil {
			t.Fatal(err)
		}
		w := ledger.NewWriter(f, size)
		w.Continue(chain)
		for _, n := range parts {
			if n == 0 {
				if err := w.Sign(run, func(c ledger.Chain) (string, error) { return sign(c.Sum, c.Lines, time.Now()) }); err != nil {
					t.Fatal(err)
				}
			}
			for i := range n {
				if err := w.Write(&ledger.Entry{Event: ledger.Start, Run: run, ID: uint64(i), URL: "https://a.test/"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	session("r1", 4, 0, 3)
	session("r2", 3, 0)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	if len(lines) != 13 {
		t.Fatalf("%d lines", len(lines)-1)
	}
	return lines[:12]
}

func newIdentity(t *testing.T) *identity.Folder {
	t.Helper()
	f, err := identity.Init(t.TempDir(), identity.Profile{
		Product: "labbot", UserAgent: "labbot/1.0 (+https://lab.test/crawl)", Page: "https://lab.test/crawl", Operator: "Lab",
		Contacts: []string{"crawl@lab.test"}, Purpose: "research", Why: "To know.", Kept: "Nothing.", Delay: time.Second,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checked(t *testing.T, keys PublicKeys, lines []string) *ChainCheck {
	t.Helper()
	c := &chainCheck{keys: keys, sum: sha256.New().Sum(nil)}
	if err := c.read(strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	c.conclude(false)
	return &c.ChainCheck
}

// TestTheFirstLineThatWasTamperedWithIsNamed changes, removes, inserts and swaps each line. The error must name the first bad line.
func TestTheFirstLineThatWasTamperedWithIsNamed(t *testing.T) {
	f := newIdentity(t)
	good := signedLedger(t, f)
	if c := checked(t, f.PublicKey, good); c.Fault != "" || c.Heads != 2 || c.Signed != 11 || len(c.Notes) > 0 {
		t.Fatalf("%+v", c)
	}
	name := func(what string, i int, want int, lines []string) {
		t.Helper()
		if c := checked(t, f.PublicKey, lines); c.Line != int64(want) || want > 0 && c.Fault == "" {
			t.Errorf("line %d %s: named %d, want %d: %s", i+1, what, c.Line, want, c.Fault)
		}
	}
	for i := range good {
		changed := slices.Clone(good)
		changed[i] = strings.Replace(changed[i], `"run":"r`, `"run":"x`, 1)
		name("changed", i, i+1, changed)
		changed[i] = strings.Replace(good[i], `"chain":"`, `"chain":"A`, 1)
		name("with a longer chain", i, i+1, changed)
		changed[i] = good[i][:strings.Index(good[i], `,"line":`)] + "}\n"
		if i > 0 { // a first line without a chain looks like the end of an old ledger, so that the second line is the bad one
			name("without a chain", i, i+1, changed)
		} else {
			name("without a chain", i, 2, changed)
		}
		removed := i + 1
		if i == len(good)-1 {
			removed = 0 // no later line can reveal this: see the next test
		}
		name("removed", i, removed, slices.Delete(slices.Clone(good), i, i+1))
		name("twice", i, i+2, slices.Insert(slices.Clone(good), i, good[i]))
		forged := `{"event":"start","run":"r1","id":7,"line":` + fmt.Sprint(i+1) + `,"chain":"` + strings.Repeat("A", 43) + "\"}\n"
		name("with another in front", i, i+1, slices.Insert(slices.Clone(good), i, forged))
		if i > 0 {
			swapped := slices.Clone(good)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			name("swapped with the one before", i, i, swapped)
		}
	}
	name("in front: a line without a chain", 0, 2, slices.Insert(slices.Clone(good), 0, "{}\n"))
}

// again recomputes the hash chain of lines, which needs no key.
func again(t *testing.T, lines []string) []string {
	t.Helper()
	var out bytes.Buffer
	w := ledger.NewWriter(&out, 0)
	for _, line := range lines {
		var e ledger.Entry
		if err := e.Parse([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Collect(strings.Lines(out.String()))
}

func TestRecomputedChainDoesNotMatchSignedHeads(t *testing.T) {
	f, other := newIdentity(t), newIdentity(t)
	good := signedLedger(t, f)
	change := func(i int) []string {
		lines := slices.Clone(good)
		lines[i] = strings.Replace(lines[i], "https://a.test/", "https://b.test/", 1)
		return again(t, lines)
	}
	for _, c := range []struct {
		what  string
		keys  PublicKeys
		lines []string
		line  int64
		want  string
	}{
		{"nothing", f.PublicKey, again(t, good), 0, ""},
		{"the first line", f.PublicKey, change(0), 5, "of lines 1 to 4,"},
		{"a line after the first head", f.PublicKey, change(6), 12, "of lines 5 to 11,"},
		{"the same without keys", nil, change(6), 0, "were not checked"},
		{"a line removed", f.PublicKey, again(t, slices.Delete(slices.Clone(good), 6, 7)), 11, "for lines 1 to 11 is not that of these lines: of lines 5 to 10,"},
		{"the heads removed", f.PublicKey, again(t, slices.Concat(good[:4], good[5:11])), 0, "lines 1 to 10 are under no signed head"},
		{"the last head removed", f.PublicKey, good[:11], 0, "lines 6 to 11 are under no signed head"},
		{"signed by another key", other.PublicKey, good, 5, "unknown key"},
		{"a token that is none", f.PublicKey, again(t, append(slices.Clone(good[:3]), `{"event":"head","run":"r1","token":"x.y.z"}`)), 4, "proves nothing"},
	} {
		got := checked(t, c.keys, c.lines)
		if text := got.Fault + strings.Join(got.Notes, "\n"); got.Line != c.line || !strings.Contains(text, c.want) || c.want == "" && text != "" {
			t.Errorf("%s: line %d, %s", c.what, got.Line, text)
		}
	}
}

func TestALedgerWithoutAChainIsReadAndNotedOnce(t *testing.T) {
	old := []string{"{\"event\":\"start\",\"run\":\"r\"}\n", "{\"event\":\"end\",\"run\":\"r\"}\n"}
	if c := checked(t, nil, old); c.Fault != "" || c.Before != 2 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "by an earlier version") {
		t.Errorf("%+v", c)
	}
}
