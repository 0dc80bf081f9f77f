package docs_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
)

var update = flag.Bool("update", false, "write docs/reference.md")

// otherMark begins the parts of docs/reference.md that tests of other packages write.
const otherMark = "\n<!-- go test "

// TestReferenceIsOfTheCommand compares docs/reference.md with the help of the command and the table of settings of
// package job. After a change of flags or keys,
//
//	go test ./docs -run Reference -update
//
// writes it.
func TestReferenceIsOfTheCommand(t *testing.T) {
	want := newReference(t).page()
	got, err := os.ReadFile("reference.md")
	own, others, _ := strings.Cut(string(got), otherMark)
	if *update {
		write(t, "reference.md", want+otherMark+others)
		own = want
	}
	if err != nil || own != want {
		t.Errorf("docs/reference.md does not describe this command (%v): go test ./docs -run Reference -update", err)
	}
}

// TestJobFileIsOfTheReference compares docs/job.yaml with the command's output. Like reference.md it is written by -update.
func TestJobFileIsOfTheReference(t *testing.T) {
	want := newReference(t).run("crawl", "--print-config", "--commented")
	if *update {
		write(t, "job.yaml", want)
	}
	got, err := os.ReadFile("job.yaml")
	if err != nil || string(got) != want {
		t.Errorf("docs/job.yaml is not what the command prints (%v): go test ./docs -run Reference -update", err)
	}
}

// TestCommentedJobFileIsAccepted removes the comment signs: the command then finds each key in the file, with its default value.
func TestCommentedJobFileIsAccepted(t *testing.T) {
	r := newReference(t)
	text := regexp.MustCompile(`(?m)^#([a-z-]+:|  - )`).ReplaceAllString(r.run("crawl", "--print-config", "--commented"), "$1")
	file := filepath.Join(t.TempDir(), "job.yaml")
	write(t, file, text)
	defaults := r.run("crawl", "--print-config")
	printed := r.run("crawl", "--config", file, "--print-config")
	origin := regexp.MustCompile(` +# .*`)
	if got, want := origin.ReplaceAllString(printed, ""), "urls:\n  - https://site.to.crawl/\n"+origin.ReplaceAllString(defaults, ""); got != want {
		t.Errorf("the values are\n%s\nwant\n%s", got, want)
	}
	for _, k := range job.Keys() {
		if !strings.Contains("\n"+text, "\n"+k.Name+":") {
			t.Errorf("%s is missing", k.Name)
		}
	}
	if left := regexp.MustCompile(`(?m)^[a-z-]+:.*# default$`).FindAllString(printed, -1); len(left) > 0 {
		t.Errorf("not taken from the file: %q", left)
	}
}

// reference is the command whose flags are described.
type reference struct {
	t   *testing.T
	bin string
}

func newReference(t *testing.T) *reference {
	t.Helper()
	return &reference{t, program(t, "cmd/amble")}
}

func (r *reference) run(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(r.bin, args...)
	cmd.Env = []string{} // without the caller's AMBLE_ variables
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("amble %v: %v\n%s", args, err, out)
	}
	return string(out)
}

const referenceHead = `# Reference: flags, keys, columns, outcomes

This page is generated from the code, and tests compare it: flags and keys by ` + "`go test ./docs -run Reference -update`" + `, then the
[columns of exports](#columns-of-exports) and the [outcomes at hostile servers](#outcomes-at-hostile-servers).

A setting of a crawl can be given in three places. A flag (` + "`--max-pages 50`" + `) overrides an environment variable
(` + "`AMBLE_MAX_PAGES=50`" + `), which overrides a key of a job file (` + "`max-pages: 50`" + `, read with ` + "`--config FILE`" + `).
All three have the same name and the same values. ` + "`amble crawl --print-config`" + ` prints every value and where it comes
from, in the form of a job file. [job.yaml](job.yaml) has all keys with comments, as
` + "`amble crawl --print-config --commented`" + ` prints them; [job.schema.json](job.schema.json) describes the
keys to editors.

| value | is |
|---|---|
| count | a number from 0, or ` + "`none`" + ` for no limit |
| duration | such as ` + "`500ms`, `2s` or `1m30s`" + `; a number alone is in seconds. ` + "`none`" + ` means no limit, or no pause |
| size | such as ` + "`500kB`, `10MiB` or `1GB`" + `; a number alone is in bytes. ` + "`none`" + ` means no limit |
| list | one value, or several: separated by commas in a flag (those of rules and of header by repeating the flag), a YAML list in a job file |
| boolean | given or not as a flag; ` + "`true` or `false`" + ` as a key |
| whole | a whole number from 0, which has no ` + "`none`" + ` |

`

