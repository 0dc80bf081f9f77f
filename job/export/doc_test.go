package export_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/mirror"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/job/export/sqlite"
)

var update = flag.Bool("update", false, "write the tables in docs/export.md")

const tablesMark = "<!-- The tables below are made from the code: go test ./job/export -run Documented -update -->\n"

// TestDocumented checks that docs/export.md has every column, as it is in the code.
func TestDocumented(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "export.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(b), tablesMark)
	if !ok {
		t.Fatalf("%s has no line %s", path, tablesMark)
	}
	var want strings.Builder
	for _, table := range export.Tables() {
		fmt.Fprintf(&want, "\n### %s\n\nA row is %s.\n\n| column | type | what it holds |\n|---|---|---|\n", table.Name, table.Doc)
		for _, c := range table.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s has no documentation", table.Name, c.Name)
			}
			fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Name, c.Type, c.Doc)
		}
	}
	if after == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is not as the code: go test ./job/export -run Documented -update", path)
	}
	if err := os.WriteFile(path, []byte(before+tablesMark+want.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each kind is in the documentation.
func TestKindsAreDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(export.Kinds(), mirror.Kind(), parquet.Kind(), sqlite.Kind()) {
		if !strings.Contains(string(b), "| `"+k.Name+"` |") {
			t.Errorf("docs/export.md has no row for %s", k.Name)
		}
	}
}
