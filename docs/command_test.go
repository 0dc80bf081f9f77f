package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandLine is a use of one of the project's programs.
type commandLine struct {
	at      string // place in the document
	program string // folder of the program, relative to the module's root
	args    []string
}

var (
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	commandUse = regexp.MustCompile(`^(?:go run \./(cmd/amble|examples/\w+)|(amble)) (.*)$`)
)

// commandLines returns the uses of the project's programs in a document's code.
func (d document) commandLines() []commandLine {
	var lines []string
	for _, m := range inlineCode.FindAllStringSubmatch(d.text, -1) {
		lines = append(lines, m[1])
	}
	for line := range strings.Lines(d.text) {
		if code, indented := strings.CutPrefix(line, "    "); indented {
			lines = append(lines, code)
		}
	}
	for _, b := range d.blocks {
		if b.lang == "" {
			lines = append(lines, strings.Split(b.code, "\n")...)
		}
	}
	var found []commandLine
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		line, _, _ = strings.Cut(line, " | ")
		m := commandUse.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		c := commandLine{at: d.path, program: m[1], args: strings.Fields(m[3])}
		if m[2] != "" {
			c.program = "cmd/amble"
		}
		found = append(found, c)
	}
	return found
}

// TestCommandLines checks that the help of the programs mentions the commands and flags that documents show.
func TestCommandLines(t *testing.T) {
	n, helps := 0, map[string]help{}
	for _, d := range documents(t) {
		for _, c := range d.commandLines() {
			n++
			c.check(t, program(t, c.program), helps)
		}
	}
	if n < 5 {
		t.Errorf("only %d command lines found", n)
	}
}

var lonelyFlag = regexp.MustCompile(`^(--[a-z][a-z-]*)\b`)

// TestFlagsExist checks that the command has the flags that documents mention on their own.
func TestFlagsExist(t *testing.T) {
	amble := program(t, "cmd/amble")
	var known []string
	for _, args := range [][]string{
		{"crawl", "--help-all"}, {"jobs", "--help-all"}, {"show", "--help-all"}, {"mirror", "--help-all"}, {"crawl", "--print-config"}, {"resume", "--help-all"}, {"robots", "--help-all"}, {"explain", "--help-all"}, {"links", "--help-all"}, {"text", "--help-all"},
		{"plan", "--help-all"}, {"check", "--help-all"}, {"export", "--help-all"}, {"verify", "--help-all"}, {"report", "--help-all"}, {"demo", "--help-all"}, {"identity", "--help-all"}, {"watch", "--help-all"},
		{"serve", "--help-all"}, {"estimate", "--help-all"}, {"cluster", "serve", "--help-all"}, {"cluster", "create", "--help-all"}, {"cluster", "work", "--help-all"}, {"cluster", "status", "--help-all"},
		{"cluster", "collect", "--help-all"}, {"cluster", "check", "--help-all"},
	} {
		out, err := exec.Command(amble, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("amble %v: %v\n%s", args, err, out)
		}
		for _, f := range strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" \t\n,=[]():", r) }) {
			known = append(known, "--"+strings.TrimPrefix(f, "--"))
		}
	}
	checked := 0
	for _, d := range documents(t) {
		for _, m := range inlineCode.FindAllStringSubmatch(d.text, -1) {
			if flag := lonelyFlag.FindString(m[1]); flag != "" {
				checked++
				if !slices.Contains(known, flag) {
					t.Errorf("%s: amble has no flag %s", d.path, flag)
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d flags found", checked)
	}
}

// unquoted matches a directory in a variable that the shell may split, or that may be empty.
var unquoted = regexp.MustCompile(`\bcd \$`)

// TestShellWalksQuote checks that no command in a document takes effect in the wrong directory.
func TestShellWalksQuote(t *testing.T) {
	for _, d := range documents(t) {
		if m := unquoted.FindString(d.text); m != "" {
			t.Errorf("%s: %s: quote the variable, and continue with && only", d.path, m)
		}
	}
}

// help holds the help output of a program.
type help struct {
	out []byte
	err error
}

// check compares the lower-case words: others are placeholders. helps caches the help outputs so far.
func (c commandLine) check(t *testing.T, bin string, helps map[string]help) {
	t.Helper()
	ask := []string{bin, "-help"}
	if c.program == "cmd/amble" {
		ask[1] = "--help-all"
		switch {
		case c.args[0] == "cluster" && len(c.args) > 1 && isWord(c.args[1]):
			ask = []string{bin, "cluster", c.args[1], "--help-all"}
		case isWord(c.args[0]):
			ask = []string{bin, c.args[0], "--help-all"}
		}
	}
	key := strings.Join(ask, " ")
	h, asked := helps[key]
	if !asked {
		h.out, h.err = exec.Command(ask[0], ask[1:]...).CombinedOutput()
		helps[key] = h
	}
	if h.err != nil {
		t.Errorf("%s: %s %s: %v\n%s", c.at, c.program, strings.Join(c.args, " "), h.err, h.out)
		return
	}
	known := strings.FieldsFunc(string(h.out), func(r rune) bool { return strings.ContainsRune(" \t\n,=[]()", r) })
	for _, a := range c.args {
		flag, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(flag, "-") && flag != "-" && flag != "-help" && flag != "--help" && !slices.Contains(known, flag) {
			t.Errorf("%s: %s has no flag %s", c.at, c.program, flag)
		}
	}
}

var word = regexp.MustCompile(`^[a-z]+$`)

func isWord(s string) bool { return word.MatchString(s) }
