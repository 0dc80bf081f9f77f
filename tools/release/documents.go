package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
)

// source is the URL of the files that archives do not contain.
const source = "https://github.com/amble-crawler/amble"

// documents returns LICENSE, README and the documents of the module in the directory root. Links to files that are not in archives, such as
// packages and examples, are changed to links to the source of this version.
func documents(root string) ([]file, error) {
	names := []string{"CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(p) != ".go":
			name, err := filepath.Rel(root, p)
			names = append(names, filepath.ToSlash(name))
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var files []file
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		if path.Ext(name) == ".md" {
			if b, err = retarget(root, name, b, names); err != nil {
				return nil, err
			}
		}
		files = append(files, file{name, b, 0o644})
	}
	return files, nil
}

// link matches a link or an image in a Markdown document, up to the fragment. It also matches code, in which there are no links.
var link = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`|\\]\\(([^)#\\s]+)")

// retarget returns the document called name. Its links to files that are not in the list are replaced by links to the source.
func retarget(root, name string, b []byte, files []string) ([]byte, error) {
	var wrong error
	b = link.ReplaceAllFunc(b, func(m []byte) []byte {
		if m[0] == '`' {
			return m
		}
		at := path.Join(path.Dir(name), string(m[2:]))
		if slices.Contains(files, at) || strings.Contains(string(m), ":") { // a URL has a scheme
			return m
		}
		info, err := os.Stat(filepath.Join(root, at))
		if err != nil || strings.HasPrefix(at, "../") {
			wrong = errors.Join(wrong, fmt.Errorf("%s links to %s, which is not there", name, m[2:]))
			return m
		}
		kind := "blob"
		if info.IsDir() {
			kind = "tree"
		}
		return fmt.Appendf(nil, "](%s/%s/v%s/%s", source, kind, crawler.Version, at)
	})
	return b, wrong
}
