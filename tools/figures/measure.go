package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the import path of the main module.
const module = "github.com/amble-crawler/amble"

// rooms lists the top-level folders from the lowest to the highest. An import is upward if it names a folder further to the right.
var rooms = []string{
	"internal", "weburl", "stores", "crawltest", "robots", "consent", "identity", "politeness", "fetcher", "extract", "schema", "article", "frontier", "sink",
	"render", "crawler", "job", "jobs", "cluster", "cmd",
}

// source is a package of the main module, as described by go list, with its parsed production files.
type source struct {
	Dir, ImportPath, Name string
	GoFiles, IgnoredGoFiles, Imports,
	TestGoFiles, XTestGoFiles []string
	Module struct{ Path string }

	files map[string]*ast.File // parsed files by path
	lines int
	text  map[string][]byte
}

// room returns the top-level folder of a package of the main module.
func room(importPath string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(importPath, module+"/"), "/")
	return first
}

// public reports whether users of the module may import the package.
func (s *source) public() bool {
	return !strings.Contains(s.ImportPath, "/internal/") && s.Name != "main" && room(s.ImportPath) != "docs"
}

// kit reports whether the package serves only tests.
func (s *source) kit() bool {
	return strings.HasSuffix(s.ImportPath, "test") || path.Base(s.ImportPath) == "mem"
}

// measure returns all figures of the repository at root.
func measure(root string) ([]figure, error) {
	packages, err := load(root, "./...")
	if err != nil {
		return nil, err
	}
	linked, err := load(root, "-deps", "./cmd/amble")
	if err != nil {
		return nil, err
	}
	examples, err := load(filepath.Join(root, "examples"), "./...")
	if err != nil {
		return nil, err
	}
	unnamed, exported, err := unnamedExports(packages, examples)
	if err != nil {
		return nil, err
	}
	comments, odd := commentHabits(packages)
	before, doc, err := goDoc(root)
	if err != nil {
		return nil, err
	}
	subjects, err := badSubjects(root)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"lines linked into the command", total(linked)},
		{"production lines of the main module", total(packages)},
		{"top-level rooms", len(roomsOf(packages))},
		{"upward imports between rooms", upward(packages)},
		{"pairs of rooms that reach each other", mutual(packages)},
		{"files under 70 lines in public packages", shortFiles(packages)},
		{"exported names that no other package names, in percent", percent(unnamed, exported)},
		{"strings with flags or commands outside cmd", commandWords(packages)},
		{"pairs of structs that share 80 percent of their fields", twinStructs(packages)},
		{"lines of go doc crawler", doc},
		{"declarations before Config in go doc crawler", before},
		{"comments with habits of the word list, per 1,000", odd * 1000 / max(comments, 1)},
		{"public packages without an Example", withoutExample(packages)},
		{"commit subjects that are no imperative line of 72 characters", subjects},
	}, nil
}

func percent(part, whole int) int { return part * 100 / max(whole, 1) }

// load lists packages with go list and parses their production files.
func load(root string, arguments ...string) ([]*source, error) {
	list := exec.CommandContext(context.Background(), "go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles,IgnoredGoFiles,Imports,TestGoFiles,XTestGoFiles,Module"}, arguments...)...)
	list.Dir = root
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, said.Bytes())
	}
	var packages []*source
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		s := &source{files: map[string]*ast.File{}, text: map[string][]byte{}}
		if err := d.Decode(s); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		if s.Module.Path != module && s.Module.Path != module+"/examples" {
			continue
		}
		for _, name := range append(s.GoFiles, production(s.IgnoredGoFiles)...) {
			if err := s.parse(filepath.Join(s.Dir, name)); err != nil {
				return nil, err
			}
		}
		packages = append(packages, s)
	}
}

// production returns the names of files that are not tests.
func production(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return strings.HasSuffix(n, "_test.go") })
}

func total(packages []*source) (n int) {
	for _, s := range packages {
		n += s.lines
	}
	return n
}