// page returns the complete page.
func (r *reference) page() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	crawl := parseHelp(r.run("crawl", "--help-all"))
	r.writeKeys(&b, crawl)
	for _, name := range r.commands("--help") {
		if name == "crawl" {
			continue
		}
		r.writeCommand(&b, name, crawl)
		for _, sub := range r.commands(name, "--help") {
			r.writeCommand(&b, sub, crawl)
		}
	}
	return b.String()
}

// commands returns the commands that a help text lists.
func (r *reference) commands(args ...string) (names []string) {
	_, list, _ := strings.Cut(r.run(args...), "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)  +[A-Z]`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// writeKeys writes the settings of a crawl in the order of the table of package job, under the groups of the help. A key that the help
// leaves out belongs to the group of the previous key.
func (r *reference) writeKeys(b *strings.Builder, crawl []helpFlag) {
	fmt.Fprintf(b, "## amble crawl\n\n%s\n\n", paragraph(r.run("crawl", "--help-all")))
	b.WriteString("Flags that are not keys of a job file:\n")
	writeFlags(b, slices.DeleteFunc(slices.Clone(crawl), func(f helpFlag) bool { return job.KeyNamed(f.name) != nil || job.ShorthandNamed(f.name) != nil }))
	b.WriteString(keysHead)
	group := ""
	written := map[*job.Shorthand]bool{}
	for _, shared := range job.Keys() {
		own := *shared
		k := &own
		i := slices.IndexFunc(crawl, func(f helpFlag) bool { return f.name == k.Name })
		if i >= 0 && crawl[i].group != group {
			group = crawl[i].group
			fmt.Fprintf(b, "\n### %s\n\n| key | value | default | on resume | meaning |\n|---|---|---|---|---|\n", group)
		}
		of, as := job.ShorthandOf(k.Name)
		if of != nil && of.Name != k.Name && !written[of] {
			written[of] = true
			j := slices.IndexFunc(crawl, func(f helpFlag) bool { return f.name == of.Name })
			if j < 0 {
				r.t.Fatalf("%s is not in the help", of.Name)
			}
			if crawl[j].group != group {
				group = crawl[j].group
				fmt.Fprintf(b, "\n### %s\n\n| key | value | default | on resume | meaning |\n|---|---|---|---|---|\n", group)
			}
			if job.KeyNamed(of.Name) == nil {
				fmt.Fprintf(b, "| `%s` | %s | | as of its keys | %s |\n", of.Name, cmp.Or(strings.Join(of.Words, ", "), "boolean"), cell(of.Doc))
			}
		}
		short := ""
		if i >= 0 && crawl[i].short != "" {
			short = ", `-" + crawl[i].short + "`"
		}
		switch {
		case of != nil && of.Name == k.Name:
			k.Doc = of.Doc
		case of != nil:
			k.Doc = "As a flag `--" + as + "`. " + k.Doc
		}
		r.writeKey(b, k, short)
		if hidden := k.Seldom || of != nil && of.Name != k.Name; hidden == (i >= 0) {
			r.t.Errorf("%s: in the help %v, seldom needed %v", k.Name, i >= 0, k.Seldom)
		}
	}
}

const keysHead = `
The tables list all keys. Those in *italics* are seldom needed, and ` + "`amble crawl --help-all`" + ` does not list them. A job file has
one more key, ` + "`urls`" + `: the seeds. A key whose meaning begins with "As a flag" is set by that flag, or by a line of that name, which sets
more keys than one. "On resume" says how a setting may differ if a job is resumed; settings
of one process are not part of the job. The last line of a meaning is the field of ` + "`job.Config`" + ` that the key sets.
`

func (r *reference) writeKey(b *strings.Builder, k *job.Key, short string) {
	name := "`" + k.Name + "`" + short
	if k.Seldom {
		name = "*" + name + "*"
	}
	value := string(k.Kind())
	if choices := k.Choices(); len(choices) > 0 {
		value = "`" + strings.ToLower(strings.Join(choices, "`, `")) + "`"
	}
	d := k.Default()
	def := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(d.Text(), "["), "]"))
	doc := strings.Replace(k.DocWith(func(name string) string { return "`" + name + "`" }), " (${default})", "", 1)
	if def != "" {
		doc, def = strings.ReplaceAll(doc, "${default}", def), "`"+def+"`"
	}
	doc = cell(doc)
	if k.Field != "" {
		doc += "<br>`" + k.Field + "`"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", name, value, def, k.Freedom, doc)
}

// writeCommand writes a command with a full description of its own flags, and the names of those that it shares with crawl.
func (r *reference) writeCommand(b *strings.Builder, name string, crawl []helpFlag) {
	help := r.run(append(strings.Fields(name), "--help-all")...)
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
	return slices.DeleteFunc(flags, func(f helpFlag) bool { return f.name == "help" || f.name == "help-all" || f.name == "version" })
}

// paragraph returns the description of a command from its help text, without the examples.
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

// cell formats text for a cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(s)
}
