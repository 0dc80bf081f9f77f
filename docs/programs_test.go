package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// programsDir is where the project's programs are built, for all tests of this package.
var programsDir string

func TestMain(m *testing.M) {
	quicktmp.Use()
	quicktmp.Waiting()
	var err error
	if programsDir, err = os.MkdirTemp("", "docs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programsDir) // what is left of it is in the directory for temporary files
	os.Exit(code)
}

// builtPrograms builds all programs once and returns what the compiler says if it fails.
var builtPrograms = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", programsDir, "./cmd/amble", "./examples/...") // nobody debugs them
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// program returns the path of a program of the project; folder is seen from the module's root.
func program(t *testing.T, folder string) string {
	t.Helper()
	if err := builtPrograms(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programsDir, path.Base(folder))
}
