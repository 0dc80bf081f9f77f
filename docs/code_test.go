package docs_test

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/amble-crawler/amble"

// TestCodeCompiles vets every Go block of every document. A block is a complete file, so that a reader can copy it, and is compiled in its
// own module, like a reader's would be.
func TestCodeCompiles(t *testing.T) {
	dir := t.TempDir()
	writeModule(t, dir)
	n := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.lang == "go" {
				n++
				writeBlock(t, filepath.Join(dir, fmt.Sprintf("b%d", n)), d, b)
			}
		}
	}
	if n == 0 {
		t.Fatal("no Go blocks found")
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// writeBlock writes a block to a file such that compiler messages name its place in the document.
func writeBlock(t *testing.T, dir string, d document, b block) {
	t.Helper()
	if !packageClause.MatchString(b.code) {
		t.Errorf("%s:%d: a Go block must be a whole file, with a package clause", d.path, b.line)
		return
	}
	if formatted, err := format.Source([]byte(b.code)); err == nil && string(formatted) != b.code {
		t.Errorf("%s:%d: not formatted as gofmt does", d.path, b.line)
	}
	name := "main.go"
	if strings.Contains(b.code, `"testing"`) {
		name = "main_test.go"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	code := fmt.Sprintf("//line %s:%d\n%s", d.path, b.line, b.code)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeModule creates a module in dir that requires this one, with its dependencies.
func writeModule(t *testing.T, dir string) {
	t.Helper()
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module "+module, "module readers", 1)
	text += fmt.Sprintf("\nrequire %s v0.0.0\nreplace %s => %s\n", module, module, abs)
	for name, b := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadmeShowsTheQuickstart compares the first program of the README with the example, which is built and tested.
func TestReadmeShowsTheQuickstart(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(root, "examples", "quickstart", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents(t) {
		if d.path != "README.md" {
			continue
		}
		for _, b := range d.blocks {
			if b.lang != "go" {
				continue
			}
			if b.code != string(want) {
				t.Errorf("the first program of README.md differs from examples/quickstart/main.go:\n%s", b.code)
			}
			return
		}
	}
	t.Error("README.md shows no program")
}
