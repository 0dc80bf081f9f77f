package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

// parse reads and parses one production file.
func (s *source) parse(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	s.files[file], s.text[file] = f, text
	s.lines += bytes.Count(text, []byte("\n"))
	return nil
}

// exported returns the exported top-level names of the package.
func (s *source) exported() map[string]bool {
	names := map[string]bool{}
	add := func(i *ast.Ident) {
		if i.IsExported() {
			names[i.Name] = true
		}
	}
	for _, f := range s.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							add(name)
						}
					}
				}
			}
		}
	}
	return names
}

// mentioned returns the names that occur in signatures, fields and types of exported declarations.
func (s *source) mentioned() map[string]bool {
	names := map[string]bool{}
	collect := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if i, ok := n.(*ast.Ident); ok && i.IsExported() {
				names[i.Name] = true
			}
			return true
		})
	}
	for _, f := range s.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					collect(d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() {
						collect(t.Type)
					}
				}
			}
		}
	}
	return names
}
