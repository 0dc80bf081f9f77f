package docs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference.md")

// TestReferenceIsOfTheCommand compares docs/reference.md with the help, the printed configuration and the job
// schema of the command. After a change of flags,
//
//	go test ./cmd/amble -run JobSchema -update && go test ./docs -run Reference -update
//
// writes both files.
func TestReferenceIsOfTheCommand(t *testing.T) {
	want := newReference(t).page()
	if *update {
		write(t, "reference.md", want)
	}
	got, err := os.ReadFile("reference.md")
	if err != nil || string(got) != want {
		t.Errorf("docs/reference.md does not describe this command (%v): go test ./docs -run Reference -update", err)
	}
}

// TestSampleJobIsAccepted checks that the command accepts docs/job.yaml, and takes each of its keys from there.
func TestSampleJobIsAccepted(t *testing.T) {
	r := newReference(t)
	sample, err := filepath.Abs("job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	printed := r.run("crawl", "--config", sample, "--print-config")
	keys := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(string(text), -1)
	if len(keys) < 10 {
		t.Errorf("only %d keys", len(keys))
	}
	for _, k := range keys {
		name := k[1]
		if name == "include" || name == "exclude" {
			name = "rules" // which they become
		}
		if !regexp.MustCompile(`(?m)^` + name + `:.*# .*job\.yaml`).MatchString(printed) {
			t.Errorf("%s is not taken from the file:\n%s", k[1], printed)
		}
	}
}

// reference is what the command says about its flags.
type reference struct {
	t    *testing.T
	bin  string
	keys map[string]jobKey
}

// jobKey is a property of the job schema.
type jobKey struct {
	Description, Type, Ref string
	Enum                   []string
}

func newReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{t: t, bin: program(t, "cmd/amble")}
	var schema struct {
		Properties map[string]struct {
			jobKey
			Ref string `json:"$ref"`
		}
	}
	text, err := os.ReadFile("job.schema.json")
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.keys = map[string]jobKey{}
	for name, p := range schema.Properties {
		p.jobKey.Ref = strings.TrimPrefix(p.Ref, "#/$defs/")
		r.keys[name] = p.jobKey
	}
	return r
}

func (r *reference) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(r.bin, args...)
	cmd.Env = []string{} // no AMBLE_ variable of the caller
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("amble %v: %v\n%s", args, err, out)
	}
	return string(out)
}

const referenceHead = `# Reference: flags and keys

This page is generated from the command: ` + "`go test ./docs -run Reference -update`" + ` writes it, and a test compares it.

A setting of a crawl can be given in three places. A flag (` + "`--max-pages 50`" + `) overrides an environment variable
(` + "`AMBLE_MAX_PAGES=50`" + `), which overrides a key of a job file (` + "`max-pages: 50`" + `, read with ` + "`--config FILE`" + `).
All three have the same name and the same values. ` + "`amble crawl --print-config`" + ` prints every value and where it comes
from, in the form of a job file. [job.yaml](job.yaml) is a sample; [job.schema.json](job.schema.json) describes the
keys to editors.

| value | is |
|---|---|
| count | a number from 0, or ` + "`none`" + ` for no limit |
| duration | such as ` + "`500ms`, `2s` or `1m30s`" + `; a number alone is in seconds. ` + "`none`" + ` means no limit, or no pause |
| size | such as ` + "`500kB`, `10MiB` or `1GB`" + `; a number alone is in bytes. ` + "`none`" + ` means no limit |
| list | one value, or several: separated by commas in a flag (those of rules by repeating the flag), a YAML list in a job file |
| switch | given or not as a flag; ` + "`true` or `false`" + ` as a key |

`

// page returns the whole page.
func (r *reference) page() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	crawl := parseHelp(r.run("crawl", "--help"))
	r.writeKeys(&b, crawl)
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(section(r.run("--help"), "Commands:"), -1) {
		if m[1] != "crawl" {
			r.writeCommand(&b, m[1], crawl)
		}
	}
	return b.String()
}

// writeKeys writes the settings of a crawl, in the order of the printed configuration and under the groups of the
// help. Settings that the help leaves out belong to the group of the one before them.
func (r *reference) writeKeys(b *strings.Builder, crawl []helpFlag) {
	fmt.Fprintf(b, "## amble crawl\n\n%s\n\n", paragraph(r.run("crawl", "--help")))
	b.WriteString("Keys in *italics* are seldom needed; `amble crawl --help` does not list them.\n")
	b.WriteString("\nFlags that are not keys of a job file:\n")
	writeFlags(b, slices.DeleteFunc(slices.Clone(crawl), func(f helpFlag) bool { _, key := r.keys[f.name]; return key }))
	writeGroup(b, "Seeds")
	r.writeKey(b, "urls", "", crawl)
	group, written := "", map[string]bool{"urls": true}
	for _, k := range printedKeys(r.run("crawl", "--print-config", "http://127.0.0.1/")) {
		name, value, _ := strings.Cut(k, "=")
		if i := slices.IndexFunc(crawl, func(f helpFlag) bool { return f.name == name }); i >= 0 && crawl[i].group != group {
			group = crawl[i].group
			writeGroup(b, group)
		}
		written[name] = true
		r.writeKey(b, name, value, crawl)
		if name == "scope" { // the two flags of which the key rules is made
			r.writeKey(b, "include", "", crawl)
			r.writeKey(b, "exclude", "", crawl)
			written["include"], written["exclude"] = true, true
		}
	}
	for name := range r.keys {
		if !written[name] {
			r.t.Errorf("the printed configuration has no key %s", name)
		}
	}
}

