package ledger

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenCutsBackToTheLastWholeLine(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct{ was, is string }{
		{"", ""}, {"torn", ""}, {"one\n", "one\n"}, {"one\ntwo\nto", "one\ntwo\n"}, {"one\n\x00\x00", "one\n"}, {"\n", "\n"},
		{"one\n" + long, "one\n"}, {long + "\n" + long, long + "\n"}, {long, ""},
	} {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		if err := os.WriteFile(path, []byte(c.was), 0o600); err != nil {
			t.Fatal(err)
		}
		l, size, err := Open(path)
		if err != nil || size != int64(len(c.is)) {
			t.Fatalf("%d bytes, %v", size, err)
		}
		if _, err := l.Write([]byte("more\n")); err != nil {
			t.Fatal(err)
		}
		read, err1 := io.ReadAll(l.Reader())
		if err := errors.Join(err1, l.Sync(), l.Close()); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != c.is+"more\n" || string(read) != string(b) {
			t.Errorf("%.20q became %.20q, %v", c.was, b, err)
		}
	}
	if _, _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
}
