package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
)

// model returns the commands and flags of the amble application.
func model(t *testing.T) *kong.Application {
	t.Helper()
	a, _, _ := testApp(nil)
	k, err := a.parser("", keyflags.New(a.env))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// Every command has a group, and a help text that fits into 80 columns.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range model(t).Children {
		if c.Group == nil {
			t.Errorf("%s has no group", c.Name)
		}
	}
	for _, c := range append(model(t).Leaves(false), model(t).Children...) {
		a, out, errs := testApp(nil)
		if code := a.run(append([]string{"help"}, strings.Fields(keyflags.CommandName(c))...)); code != 0 {
			t.Errorf("help %s: exit code %d, %s", c.Name, code, errs)
		}
		if n := strings.Count(out.String(), "\n"); n > 60 {
			t.Errorf("help %s: %d lines, more than 60: a first week needs less", c.Name, n)
		}
		if code := a.run(append(strings.Fields(keyflags.CommandName(c)), "--help-all")); code != 0 {
			t.Errorf("%s --help-all: exit code %d, %s", c.Name, code, errs)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 81 {
				t.Errorf("help %s: a line of %d columns: %s", c.Name, len(line)-1, line)
			}
		}
	}
}

// If the user gives a flag of another program, the error suggests the flag to use instead, unless amble has a flag with that name.
func TestForeignFlagsPointAtOurs(t *testing.T) {
	t.Parallel()
	var crawl *kong.Node
	for _, c := range model(t).Children {
		if c.Name == "crawl" {
			crawl = c
		}
	}
	known := map[string]bool{}
	for _, f := range crawl.Flags {
		known["--"+f.Name] = true
		if f.Short != 0 {
			known["-"+string(f.Short)] = true
		}
	}
	named := regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`)
	for flag, here := range keyflags.ForeignFlags {
		mine := "--" + flag
		if len(flag) == 1 {
			mine = "-" + flag
		}
		if known[mine] {
			t.Errorf("%s is a flag of ours", mine)
		}
		for _, m := range named.FindAllStringSubmatch(here, -1) {
			if !known[m[1]] && m[1] != "-np" && m[1] != "-nv" {
				t.Errorf("%s: there is no flag %s", mine, m[1])
			}
		}
		a, _, errs := testApp(nil)
		if code := a.run([]string{"crawl", mine, "http://127.0.0.1/"}); code != cli.ExitUsage || !strings.Contains(errs.String(), ": "+here+"\n") {
			t.Errorf("%s: exit code %d, %s", mine, code, errs)
		}
	}
}

// JSON and WARC files are in the job's directory already, so they are not kinds of export. The error says where to find these files.
func TestExportSaysWhereJSONAndWARCAre(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{"json": "visits.jsonl in the job's directory", "jsonl": "visits.jsonl", "warc": "--archive has WARC files in warc/"} {
		a, _, errs := testApp(nil)
		if code := a.run([]string{"export", "job", "--to", to}); code != cli.ExitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("--to %s: exit code %d, %s", to, code, errs)
		}
	}
}

// There are at most twenty commands, including subcommands. The help of a command lists at most six subcommands; a subcommand that is not
// listed names the one to use.
func TestCommandsAreFew(t *testing.T) {
	t.Parallel()
	few := func(of *kong.Node, most int) int {
		listed := 0
		for _, c := range of.Children {
			switch now := renamed[keyflags.CommandName(c)]; {
			case !c.Hidden:
				listed++
			case now == "":
				t.Errorf("%s is in no help, and names no other command", keyflags.CommandName(c))
			}
		}
		if listed > most {
			t.Errorf("the help of %s lists %d commands, more than %d", of.Name, listed, most)
		}
		return listed
	}
	all := few(model(t).Node, 20)
	for _, c := range model(t).Children {
		if n := few(c, 6); n > 0 {
			all += n - 1
		}
	}
	if all > 20 {
		t.Errorf("with those of commands there are %d commands, more than 20", all)
	}
}

// Messages, pages and help texts use the present names of commands. Only the help of an old command may use the old name.
func TestNamedCommandsExist(t *testing.T) {
	t.Parallel()
	exists := map[string]bool{"help": true}
	for _, c := range model(t).Leaves(false) {
		for n := c; n != nil && n.Parent != nil; n = n.Parent {
			exists[keyflags.CommandName(n)] = renamed[keyflags.CommandName(n)] == "" && !n.Hidden
		}
	}
	prose := regexp.MustCompile(`^(runs|promises|has|never|neither|does|machine|in|from|text report)\b`) // "text report" is a kind of report
	named := regexp.MustCompile(`\bamble\s+((?:cluster )?[a-z]+)(?: ([a-z]+))?`)
	found := 0
	check := func(where, text, self string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			name, ok := m[1], exists[m[1]] || m[1] == self || prose.MatchString(m[0][len("amble "):])
			if name == "cluster job" && m[2] != "" {
				ok = renamed["cluster "+m[2]] != "" || isJobAction(m[2])
			}
			if !ok {
				t.Errorf("%s names %q, which is no command, or one with another name now", where, m[0])
			}
		}
	}
	for _, room := range []string{"cmd", "job", "jobs", "identity", "cluster"} {
		err := filepath.WalkDir(filepath.Join("..", "..", room), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return cmp.Or(err, filepath.SkipDir)
			}
			switch filepath.Ext(path) {
			case ".tmpl", ".html", ".js":
				page, err := os.ReadFile(path)
				check(path, string(page), "")
				return err
			case ".go":
				if strings.HasSuffix(path, "_test.go") {
					return nil
				}
				f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				for _, decl := range f.Decls {
					self := ""
					if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "Help" && fn.Recv != nil {
						if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok {
							self = strings.TrimSuffix(star.X.(*ast.Ident).Name, "Cmd")
							self = strings.ToLower(strings.Replace(self, "cluster", "cluster ", 1))
						}
					}
					ast.Inspect(decl, func(n ast.Node) bool {
						if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
							check(path, lit.Value, self)
						}
						return true
					})
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 100 {
		t.Errorf("only %d names of commands were found", found)
	}
}

// The documents for users of other programs agree with the hints of the command: each flag in the first column of a table is a flag of
// amble, or the hint for it names a flag or command from the second column.
func TestHintsAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	hints, ours := map[string]string{}, map[string]bool{}
	for flag, here := range keyflags.ForeignFlags {
		hints[flag] = here
	}
	for _, c := range model(t).Children {
		if c.Name == "crawl" {
			for _, f := range c.Flags {
				ours[f.Name] = true
			}
		}
	}
	row := regexp.MustCompile(`(?m)^\| (.*) \| (.*) \|$`)
	foreign := regexp.MustCompile("[` ]--([a-z][a-z-]+)")
	named := regexp.MustCompile(`--[a-z][a-z-]+|amble [a-z]+|nothing`)
	checked := 0
	for _, name := range []string{"from-wget.md", "from-httrack.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range row.FindAllStringSubmatch(string(page), -1) {
			for _, f := range foreign.FindAllStringSubmatch(m[1], -1) {
				if ours[f[1]] || strings.HasPrefix(m[2], "nothing: http") {
					continue
				}
				checked++
				said := named.FindAllString(hints[f[1]], -1)
				if !slices.ContainsFunc(said, func(word string) bool { return strings.Contains(m[2], word) }) {
					t.Errorf("%s, --%s: the command says %q, the page %q", name, f[1], hints[f[1]], m[2])
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d flags were checked", checked)
	}
}