func writeGroup(b *strings.Builder, name string) {
	fmt.Fprintf(b, "\n### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", name)
}

func (r *reference) writeKey(b *strings.Builder, name, value string, crawl []helpFlag) {
	r.t.Helper()
	k, ok := r.keys[name]
	if !ok {
		r.t.Errorf("job.schema.json has no key %s: go test ./cmd/amble -run JobSchema -update", name)
	}
	shown := "*`" + name + "`*"
	if i := slices.IndexFunc(crawl, func(f helpFlag) bool { return f.name == name }); i >= 0 {
		shown = "`" + name + "`"
		if crawl[i].short != "" {
			shown += ", `-" + crawl[i].short + "`"
		}
	} else if name == "urls" || name == "overrides" {
		shown = "`" + name + "` (job file only)"
	}
	if value != "" {
		k.Description = strings.Replace(k.Description, " ("+value+")", "", 1)
		value = "`" + value + "`"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", shown, k.form(), value, cell(k.Description))
}

// form names the kind of values of a key.
func (k jobKey) form() string {
	switch {
	case len(k.Enum) > 0:
		return "`" + strings.ToLower(strings.Join(k.Enum, "`, `")) + "`"
	case k.Ref != "":
		return k.Ref
	case k.Type == "boolean":
		return "switch"
	case k.Type == "string":
		return "text"
	case k.Type == "array":
		return "list"
	}
	return k.Type
}

// writeCommand writes a command with its own flags in full, and the names of those that it shares with crawl.
func (r *reference) writeCommand(b *strings.Builder, name string, crawl []helpFlag) {
	help := r.run(name, "--help")
	usage, _, _ := strings.Cut(strings.TrimPrefix(help, "Usage: "), "\n")
	fmt.Fprintf(b, "\n## amble %s\n\n`%s`\n\n%s\n", name, strings.ReplaceAll(usage, "|", " or "), paragraph(help))
	var own []helpFlag
	var shared []string
	for _, f := range parseHelp(help) {
		if slices.ContainsFunc(crawl, func(c helpFlag) bool { return c.name == f.name && c.doc == f.doc }) {
			shared = append(shared, "`--"+f.name+"`")
		} else {
			own = append(own, f)
		}
	}
	writeFlags(b, own)
	if len(shared) > 0 {
		fmt.Fprintf(b, "\nIt shares with `amble crawl`: %s.\n", strings.Join(shared, ", "))
	}
}

func writeFlags(b *strings.Builder, flags []helpFlag) {
	if len(flags) == 0 {
		return
	}
	b.WriteString("\n| flag | meaning |\n|---|---|\n")
	for _, f := range flags {
		name := "`--" + f.name + "`"
		if f.value != "" {
			name = "`--" + f.name + "=" + strings.ReplaceAll(f.value, "|", " or ") + "`"
		}
		if f.short != "" {
			name += ", `-" + f.short + "`"
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, cell(f.doc))
	}
}

// helpFlag is a flag as a help text shows it.
type helpFlag struct{ group, short, name, value, doc string }

var (
	helpLine  = regexp.MustCompile(`^ {2,6}(?:-(\w), )?--([a-z-]+)(?:=(\S+))? +(\S.*)$`)
	helpGroup = regexp.MustCompile(`^([A-Z].*):$`)
)

// parseHelp returns the flags of a help text, except --help and --version, which all commands have.
func parseHelp(help string) []helpFlag {
	var flags []helpFlag
	group := ""
	for line := range strings.SplitSeq(help, "\n") {
		if m := helpGroup.FindStringSubmatch(line); m != nil {
			group = m[1]
			continue
		}
		m := helpLine.FindStringSubmatch(line)
		switch {
		case m != nil:
			flags = append(flags, helpFlag{group, m[1], m[2], m[3], m[4]})
		case strings.HasPrefix(line, "          ") && len(flags) > 0:
			flags[len(flags)-1].doc += " " + strings.TrimSpace(line)
		}
	}
	return slices.DeleteFunc(flags, func(f helpFlag) bool { return f.name == "help" || f.name == "version" })
}

// printedKeys returns the keys of a printed configuration with their values, as key=value.
func printedKeys(text string) []string {
	var keys []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #")
		if item, ok := strings.CutPrefix(line, "  - "); ok {
			if len(keys) == 0 {
				continue // of urls
			}
			keys[len(keys)-1] += strings.TrimSpace(item)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if value == "[]" {
			value = ""
		}
		if ok && name != "urls" {
			keys = append(keys, name+"="+value)
		}
	}
	return keys
}

// paragraph returns the description of a command in its help, without the examples.
func paragraph(help string) string {
	_, after, _ := strings.Cut(help, "\n\n")
	first, after, _ := strings.Cut(after, "\n\n")
	_, after, _ = strings.Cut(after, "Examples:\n\n")
	_, more, _ := strings.Cut(after, "\n\n")
	end := len(more)
	for _, mark := range []string{"Arguments:\n", "Flags:\n"} {
		if i := strings.Index(more, mark); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimSpace(first + "\n\n" + strings.TrimSpace(more[:end]))
}

// section returns the part of a help text after a heading, up to an empty line.
func section(help, heading string) string {
	_, after, _ := strings.Cut(help, heading+"\n")
	s, _, _ := strings.Cut(after, "\n\n")
	return s
}

// cell writes text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}
