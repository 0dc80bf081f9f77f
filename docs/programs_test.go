package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// programsDir is the directory into which the project's programs are built, for all tests of this package.
var programsDir string

func TestMain(m *testing.M) {
	quicktmp.Use()
	quicktmp.Waiting()
	var err error
	if programsDir, err = os.MkdirTemp("", "docs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programsDir) // remains stay in the directory for temporary files
	os.Exit(code)
}

// program returns the path of a program of the project, whose folder is relative to the module's root.
func program(t *testing.T, folder string) string {
	t.Helper()
	if err := builtPrograms(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programsDir, path.Base(folder))
}

// builtPrograms builds the command, all examples and the programs that documents show, once, and returns any error.
//
// Linking two dozen programs takes much longer than everything else. Therefore the examples and the documents' programs are one executable,
// which runs the program whose name it is called by. Each program is a package of this executable: an overlay presents its files to go as
// those of another directory, with another package clause and another name for main.
var builtPrograms = sync.OnceValue(func() error {
	o := overlay{dir: filepath.Join(programsDir, "overlay"), Replace: map[string]string{}}
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		return err
	}
	names, err := o.addExamples()
	if err != nil {
		return err
	}
	shown, err := shownPrograms()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		names = append(names, name)
		if err := o.add(name+"/main.go", asPackage(shown[name])); err != nil {
			return err
		}
	}
	if err := o.add("main.go", chooser(names)); err != nil {
		return err
	}
	if err := o.build("./cmd/amble", "./docs/shown"); err != nil {
		return err
	}
	suffix := "" // of executable files
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	for _, name := range names {
		if err := os.Link(filepath.Join(programsDir, "shown"+suffix), filepath.Join(programsDir, name+suffix)); err != nil { // all names differ
			return err
		}
	}
	return nil
})

// overlay has the files of a directory docs/shown that exists only in the list for go build -overlay.
type overlay struct {
	dir     string            // directory of the replaced files
	Replace map[string]string // real paths by apparent path
}

func (o overlay) add(name, code string) error {
	seems, err := filepath.Abs(filepath.Join("shown", filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	o.Replace[seems] = filepath.Join(o.dir, fmt.Sprintf("%d.go", len(o.Replace)))
	return os.WriteFile(o.Replace[seems], []byte(code), 0o644)
}

// addExamples adds the examples that are part of the module, and returns their names.
func (o overlay) addExamples() (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.go"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		dir, base := filepath.Split(f)
		if _, err := os.Stat(dir + "go.mod"); err == nil || strings.HasSuffix(base, "_test.go") {
			continue
		}
		code, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if !strings.Contains("\n"+string(code), "\npackage main\n") {
			continue
		}
		name := filepath.Base(dir)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if err := o.add(name+"/"+base, asPackage(string(code))); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (o overlay) build(packages ...string) error {
	list, err := json.Marshal(o)
	if err != nil {
		return err
	}
	name := filepath.Join(o.dir, "overlay.json")
	if err := os.WriteFile(name, list, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"build", "-overlay", name, "-ldflags=-s", "-o", programsDir}, packages...)...) // without debugging information, which nobody needs
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

var mainFunc = regexp.MustCompile(`(?m)^func main\(\) \{`)

// asPackage turns the file of a command into a file of a package whose function Main is that command.
func asPackage(code string) string {
	code = packageClause.ReplaceAllString(code, "package command")
	return mainFunc.ReplaceAllString(code, "func Main() {")
}

// chooser returns a program that runs the one with its own name.
func chooser(names []string) string {
	imports, cases := &strings.Builder{}, &strings.Builder{}
	for i, name := range names {
		fmt.Fprintf(imports, "\tp%d %q\n", i, module+"/docs/shown/"+name)
		fmt.Fprintf(cases, "\tcase %q:\n\t\tp%d.Main()\n", name, i)
	}
	return fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\t\"strings\"\n\n%s)\n\nfunc main() {\n"+
		"\tswitch strings.TrimSuffix(filepath.Base(os.Args[0]), \".exe\") {\n%s\tdefault:\n\t\tpanic(os.Args[0])\n\t}\n}\n", imports, cases)
}