// roomsOf returns the top-level folders that contain Go packages, except docs.
func roomsOf(packages []*source) map[string]map[string]bool {
	reach := map[string]map[string]bool{}
	for _, s := range packages {
		from := room(s.ImportPath)
		if from == "docs" {
			continue
		}
		if reach[from] == nil {
			reach[from] = map[string]bool{}
		}
		for _, i := range s.Imports {
			if to := room(i); strings.HasPrefix(i, module+"/") && to != from {
				reach[from][to] = true
			}
		}
	}
	return reach
}

// upward counts the pairs of rooms of which the lower one imports the higher one. Rooms that are not in the list rooms are above all
// others.
func upward(packages []*source) (n int) {
	floor := func(r string) int {
		if i := slices.Index(rooms, r); i >= 0 {
			return i
		}
		return len(rooms)
	}
	for from, to := range roomsOf(packages) {
		for r := range to {
			if floor(r) > floor(from) {
				n++
			}
		}
	}
	return n
}

// mutual counts the pairs of rooms that reach each other by imports.
func mutual(packages []*source) (n int) {
	reach := roomsOf(packages)
	for via := range reach { // transitive closure by Floyd and Warshall
		for from := range reach {
			if reach[from][via] {
				maps.Copy(reach[from], reach[via])
			}
		}
	}
	for a := range reach {
		for b := range reach[a] {
			if a < b && reach[b][a] {
				n++
			}
		}
	}
	return n
}

func shortFiles(packages []*source) (n int) {
	for _, s := range packages {
		if !s.public() {
			continue
		}
		for _, text := range s.text {
			if bytes.Count(text, []byte("\n")) < 70 {
				n++
			}
		}
	}
	return n
}

// unnamedExports counts the exported top-level names of public packages, and those of them that no other package names in its production
// files or Examples. The programs in examples count as other packages, and, for packages that only serve tests, the tests of other
// packages. A name in an exported signature of its own package does not count as unnamed.
func unnamedExports(packages, examples []*source) (unnamed, exported int, err error) {
	kits := map[string]bool{}
	for _, s := range packages {
		kits[s.ImportPath] = s.kit() || room(s.ImportPath) == "crawltest"
	}
	named := map[string]bool{} // keyed by import path + "." + name
	for _, s := range slices.Concat(packages, examples) {
		for _, f := range s.files {
			selects(f, func(importPath, name string) { named[importPath+"."+name] = true })
		}
		for _, file := range slices.Concat(s.TestGoFiles, s.XTestGoFiles) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return 0, 0, err
			}
			selects(f, func(importPath, name string) {
				if strings.HasPrefix(file, "example") || kits[importPath] && importPath != s.ImportPath {
					named[importPath+"."+name] = true
				}
			})
		}
	}
	for _, s := range packages {
		if !s.public() {
			continue
		}
		mentioned := s.mentioned()
		for name := range s.exported() {
			exported++
			if !named[s.ImportPath+"."+name] && !mentioned[name] {
				unnamed++
			}
		}
	}
	return unnamed, exported, nil
}

