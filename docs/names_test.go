package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// qualified matches a name as documents write it: an exported name with its package, and possibly a field or method.
var qualified = regexp.MustCompile("`\\*?([a-z]+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?")

// TestNamesExist checks that names that documents qualify with a package are exported there.
func TestNamesExist(t *testing.T) {
	exported := exportedNames(t)
	checked := 0
	for _, d := range documents(t) {
		if d.path == "CHANGELOG.md" { // it mentions names that no longer exist
			continue
		}
		for _, m := range qualified.FindAllStringSubmatch(d.text, -1) {
			names, ours := exported[m[1]]
			if !ours {
				continue
			}
			checked++
			name := m[2]
			if m[3] != "" {
				name += "." + m[3]
			}
			if !names[name] {
				t.Errorf("%s: %s.%s does not exist", d.path, m[1], name)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d names found", checked)
	}
}

// exportedNames returns the exported names of the module's packages, and Type.Field, Type.Method.
func exportedNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case name == "testdata", name == "cmd", name == "examples", p != root && strings.HasPrefix(name, "."):
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, src, 0)
		if err != nil {
			return err
		}
		if all[f.Name.Name] == nil {
			all[f.Name.Name] = map[string]bool{}
		}
		addNames(all[f.Name.Name], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func addNames(names map[string]bool, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type) + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
					addMembers(names, s)
				}
			}
		}
	}
}

func addMembers(names map[string]bool, s *ast.TypeSpec) {
	var list *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
