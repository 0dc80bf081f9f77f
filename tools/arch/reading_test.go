package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var goFile = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// manyFiles is the number of files from which on a package must say where to begin.
const manyFiles = 6

// TestReadingOrders checks that the comment of a package with many files says in which order to read them, and that
// every file named in a package comment exists.
func TestReadingOrders(t *testing.T) {
	pkgs, _ := load(t)
	for dir, p := range sorted(pkgs) {
		named := map[string]bool{}
		for _, f := range p.files {
			if f.Doc == nil {
				continue
			}
			for _, name := range goFile.FindAllString(f.Doc.Text(), -1) {
				named[name] = true
				if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(dir), name)); err != nil {
					t.Errorf("the comment of package %s names %s, which is not there", dir, name)
				}
			}
		}
		if len(named) == 0 && len(p.files) >= manyFiles {
			t.Errorf("the comment of package %s does not say in which order to read its %d files", dir, len(p.files))
		}
	}
}
