package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// manyFiles is the number of files from which on a package must say in which order to read its files.
const manyFiles = 6

// TestReadingOrders checks that for each package with many files, its comment or a line of reading.md says in which order to read the
// files, and that all files named there exist.
func TestReadingOrders(t *testing.T) {
	pkgs, _ := load(t)
	page, err := os.ReadFile("reading.md")
	if err != nil {
		t.Fatal(err)
	}
	for dir, p := range sorted(pkgs) {
		named, comment := map[string]bool{}, ""
		_, order, _ := strings.Cut(string(page), "\n- "+dir+": ")
		order, _, _ = strings.Cut(order, "\n\n")
		order, _, _ = strings.Cut(order, "\n- ")
		for _, f := range p.files {
			comment += f.Doc.Text()
		}
		for _, name := range goFile.FindAllString(comment+order, -1) {
			named[name] = true
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(dir), name)); err != nil {
				t.Errorf("the reading order of package %s names %s, which is not there", dir, name)
			}
		}
		if len(named) == 0 && len(p.files) >= manyFiles {
			t.Errorf("neither the comment of package %s nor tools/arch/reading.md says in which order to read its %d files", dir, len(p.files))
		}
	}
}
