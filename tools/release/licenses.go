package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// linked is a module of which packages are linked into a program.
type linked struct {
	path, version, dir string
	packages           []string // folders of the linked packages
}

// linkedModules returns the modules that packages in the directory src link on the target, without the module itself.
func (t target) linkedModules(ctx context.Context, src string, patterns ...string) ([]*linked, error) {
	const form = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", form}, patterns...)...)
	cmd.Dir, cmd.Env = src, t.env()
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	byPath, list := map[string]*linked{}, []*linked(nil)
	for line := range strings.Lines(string(b)) {
		part := strings.Split(strings.TrimSpace(line), "\t")
		if len(part) != 4 {
			continue
		}
		m := byPath[part[0]]
		if m == nil {
			m = &linked{path: part[0], version: part[1], dir: part[2]}
			byPath[part[0]], list = m, append(list, m)
		}
		m.packages = append(m.packages, part[3])
	}
	slices.SortFunc(list, func(a, b *linked) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// licences returns the licence and notice files of all modules that are linked into the command, and those of Go.
func (t target) licences(ctx context.Context, src string) ([]file, error) {
	list, err := t.linkedModules(ctx, src, "./cmd/amble")
	if err != nil {
		return nil, err
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("the licence of Go: %w", err)
	}
	files := []file{{"licenses/go/LICENSE", b, 0o644}}
	for _, m := range list {
		of, err := m.licences()
		if err != nil {
			return nil, err
		}
		files = append(files, of...)
	}
	return files, nil
}

// licenceFile matches the names of files that must be distributed with a program.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|authors)([-._].*)?$`)

// licences returns the licence and notice files of a module. They are in its root, and in folders of linked packages and above.
func (m *linked) licences() ([]file, error) {
	folders := map[string]bool{}
	for _, dir := range m.packages {
		for len(dir) >= len(m.dir) && !folders[dir] {
			folders[dir] = true
			dir = filepath.Dir(dir)
		}
	}
	var files []file
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			name := filepath.Join(dir, e.Name())
			b, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(m.dir, name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{path.Join("licenses", m.path+"@"+m.version, filepath.ToSlash(rel)), b, 0o644})
		}
	}
	if !slices.ContainsFunc(files, func(f file) bool { return kindOf(f.data) != "" }) {
		return nil, fmt.Errorf("module %s has no file with a licence: %s", m.path, m.dir)
	}
	return files, nil
}

// kinds are the accepted licences of dependencies, with words that identify each. The first match counts.
var kinds = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"BSL-1.0", "boost software license - version 1.0"},
	{"GPL", "gnu general public license"},
	{"GPL", "gnu lesser general public license"},
	{"GPL", "gnu affero general public license"},
}

// kindOf returns the licence that a text contains, or "" if it is not an accepted one.
func kindOf(text []byte) string {
	flat := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
	for _, k := range kinds {
		if strings.Contains(flat, k.words) {
			return k.name
		}
	}
	return ""
}
