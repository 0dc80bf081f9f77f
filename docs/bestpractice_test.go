package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`([a-z/]+)/(Test\\w+)`")
	anyLink  = regexp.MustCompile(`\]\([^()\s]+\)`)
)

// TestBestPracticeIsHeld checks that each row of best-practice.md names the tests or settings that enforce it, and that the named tests
// exist. TestNamesExist checks settings, and TestLinksBetweenDocuments links.
func TestBestPracticeIsHeld(t *testing.T) {
	rows, tests := 0, 0
	for _, d := range documents(t) {
		if d.path != "docs/best-practice.md" {
			continue
		}
		for line := range strings.Lines(d.text) {
			if !strings.HasPrefix(line, "| 2") {
				continue
			}
			rows++
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			held := cells[len(cells)-1]
			found := testName.FindAllStringSubmatch(held, -1)
			if len(found) == 0 && !qualified.MatchString(held) && !anyLink.MatchString(held) {
				t.Errorf("nothing is named that holds %q", cells[0])
			}
			for _, m := range found {
				tests++
				if !hasTest(t, m[1], m[2]) {
					t.Errorf("there is no %s in %s, which is to hold %q", m[2], m[1], cells[0])
				}
			}
		}
	}
	if rows < 20 || tests < 20 {
		t.Errorf("only %d rows and %d tests found", rows, tests)
	}
}

// hasTest reports whether a package has a test with exactly that name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
