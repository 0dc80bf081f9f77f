package main

import (
	"cmp"
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

// parts are the headings of a version, in order. The first word of a file's name selects its part. A part that is a page has one file,
// named after the part, whose Markdown is copied unchanged.
var parts = []struct {
	word, heading string
	page          bool
}{
	{"highlights", "Highlights", true},
	{"security", "Security", false},
	{"command", "The command", false},
	{"crawl", "Crawling: `crawler`, `extract`, `fetcher`, `frontier`, `robots`, `politeness`", false},
	{"shared", "Crawls that take turns: `politeness`, `politeness/machine`, `politeness/audit`", false},
	{"uses", "What sites say about uses: `consent`", false},
	{"render", "Rendered pages: `render`", false},
	{"text", "Texts: `article`, `schema`, `job/export`", false},
	{"job", "Jobs and their files: `job`, `sink`, `stores`", false},
	{"service", "Services: `jobs`, `jobs/server`, `amble mcp`", false},
	{"cluster", "Clusters: `cluster`", false},
	{"project", "Documents, packages and tests", false},
	{"upgrade", "Upgrade notes", true},
}

// kinds are the words that begin the items of a part, in order.
var kinds = []string{"Security", "Added", "Changed", "Fixed", "Removed", "Renamed"}

// width is the line width in characters.
const width = 130

// change is the content of one file: the page of a part, or items with their kinds.
type change struct {
	name, page string
	items      []item
}

type item struct{ kind, text string }

var fileName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// readAll returns the changes in a folder, sorted by file name. A missing folder means that there are none: Git keeps no empty folder after
// a release. The error names every invalid file.
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

// parse parses a file: a page, or items. Each item has a kind, a colon, a blank and full sentences.
func parse(name, s string) (change, error) {
	c := change{name: name}
	for line := range strings.SplitSeq(s, "\n") {
		table := strings.HasPrefix(line, "|")
		if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") && !table {
			return c, fmt.Errorf("%s: a line has more than %d characters", name, width)
		}
	}
	part, _, _ := strings.Cut(name, "-")
	for _, p := range parts {
		if p.page && name == p.word {
			c.page = strings.TrimSpace(s) + "\n"
			return c, nil
		}
		if !p.page && part == p.word && fileName.MatchString(name) {
			return c, c.parseItems(s)
		}
	}
	return c, fmt.Errorf("%s: want a name of lower-case words and hyphens without an ending, the first a part of changelog/README.md", name)
}

func (c *change) parseItems(s string) error {
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		if kind, text, ok := strings.Cut(line, ": "); ok && slices.Contains(kinds, kind) {
			c.items = append(c.items, item{kind, text})
			continue
		}
		if len(c.items) == 0 {
			return fmt.Errorf("%s: want a file that begins with one of %v and a colon", c.name, kinds)
		}
		c.items[len(c.items)-1].text += "\n" + line
	}
	for _, i := range c.items {
		if i.text == "" || unicode.IsLower([]rune(i.text)[0]) || strings.Contains(i.text, "\n\n") ||
			!strings.HasSuffix(i.text, ".") && !strings.HasSuffix(i.text, ")") {
			return fmt.Errorf("%s: want one paragraph of full sentences after %q", c.name, i.kind+":")
		}
	}
	return nil
}

// String returns the item as an item of a Markdown list.
func (i item) String() string {
	return "- " + i.kind + ": " + strings.ReplaceAll(i.text, "\n", "\n  ") + "\n"
}

const unreleased = "## [Unreleased]\n"

// fold adds changes to the section Unreleased: parts in order, and in each part the items sorted by kind.
func fold(text string, list []change) (string, error) {
	head, rest, ok := strings.Cut(text, unreleased)
	if !ok {
		return "", errors.New("CHANGELOG.md has no section [Unreleased]")
	}
	return head + unreleased + section(list) + rest, nil
}

func section(list []change) string {
	var all strings.Builder
	for _, p := range parts {
		var text strings.Builder
		var items []item
		for _, c := range list {
			if part, _, _ := strings.Cut(c.name, "-"); part == p.word {
				text.WriteString(c.page)
				items = append(items, c.items...)
			}
		}
		slices.SortStableFunc(items, func(x, y item) int {
			return cmp.Compare(slices.Index(kinds, x.kind), slices.Index(kinds, y.kind))
		})
		for _, i := range items {
			text.WriteString(i.String())
		}
		if text.Len() > 0 {
			fmt.Fprintf(&all, "\n### %s\n\n%s", p.heading, &text)
		}
	}
	return all.String()
}

// release turns the section Unreleased into that of a version, and begins an empty section Unreleased.
func release(text, version, date string) (string, error) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		return "", fmt.Errorf("-version %s: want three numbers, such as 0.2.0", version)
	}
	if strings.Contains(text, "\n## "+version) || strings.Contains(text, "\n## ["+version+"]") {
		return "", fmt.Errorf("CHANGELOG.md has a section %s already", version)
	}
	return strings.Replace(text, unreleased, unreleased+"\n## "+version+" - "+date+"\n", 1), nil
}
