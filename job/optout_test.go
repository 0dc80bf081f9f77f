package job

import (
	"os"
	"path/filepath"
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
	write("not a host\n", now.Add(time.Minute))
	if !l.has("b.org", now.Add(time.Minute)) {
		t.Error("a list that makes no sense leaves the old one in force")
	}
}
