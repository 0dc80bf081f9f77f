package arch

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPublicTypesCanBeNamed checks that no exported name of a public package needs a type of a package below internal/: a program outside
// of this module could not name that type, and nobody would find its documentation.
func TestPublicTypesCanBeNamed(t *testing.T) {
	pkgs, _ := load(t) // makes the files inputs of the test, by which go test decides whether a cached result is valid
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for dir := range sorted(pkgs) {
		path := module + "/" + dir
		if isInternal(path) || exports[path] == "" {
			continue // there is no export data for packages of other modules
		}
		p, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, leak := range leaks(p) {
			t.Errorf("package %s: %s", dir, leak)
		}
	}
}

func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// leaks returns the exported names of p whose declarations contain types of internal packages of this module.
func leaks(p *types.Package) (found []string) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		found = append(found, mentions(name, o.Type(), o)...)
	}
	return found
}

// mentions returns the places at which the declaration of o, which has the type typ, names an internal type.
func mentions(at string, typ types.Type, o types.Object) (found []string) {
	if name, ok := o.(*types.TypeName); ok {
		if alias, ok := typ.(*types.Alias); ok {
			return internalTypes(at, alias.Rhs())
		}
		named := name.Type().(*types.Named)
		for i := range named.NumMethods() {
			if m := named.Method(i); m.Exported() {
				found = append(found, internalTypes(at+"."+m.Name(), m.Signature())...)
			}
		}
		return append(found, internalTypes(at, named.Underlying())...)
	}
	return internalTypes(at, typ)
}

// internalTypes returns the internal types that a type expression names, without those in unexported fields and methods.
func internalTypes(at string, t types.Type) (found []string) {
	each := func(at string, list *types.Tuple) {
		for v := range list.Variables() {
			found = append(found, internalTypes(at, v.Type())...)
		}
	}
	named := func(o *types.TypeName, args *types.TypeList) {
		if o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module+"/") && isInternal(o.Pkg().Path()) {
			found = append(found, fmt.Sprintf("%s names %s.%s", at, strings.TrimPrefix(o.Pkg().Path(), module+"/"), o.Name()))
		}
		for a := range args.Types() {
			found = append(found, internalTypes(at, a)...)
		}
	}
	switch t := t.(type) {
	case *types.Alias:
		named(t.Obj(), t.TypeArgs())
	case *types.Named:
		named(t.Obj(), t.TypeArgs())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
		if m, ok := t.(*types.Map); ok {
			found = append(found, internalTypes(at, m.Key())...)
		}
		found = append(found, internalTypes(at, t.Elem())...)
	case *types.Signature:
		each(at, t.Params())
		each(at, t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if n, ok := f.Type().(*types.Named); ok && f.Embedded() && !f.Exported() { // exported fields and methods of such a type are promoted
				found = append(found, mentions(at, n, n.Obj())...)
			} else if f.Exported() {
				found = append(found, internalTypes(at+"."+f.Name(), f.Type())...)
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				found = append(found, internalTypes(at+"."+m.Name(), m.Type())...)
			}
		}
		for e := range t.EmbeddedTypes() {
			found = append(found, internalTypes(at, e)...)
		}
	}
	return found
}
