package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// check compares the files of an archive with its manifest, holds its ledger against the robots.txt files
// and the delays in force, and prints everything that is not as it should be.
func check(dir string, out io.Writer) (same bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return false, err
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return false, fmt.Errorf("%s: %w", manifestName, err)
	}
	there, err := files(dir)
	if err != nil {
		return false, err
	}
	list := differences(m.Files, there)
	impolite, err := violations(dir)
	if err != nil && len(list) == 0 {
		return false, err // with differences it is no wonder
	}
	for _, d := range slices.Concat(list, impolite) {
		fmt.Fprintln(out, d)
	}
	fmt.Fprintf(out, "%s: %d files, %d differences; %d requests, %d violations\n", m.Name, len(m.Files), len(list), m.Requests, len(impolite))
	return len(list)+len(impolite) == 0, nil
}

// differences tells what became of the files of a manifest. Names are quoted: they are a stranger's.
func differences(want, have []file) (list []string) {
	there := map[string]file{}
	for _, f := range have {
		there[f.Path] = f
	}
	for _, f := range want {
		switch g, ok := there[f.Path]; {
		case !ok:
			list = append(list, fmt.Sprintf("missing %q", f.Path))
		case g != f:
			list = append(list, fmt.Sprintf("changed %q", f.Path))
		}
		delete(there, f.Path)
	}
	for _, f := range have {
		if _, ok := there[f.Path]; ok {
			list = append(list, fmt.Sprintf("not in the manifest %q", f.Path))
		}
	}
	return list
}
