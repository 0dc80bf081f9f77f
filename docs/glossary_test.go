package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness/audit"
)

// TestGlossaryHasEveryCode checks that the first columns of the glossary have the codes of the packages: outcomes, reasons, decisions about
// links, clauses, causes that end a rendering, and exit codes.
func TestGlossaryHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^\| ([^|]+) \|`)
	has := map[string]bool{}
	for _, row := range first.FindAllStringSubmatch(string(page), -1) {
		for code := range strings.SplitSeq(row[1], ",") {
			has[strings.Trim(code, " `")] = true
		}
	}
	name := regexp.MustCompile(`^([Rr]eason|Fate|Clause|[Cc]ut|Exit)[A-Z0-9]`)
	codes := 0
	for _, path := range []string{
		"crawler/visit.go", "politeness/errors.go", "politeness/ledger/clause.go", "fetcher/errors.go", "render/render.go",
		"render/policy.go", "weburl/weburl.go", "internal/cli/exit.go",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(path)), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			lit, ok := v.Values[0].(*ast.BasicLit)
			typed, _ := v.Type.(*ast.Ident)
			if !ok || !name.MatchString(v.Names[0].Name) && (typed == nil || typed.Name != "Outcome") {
				return true
			}
			code := lit.Value
			if lit.Kind == token.STRING {
				code, _ = strconv.Unquote(code)
			}
			codes++
			if !has[code] {
				t.Errorf("docs/glossary.md has no row for %s of %s", code, fmt.Sprintf("%s.%s", filepath.Dir(path), v.Names[0].Name))
			}
			return true
		})
	}
	if codes < 100 {
		t.Errorf("only %d codes were looked for", codes)
	}
}

// TestGlossaryHasEveryRule checks that the glossary has the rules of politeness in the words of package audit.
func TestGlossaryHasEveryRule(t *testing.T) {
	page, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{"hours", "rate"}
	for i := range 12 {
		codes = append(codes, fmt.Sprintf("P%d", i+1))
	}
	for _, code := range codes {
		if row := fmt.Sprintf("| `%s` | %s |\n", code, audit.Rule(code)); !strings.Contains(string(page), row) {
			t.Errorf("docs/glossary.md lacks %s", row)
		}
	}
}
