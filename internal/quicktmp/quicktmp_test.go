package quicktmp

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Use()
	m.Run()
}

func TestTemporaryFilesAreInMemory(t *testing.T) {
	dir := memory()
	if dir == "" {
		t.Skip("there is no such directory here")
	}
	if tmp := os.TempDir(); tmp == dir && !strings.HasPrefix(t.TempDir(), dir+"/") {
		t.Errorf("temporary files are in %s", t.TempDir())
	} else if tmp != dir && os.Getenv("TMPDIR") != tmp {
		t.Errorf("temporary files are in %s, and nothing says so", tmp)
	}
}
