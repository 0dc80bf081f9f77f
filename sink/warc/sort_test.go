package warc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sorted sorts lines of text as an index is sorted, in runs of size bytes.
func sorted(t *testing.T, text string, size int, keep func([]byte) bool) (string, error) {
	t.Helper()
	d := filesOf(t, t.TempDir())
	s := &sorter{disk: d, name: "x.cdxj", keep: keep, size: size}
	err := s.read(strings.NewReader(text))
	if err == nil {
		err = s.write()
	}
	if e := s.cleanUp(err); e != nil {
		t.Fatal(e)
	}
	if left, _ := filepath.Glob(d.path(s.name + ".*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	b, _ := d.root.ReadFile(s.name)
	return string(b), err
}

func TestIndexIsSortedInRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 2, 10, 500} {
		var lines []string
		for range n {
			lines = append(lines, fmt.Sprintf("%s%d\n", strings.Repeat("k", r.IntN(30)), r.IntN(50)))
		}
		want := slices.Sorted(slices.Values(lines))
		for _, size := range []int{0, 1, 40, 1000, 1 << 20} {
			got, err := sorted(t, strings.Join(lines, "")+"torn", size, nil)
			if err != nil || got != strings.Join(want, "") {
				t.Fatalf("%d lines, runs of %d: %v\n%s", n, size, err, got)
			}
		}
	}
}

func TestIndexIsCutByOffset(t *testing.T) {
	line := func(at string) string {
		return `test,x)/"offset":"5 20260301120000 {"url":"http://x.test/\"offset\":\"5\"","offset":"` + at + `","filename":"f"}` + "\n"
	}
	text := line("999") + line("1000") + line("7") + line("99999999999999999999") + line("x") + "\x00\x00\n" + "k 1 {\"offset\":\"1\"\n" + line("998")
	got, err := sorted(t, text, 1<<20, below(1000))
	if want := line("7") + line("998") + line("999"); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestIndexWithLinesTooLong(t *testing.T) {
	long := strings.Repeat("\x00", 2*maxLine)
	if _, err := sorted(t, "a\n"+long, 1<<20, nil); err == nil {
		t.Error("an index with a line that is too long was accepted")
	}
	if got, err := sorted(t, `k 1 {"offset":"1"}`+"\n"+long, 1<<20, below(10)); err != nil || got != `k 1 {"offset":"1"}`+"\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func BenchmarkSortIndex(b *testing.B) {
	var text bytes.Buffer
	r := rand.New(rand.NewPCG(1, 1))
	for range 45_000 {
		fmt.Fprintf(&text, "test,x)/%d 20260301120000 {\"url\":\"%0200d\",\"offset\":\"%d\"}\n", r.Int64(), 0, r.IntN(1e9))
	}
	d := filesOf(b, b.TempDir())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		s := &sorter{disk: d, name: "x.cdxj", size: runSize}
		if err := s.read(bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
		if err := s.write(); err != nil {
			b.Fatal(err)
		}
	}
}
