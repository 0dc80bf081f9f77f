package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the module's folder, relative to this package.
const root = ".."

// document is one of the project's Markdown files.
type document struct {
	path   string // relative to the module's root, with slashes
	text   string // the document without its code blocks
	blocks []block
}

// block is a fenced code block.
type block struct {
	line int // line number of its first line of code
	lang string
	code string
}

// documents returns every Markdown file of the project.
func documents(t *testing.T) []document {
	t.Helper()
	docs, err := readDocuments()
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 10 {
		t.Fatalf("only %d documents found", len(docs))
	}
	return docs
}

// readDocuments reads the documents once.
var readDocuments = sync.OnceValues(func() (docs []document, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || p != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".md":
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		docs = append(docs, parse(filepath.ToSlash(rel), string(b)))
		return err
	})
	return docs, err
})

// parse separates the code blocks of a document from its text. The text keeps its line numbers: code becomes empty lines.
func parse(path, s string) document {
	d := document{path: path}
	var text, code []string
	fence := ""
	for i, line := range strings.Split(s, "\n") {
		mark := strings.TrimLeft(line, " ")
		switch {
		case fence == "" && strings.HasPrefix(mark, "```"):
			fence = "```"
			d.blocks = append(d.blocks, block{line: i + 2, lang: strings.TrimPrefix(mark, "```")})
		case fence != "" && strings.TrimSpace(line) == fence:
			d.blocks[len(d.blocks)-1].code = strings.Join(code, "\n") + "\n"
			fence, code = "", nil
		case fence != "":
			code = append(code, line)
		default:
			text = append(text, line)
			continue
		}
		text = append(text, "")
	}
	d.text = strings.Join(text, "\n")
	return d
}

var headings = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)

// anchors returns the fragments of d's headings: their text in lower case, with hyphens for blanks, and only letters,
// digits, hyphens and underscores kept.
func (d document) anchors() []string {
	var names []string
	for _, m := range headings.FindAllStringSubmatch(d.text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		names = append(names, name)
	}
	return names
}

func TestDocumentsAreFound(t *testing.T) {
	var paths []string
	for _, d := range documents(t) {
		paths = append(paths, d.path)
	}
	for _, want := range []string{"README.md", "CONTRIBUTING.md", "examples/README.md", "docs/politeness.md", "docs/design.md"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestParse(t *testing.T) {
	d := parse("x.md", "# A *b* c_d\ntext\n```go\npackage p\n\n# not a heading\n```\nmore\n   ```\nplain\n   ```\n")
	want := []block{{4, "go", "package p\n\n# not a heading\n"}, {10, "", "plain\n"}}
	if !slices.Equal(d.blocks, want) {
		t.Errorf("blocks %+v", d.blocks)
	}
	if d.text != "# A *b* c_d\ntext\n\n\n\n\n\nmore\n\n\n\n" {
		t.Errorf("text %q", d.text)
	}
	if got := d.anchors(); !slices.Equal(got, []string{"a-b-c_d"}) {
		t.Errorf("anchors %v", got)
	}
}
