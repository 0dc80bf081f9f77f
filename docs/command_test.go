package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandLine is the use of a program of ours: its name, and what is passed to it.
type commandLine struct {
	at      string // the document
	program string // folder of the program, from the module's root
	args    []string
}

var (
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	commandUse = regexp.MustCompile(`^(?:go run \./(cmd/amble|examples/\w+)|(amble)) (.*)$`)
)

// commandLines are the uses of our programs in a document's code.
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

// TestCommandLines holds that commands and flags that documents show are in the programs' help.
func TestCommandLines(t *testing.T) {
	n := 0
	for _, d := range documents(t) {
		for _, c := range d.commandLines() {
			n++
			c.check(t, program(t, c.program))
		}
	}
	if n < 5 {
		t.Errorf("only %d command lines found", n)
	}
}

var lonelyFlag = regexp.MustCompile(`^(--[a-z][a-z-]*)\b`)

// TestFlagsExist holds that flags which documents name by themselves are the command's.
func TestFlagsExist(t *testing.T) {
	amble := program(t, "cmd/amble")
	var known []string
	for _, args := range [][]string{
		{"crawl", "--help"}, {"crawl", "--print-config"}, {"resume", "--help"}, {"robots", "--help"}, {"explain", "--help"}, {"links", "--help"},
		{"plan", "--help"}, {"verify", "--help"}, {"report", "--help"}, {"demo", "--help"},
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

// unquoted is a directory by a variable that the shell may take apart, or that may be empty.
var unquoted = regexp.MustCompile(`\bcd \$`)

// TestShellWalksQuote holds that what documents have somebody type does its work elsewhere in no case.
func TestShellWalksQuote(t *testing.T) {
	for _, d := range documents(t) {
		if m := unquoted.FindString(d.text); m != "" {
			t.Errorf("%s: %s: quote the variable, and go on with && only", d.path, m)
		}
	}
}

// check compares the words that are written in lower case: others are placeholders.
func (c commandLine) check(t *testing.T, bin string) {
	t.Helper()
	help := []string{"-help"}
	if c.program == "cmd/amble" {
		help = []string{"--help"}
		if isWord(c.args[0]) {
			help = []string{c.args[0], "--help"}
		}
	}
	out, err := exec.Command(bin, help...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %s %s: %v\n%s", c.at, c.program, strings.Join(c.args, " "), err, out)
		return
	}
	known := strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" \t\n,=[]()", r) })
	for _, a := range c.args {
		flag, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(flag, "-") && flag != "-" && flag != "-help" && flag != "--help" && !slices.Contains(known, flag) {
			t.Errorf("%s: %s has no flag %s", c.at, c.program, flag)
		}
	}
}

var word = regexp.MustCompile(`^[a-z]+$`)

func isWord(s string) bool { return word.MatchString(s) }
