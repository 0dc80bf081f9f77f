package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflow holds the checked fields of a workflow.
type workflow struct {
	Name        string         `yaml:"name"`
	On          any            `yaml:"on"`
	Permissions map[string]any `yaml:"permissions"`
	Jobs        map[string]struct {
		RunsOn  string `yaml:"runs-on"`
		Timeout int    `yaml:"timeout-minutes"`
		Steps   []struct{ Uses, Run string }
	} `yaml:"jobs"`
}

// major matches an action of a major version.
var major = regexp.MustCompile(`^actions/[a-z-]+(?:/[a-z]+)?@v\d+$`)

// TestWorkflows checks that workflows are YAML, use known actions of a major version, only have permission to read, and run commands and
// scripts that exist.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := ".github/workflows/" + filepath.Base(file)
		w := yamlFile[workflow](t, name)
		if w.Name == "" || w.On == nil || len(w.Jobs) == 0 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: has no name, no event, no job, or more permissions than to read: %+v", name, w)
		}
		for key, j := range w.Jobs {
			if j.RunsOn == "" || len(j.Steps) == 0 {
				t.Errorf("%s, %s: no machine, or no steps", name, key)
			}
			for _, s := range j.Steps {
				if (s.Uses == "") == (s.Run == "") || s.Uses != "" && !major.MatchString(s.Uses) {
					t.Errorf("%s, %s: want a command, or an action of a major version: %+v", name, key, s)
				}
				checkStep(t, name, s.Run)
			}
		}
	}
}

// checkStep checks that the scripts and packages that a command runs exist.
func checkStep(t *testing.T, name, command string) {
	t.Helper()
	for word := range strings.FieldsSeq(command) {
		if !strings.HasPrefix(word, ".ci/") && !strings.HasPrefix(word, "./internal/") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, word)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWorkflowsUseTheGoOfTheModule checks that workflows test and build with the newest release of the Go version in go.mod: setup-go would
// take go.mod's version literally, as the very first release, whose vulnerabilities are known.
func TestWorkflowsUseTheGoOfTheModule(t *testing.T) {
	mod := read(t, "go.mod")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(mod)
	if version == nil {
		t.Fatal("go.mod has no line for Go")
	}
	for _, name := range []string{"ci", "nightly", "release"} {
		text := read(t, ".github/workflows/"+name+".yml")
		for _, m := range regexp.MustCompile(`go-version: ([\d.x]+)|go: \[([\d.x]+)\]`).FindAllStringSubmatch(text, -1) {
			if got := m[1] + m[2]; got != version[1]+".x" {
				t.Errorf("%s.yml: Go %s, and go.mod has %s", name, got, version[1])
			}
		}
		if strings.Contains(text, "go-version-file") || !strings.Contains(text, version[1]+".x") {
			t.Errorf("%s.yml does not name Go %s.x", name, version[1])
		}
	}
}

// TestScriptsRunExistingTests checks, for each "go test" of the scripts and workflows, that its packages exist and have the tests,
// benchmarks and flags that it names.
func TestScriptsRunExistingTests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range append(files, filepath.Join(root, ".ci/run"), filepath.Join(root, ".ci/nightly")) {
		text := strings.ReplaceAll(read(t, strings.TrimPrefix(filepath.ToSlash(file), root+"/")), "\\\n", "")
		for line := range strings.Lines(text) {
			if _, args, ok := strings.Cut(line, "go test "); ok && !strings.Contains(args, "$package") {
				n++
				checkGoTest(t, filepath.Base(file), args)
			}
		}
	}
	if n < 12 {
		t.Errorf("only %d commands found", n)
	}
}

// ownFlags lists flags of go test itself.
var ownFlags = []string{"race", "skip", "benchmem", "benchtime", "timeout", "v"}

// checkGoTest checks the arguments of a "go test".
func checkGoTest(t *testing.T, file, args string) {
	t.Helper()
	var packages, patterns, flags []string
	words := strings.Fields(strings.NewReplacer("'", "", ")", "").Replace(args))
	for i, word := range words {
		switch {
		case strings.HasSuffix(word, "/..."): // all tests
		case strings.HasPrefix(word, "./"):
			packages = append(packages, word)
		case (word == "-run" || word == "-bench") && words[i+1] != "^$" && words[i+1] != ".":
			patterns = append(patterns, words[i+1])
		case strings.HasPrefix(word, "-") && word != "-run" && word != "-bench" && !slices.Contains(ownFlags, word[1:]):
			flags = append(flags, word[1:])
		}
	}
	for _, p := range packages {
		tests, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
		if err != nil || len(tests) == 0 {
			t.Errorf("%s: %s has no tests: %v", file, p, err)
		}
		var code strings.Builder
		for _, name := range tests {
			code.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(name), root+"/")))
		}
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`).FindAllStringSubmatch(code.String(), -1) {
			names = append(names, m[1])
		}
		for _, pattern := range patterns {
			if !slices.ContainsFunc(names, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("%s: no test or benchmark of %s is named %s", file, p, pattern)
			}
		}
		for _, name := range flags {
			if !strings.Contains(code.String(), `("`+name+`",`) {
				t.Errorf("%s: the tests of %s have no flag -%s", file, p, name)
			}
		}
	}
}

// read returns a file of the project.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestForms checks that the forms for issues are YAML with a name, a description and fields that have labels.
func TestForms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/ISSUE_TEMPLATE/*.yml"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := ".github/ISSUE_TEMPLATE/" + filepath.Base(file)
		if filepath.Base(file) == "config.yml" {
			yamlFile[map[string]any](t, name)
			continue
		}
		f := yamlFile[struct {
			Name, Description string
			Body              []struct {
				Type, ID   string
				Attributes struct{ Label, Value string }
			}
		}](t, name)
		if f.Name == "" || f.Description == "" || len(f.Body) == 0 {
			t.Errorf("%s: %+v", name, f)
		}
		for _, b := range f.Body {
			if !slices.Contains([]string{"markdown", "textarea", "input"}, b.Type) || (b.Attributes.Label == "") == (b.Attributes.Value == "") {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}

// TestCitation checks that the citation file has the command's version.
func TestCitation(t *testing.T) {
	c := yamlFile[struct {
		Version string `yaml:"version"`
		Authors []struct{ Name string }
		CFF     string `yaml:"cff-version"`
	}](t, "CITATION.cff")
	b, err := os.ReadFile(filepath.Join(root, "crawler/config.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `Version = "`+c.Version+`"`) || c.CFF != "1.2.0" || len(c.Authors) != 1 {
		t.Errorf("%+v", c)
	}
}

// schemas matches the names of schemas in the code.
var schemas = regexp.MustCompile("[sS]chema *= \"(amble\\.[a-z]+/[0-9]+)\"")

// TestVersionsNameTheSchemas checks that docs/versions.md has every schema of the code, and no other.
func TestVersionsNameTheSchemas(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs/versions.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed, used := regexp.MustCompile("`(amble\\.[a-z]+/[0-9]+)`").FindAllStringSubmatch(string(doc), -1), map[string]bool{}
	for _, dir := range []string{"", "*/", "*/*/", "*/*/*/"} {
		files, err := filepath.Glob(filepath.Join(root, dir+"*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range schemas.FindAllStringSubmatch(string(b), -1) {
				used[m[1]] = true
			}
		}
	}
	for _, m := range listed {
		if !used[m[1]] {
			t.Errorf("docs/versions.md lists %s, which no code has", m[1])
		}
		delete(used, m[1])
	}
	if len(used) > 0 || len(listed) == 0 {
		t.Errorf("docs/versions.md does not list %v", used)
	}
}
