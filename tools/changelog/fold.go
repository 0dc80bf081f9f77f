package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kinds are the headings of a version, in their order.
var kinds = []string{"Security", "Added", "Changed", "Fixed", "Removed", "Renamed"}

// width is that of lines, in characters.
const width = 130

// change is one file.
type change struct{ name, kind, text string }

var fileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// readAll returns the changes in a folder in order of their names. A folder that does not exist has none: Git keeps no empty
// one after a release. The error names every file that has not the right form.
func readAll(dir string) ([]change, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var list []change
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		b, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
		c, formErr := parse(e.Name(), string(b))
		if readErr != nil {
			formErr = readErr
		}
		list, err = append(list, c), errors.Join(err, formErr)
	}
	return list, err
}

// parse reads a file: the kind, a colon and a blank, and one paragraph that ends with a full stop.
func parse(name, s string) (change, error) {
	kind, text, _ := strings.Cut(strings.TrimSpace(s), ": ")
	c := change{name, kind, text}
	switch {
	case !fileName.MatchString(name):
		return c, fmt.Errorf("%s: want a name of lower-case words and hyphens, without an ending", name)
	case !slices.Contains(kinds, kind):
		return c, fmt.Errorf("%s: want a file that begins with one of %v and a colon", name, kinds)
	case text == "" || unicode.IsLower([]rune(text)[0]) || strings.Contains(text, "\n\n") || !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ")"):
		return c, fmt.Errorf("%s: want one paragraph of full sentences", name)
	}
	for line := range strings.SplitSeq(s, "\n") {
		if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
			return c, fmt.Errorf("%s: a line has more than %d characters", name, width)
		}
	}
	return c, nil
}

// item is the change as an item of a list.
func (c change) item() string {
	var b strings.Builder
	mark := "- "
	for line := range strings.Lines(c.text) {
		b.WriteString(mark + strings.TrimSpace(line) + "\n")
		mark = "  "
	}
	return b.String()
}

const unreleased = "## [Unreleased]\n"

// fold adds changes to the section Unreleased, each kind before what the section has of it.
func fold(text string, list []change) (string, error) {
	head, rest, ok := strings.Cut(text, unreleased)
	if !ok {
		return "", errors.New("CHANGELOG.md has no section [Unreleased]")
	}
	section, tail := rest, ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		section, tail = rest[:i+1], rest[i+1:]
	}
	for i, kind := range kinds {
		var items strings.Builder
		for _, c := range list {
			if c.kind == kind {
				items.WriteString(c.item())
			}
		}
		if items.Len() > 0 {
			section = add(section, kind, items.String(), kinds[i+1:])
		}
	}
	return head + unreleased + section + tail, nil
}

// add puts items first under the heading of their kind, which is made before the first one of later kinds if it is missing.
func add(section, kind, items string, later []string) string {
	heading := "### " + kind + "\n\n"
	if before, after, ok := strings.Cut(section, heading); ok {
		return before + heading + items + after
	}
	for _, k := range later {
		if i := strings.Index(section, "### "+k+"\n"); i >= 0 {
			return section[:i] + heading + items + "\n" + section[i:]
		}
	}
	return strings.TrimRight(section, "\n") + "\n\n" + heading + items + "\n"
}

// release makes the section of a version of Unreleased, which is empty then.
func release(text, version, date string) (string, error) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		return "", fmt.Errorf("-version %s: want three numbers, such as 0.2.0", version)
	}
	if strings.Contains(text, "\n## "+version) || strings.Contains(text, "\n## ["+version+"]") {
		return "", fmt.Errorf("CHANGELOG.md has a section %s already", version)
	}
	return strings.Replace(text, unreleased, unreleased+"\n## "+version+" - "+date+"\n", 1), nil
}
