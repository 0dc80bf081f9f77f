package robots

import (
	"os"
	"strings"
	"testing"
)

// section is a file of a txtar archive.
type section struct{ name, body string }

// readTxtar reads an archive: files after lines "-- name --".
func readTxtar(t testing.TB, path string) (out []section) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitAfterSeq(string(b), "\n") {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, ok2 := strings.CutSuffix(name, " --"); ok && ok2 {
			out = append(out, section{name: name})
		} else if len(out) > 0 {
			out[len(out)-1].body += line
		}
	}
	return out
}
