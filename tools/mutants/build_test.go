package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// variable is the name of the environment variable that selects a mutant by its number, from 1. Without it, a test binary runs unchanged.
const variable = "AMBLE_MUTANT"

// root is the root directory of the module, relative to this package.
var root = filepath.Join("..", "..")

// binaries are test binaries that contain all mutants. A mutated function has a copy for each of its mutants, and begins by calling the
// selected copy, so that each package is built only once.
type binaries struct{ politeness, ledger, crawler string }

// build builds the binaries.
func build(t *testing.T, ms []mutant) binaries {
	t.Helper()
	list := overlay(t, ms)
	b := binaries{politeness: compile(t, list, "./politeness"), crawler: compile(t, list, "./crawler")}
	if slices.ContainsFunc(ms, func(m mutant) bool { return m.tried() && path.Dir(m.file) == "politeness/ledger" }) {
		b.ledger = compile(t, list, "./politeness/ledger")
	}
	return b
}

// compile builds the test binary of a package.
func compile(t *testing.T, overlay, pkg string) string {
	t.Helper()
	out := filepath.Join(filepath.Dir(overlay), path.Base(pkg)+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s", "-overlay="+overlay, "-o", out, pkg)
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the mutants do not build: %v\n%s", err, said)
	}
	return out
}

// overlay writes the mutated files, which the go command uses because of the flag -overlay. No source file is changed.
func overlay(t *testing.T, ms []mutant) (list string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(name, content string) {
		file, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		replace[file] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[file], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	by := map[string]map[int]mutant{}
	for i, m := range ms {
		if by[m.file] == nil {
			by[m.file] = map[int]mutant{}
		}
		by[m.file][i+1] = m
	}
	for file, ms := range by {
		put(file, mutated(t, file, ms))
	}
	for dir, pkg := range packages(by) {
		put(dir+"/mutant.go", fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutant = os.Getenv(%q)\n", pkg, variable))
	}
	list = filepath.Join(dir, "overlay.json")
	spec, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(list, spec, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// packages returns the package names of the mutated files, by directory.
func packages(by map[string]map[int]mutant) map[string]string {
	pkgs := map[string]string{}
	for file := range by {
		pkgs[path.Dir(file)] = path.Base(path.Dir(file))
	}
	return pkgs
}

// edit is text to insert into a file.
type edit struct {
	at   int
	text string
}

// mutated returns the text of a file to which a copy of the function was added for each mutant.
func mutated(t *testing.T, file string, ms map[int]mutant) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var edits []edit
	for _, n := range slices.Sorted(maps.Keys(ms)) {
		m := ms[n]
		if c := bytes.Count(src, []byte(m.old)); c != 1 {
			t.Fatalf("%s has %d places for the mutant %q: %q", file, c, m.name, m.old)
		}
		at := bytes.Index(src, []byte(m.old))
		f := around(parsed, func(f *ast.FuncDecl) bool { return offset(f.Body.Lbrace) < at && at+len(m.old) <= offset(f.End()) })
		if f == nil {
			t.Fatalf("%s: the mutant %q is in no function", file, m.name)
		}
		name := fmt.Sprintf("%sMutant%d", f.Name.Name, n)
		begin, end := offset(f.Pos()), offset(f.End())
		copied := string(src[begin:offset(f.Name.Pos())]) + name + string(src[offset(f.Name.End()):at]) + m.new + string(src[at+len(m.old):end])
		edits = append(edits, edit{end, "\n\n" + copied + "\n"}, edit{offset(f.Body.Lbrace) + 1, choice(t, f, name, n)})
	}
	slices.SortStableFunc(edits, func(x, y edit) int { return y.at - x.at })
	for _, e := range edits {
		src = slices.Concat(src[:e.at], []byte(e.text), src[e.at:])
	}
	return string(src)
}

// around returns the function of a file for which is returns true, or nil.
func around(f *ast.File, is func(*ast.FuncDecl) bool) *ast.FuncDecl {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && is(fn) {
			return fn
		}
	}
	return nil
}

// choice returns the statement at the beginning of f that calls copy n if mutant n is selected.
func choice(t *testing.T, f *ast.FuncDecl, name string, n int) string {
	t.Helper()
	var args []string
	for _, p := range f.Type.Params.List {
		for _, a := range p.Names {
			args = append(args, a.Name)
		}
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			args[len(args)-1] += "..."
		}
	}
	if f.Type.TypeParams != nil || slices.Contains(args, "_") {
		t.Fatalf("%s cannot be called by its copy", f.Name.Name)
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if f.Recv != nil {
		call = f.Recv.List[0].Names[0].Name + "." + call
	}
	if f.Type.Results != nil {
		return fmt.Sprintf("\n\tif mutant == \"%d\" {\n\t\treturn %s\n\t}\n", n, call)
	}
	return fmt.Sprintf("\n\tif mutant == \"%d\" {\n\t\t%s\n\t\treturn\n\t}\n", n, call)
}

// TestMutantsAreSeparateFunctions checks that each copy has the text of its mutant, and that the mutated file is valid Go.
func TestMutantsAreSeparateFunctions(t *testing.T) {
	for i, m := range slices.Concat(all(), slices.Concat(elsewhere...)) {
		text := mutated(t, m.file, map[int]mutant{i + 1: m})
		if b, err := format.Source([]byte(text)); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", m.name, err)
		}
		if !strings.Contains(text, m.old) || strings.Count(text, fmt.Sprintf("Mutant%d(", i+1)) != 2 {
			t.Errorf("%s: not what it was, with a copy", m.name)
		}
	}
}