// selects calls each with every name that a file selects from an imported package.
func selects(f *ast.File, each func(importPath, name string)) {
	imports := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		as := path.Base(p)
		if i.Name != nil {
			as = i.Name.Name
		}
		imports[as] = p
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && imports[x.Name] != "" {
				each(imports[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
}

var (
	flagWord    = regexp.MustCompile(`(^|[\s"'(\x60])--?[a-z][a-z-]+`)
	commandWord = regexp.MustCompile(`\bamble (crawl|resume|watch|cluster|demo|mirror|jobs|show|report|export|serve|explain|links|text|status|diff|shell|check|plan|robots|verify|replay|identity|completion|version)\b`)
)

// startBrowsers lists packages whose strings are flags of another program, and so are not counted.
var startBrowsers = []string{module + "/render/chromium", module + "/internal/browsertest"}

// commandWords counts the strings in libraries that name a flag or a command of amble.
func commandWords(packages []*source) (n int) {
	for _, s := range packages {
		if room(s.ImportPath) == "cmd" || s.Name == "main" || slices.Contains(startBrowsers, s.ImportPath) {
			continue
		}
		for _, f := range s.files {
			ast.Inspect(f, func(node ast.Node) bool {
				if l, ok := node.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if text, err := strconv.Unquote(l.Value); err == nil && (strings.Contains(text, "--") && flagWord.MatchString(text) || commandWord.MatchString(text)) {
						n++
					}
				}
				return true
			})
		}
	}
	return n
}

// twinStructs counts the pairs of structs, of five fields or more, of which the larger one shares 80 percent of its field names with the
// smaller one. The auditor, which shares no code with the gate on purpose, is left out.
func twinStructs(packages []*source) (n int) {
	var structs [][]string
	for _, s := range packages {
		if strings.HasSuffix(s.ImportPath, "/audit") {
			continue
		}
		for _, f := range s.files {
			ast.Inspect(f, func(node ast.Node) bool {
				if t, ok := node.(*ast.StructType); ok {
					var fields []string
					for _, field := range t.Fields.List {
						for _, name := range field.Names {
							fields = append(fields, strings.ToLower(name.Name))
						}
					}
					if len(fields) >= 5 {
						structs = append(structs, fields)
					}
				}
				return true
			})
		}
	}
	for i, a := range structs {
		for _, b := range structs[i+1:] {
			shared := 0
			for _, name := range a {
				if slices.Contains(b, name) {
					shared++
				}
			}
			if shared*5 >= max(len(a), len(b))*4 {
				n++
			}
		}
	}
	return n
}

var habits = regexp.MustCompile(`(?i)\b(is what|are what|is how (many|much|far|long)|is by how|by which|that (is|are) none|of its own|in the place of|tells of|what (came|became) of|be it that|likewise|as they are|the most by which|who looks)\b|\bmost[A-Z]\w*`)

// commentHabits counts the comments in production files, and those of them with a phrase that CONTRIBUTING.md excludes.
func commentHabits(packages []*source) (comments, odd int) {
	for _, s := range packages {
		for _, f := range s.files {
			for _, c := range f.Comments {
				comments++
				if habits.MatchString(c.Text()) {
					odd++
				}
			}
		}
	}
	return comments, odd
}

// goDoc returns the number of declarations that go doc shows before Config for package crawler, and the number of all lines it prints.
func goDoc(root string) (before, lines int, err error) {
	c := exec.CommandContext(context.Background(), "go", "doc", "./crawler")
	c.Dir = root
	out, err := c.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("go doc: %w", err)
	}
	text := string(out)
	lines = strings.Count(text, "\n")
	head, _, _ := strings.Cut(text, "\ntype Config ")
	for line := range strings.Lines(head) {
		for _, keyword := range []string{"const ", "var ", "func ", "type "} {
			if strings.HasPrefix(line, keyword) {
				before++
			}
		}
	}
	return before, lines, nil
}

func withoutExample(packages []*source) (n int) {
	for _, s := range packages {
		if !s.public() || s.kit() {
			continue
		}
		found := false
		for _, name := range slices.Concat(s.TestGoFiles, s.XTestGoFiles) {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.Dir, name), nil, 0)
			if err != nil {
				continue
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
					found = true
				}
			}
		}
		if !found {
			n++
		}
	}
	return n
}

// since is the last commit before the subjects of commits were checked.
const since = "a3e771d"

var (
	subject  = regexp.MustCompile(`^[a-z0-9/., _-]+: [a-z]`)
	sentence = regexp.MustCompile(`: (a|an|the|what|that|who|it|there|no|one|each|every|all) `)
)

// badSubjects counts commits after since whose subject is longer than 72 characters, names no area, or begins like a sentence and not with
// a verb. In a shallow clone the count is 0.
func badSubjects(root string) (n int, err error) {
	known := exec.CommandContext(context.Background(), "git", "cat-file", "-e", since+"^{commit}")
	known.Dir = root
	if known.Run() != nil {
		return 0, nil //nolint:nilerr // a shallow clone does not have it
	}
	log := exec.CommandContext(context.Background(), "git", "log", "--no-merges", "--format=%s", since+"..HEAD")
	log.Dir = root
	out, err := log.Output()
	if err != nil {
		return 0, fmt.Errorf("git log: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if len([]rune(line)) > 72 || !subject.MatchString(line) || sentence.MatchString(line) {
			fmt.Println("   commit subject:", line)
			n++
		}
	}
	return n, nil
}
