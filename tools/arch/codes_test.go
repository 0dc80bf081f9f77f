package arch

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestCodesAreListed checks that the comment of a type lists every code that its package defines for the type. Most of the constants are
// not exported, so that users find the codes only in this comment.
func TestCodesAreListed(t *testing.T) {
	pkgs, _ := load(t)
	for _, c := range []struct{ dir, typeName, prefix string }{
		{"robots", "LintCode", "lint"},
		{"identity", "Reason", "reason"},
		{"identity", "KeyStatus", "status"},
		{"fetcher", "Error", "phase"},
		{"fetcher", "Error", "reason"},
		{"fetcher", "Page", "from"},
		{"fetcher", "Page", "note"},
		{"render", "Fate", "reason"},
		{"render", "Result", "cut"},
		{"render/chromium", "Error", "reason"},
	} {
		comment, codes := listed(pkgs[c.dir].files, c.typeName, c.prefix)
		if c.dir == "fetcher" && c.typeName == "Error" {
			page, _ := listed(pkgs[c.dir].files, "Page", c.prefix) // the comment of Page lists the reasons for an incomplete body
			comment += page
		}
		if len(codes) == 0 {
			t.Errorf("package %s has no constants that begin with %q", c.dir, c.prefix)
		}
		for _, code := range codes {
			if !strings.Contains(comment, "\t"+code+" ") && !strings.Contains(comment, strconv.Quote(code)) {
				t.Errorf("the comment of %s.%s does not list %q", c.dir, c.typeName, code)
			}
		}
	}
}

// listed returns the comment of a type, and the values of all string constants whose names begin with prefix, in upper or lower case.
func listed(files map[string]*ast.File, typeName, prefix string) (comment string, codes []string) {
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == typeName {
						comment = g.Doc.Text()
					}
				case *ast.ValueSpec:
					if g.Tok == token.CONST && strings.HasPrefix(strings.ToLower(s.Names[0].Name), prefix) && len(s.Values) == 1 {
						if l, ok := s.Values[0].(*ast.BasicLit); ok && l.Kind == token.STRING {
							code, _ := strconv.Unquote(l.Value)
							codes = append(codes, code)
						}
					}
				}
			}
		}
	}
	return comment, codes
}
