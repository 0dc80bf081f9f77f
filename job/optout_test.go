package job

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestOptOutListIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	write := func(text string, changed time.Time) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write("a.org\n", now)
	l := &optOutList{path: path, known: map[string]bool{}}
	if err := l.read(now); err != nil {
		t.Fatal(err)
	}
	if !l.has("www.a.org", now) || l.has("b.org", now) {
		t.Error("the list as it was")
	}
	write("b.org\n", now.Add(time.Second))
	if l.has("b.org", now.Add(time.Second)) {
		t.Error("looked at too often")
	}
	if !l.has("b.org", now.Add(optOutEvery)) || !l.has("a.org", now.Add(optOutEvery)) {
		t.Error("the list as it is, and as it was")
	}
	write("not a host\nc.org\n", now.Add(time.Minute))
	if !l.has("b.org", now.Add(time.Minute)) || !l.has("c.org", now.Add(time.Minute)) {
		t.Error("the valid lines of a list count, and the old list stays in force")
	}
}

func TestOptOutNames(t *testing.T) {
	got, err := ParseOptOut([]byte("A.org\n*.b.org\n.c.org\nd.org.\n# e.org\n192.0.2.7\n[2001:DB8::1]\n"), "out")
	if want := []string{"a.org", "b.org", "c.org", "d.org", "192.0.2.7", "2001:db8::1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
	for _, line := range []string{"a.org,b.org", "a.*.org", "*", ".", "https://a.org/", "a.org/b", "192.0.2.0/24"} {
		if got, err := ParseOptOut([]byte(line), "out"); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}
