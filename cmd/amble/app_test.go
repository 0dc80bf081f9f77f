package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
)

// testApp returns an app without input, with buffers as outputs, and with only the environment variables in env.
func testApp(env map[string]string) (a *app, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	return &app{
		in: strings.NewReader(""), out: cli.NewStdout(out), err: errs,
		env:     func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		environ: func() []string { return nil },
		notify:  func(chan<- os.Signal) {}, ignore: func(chan<- os.Signal) {},
		exit: func(int) { panic("exit") },
	}, out, errs
}

// parsed returns the crawl command after parsing args, and the origins of its settings.
func parsed(t *testing.T, env map[string]string, args ...string) (*crawlCmd, *keyflags.Origins) {
	t.Helper()
	a, _, _ := testApp(env)
	o := keyflags.New(a.env)
	k, err := a.parser("crawl", o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := k.Parse(append([]string{"crawl"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	o.Parsed(ctx)
	return ctx.Selected().Target.Addr().Interface().(*crawlCmd), o
}

func TestPanicIsAnInternalError(t *testing.T) {
	a, _, errs := testApp(nil)
	a.environ = func() []string { panic("boom") } // an app asks for its environment whenever it runs
	if code := a.run([]string{"version"}); code != cli.ExitInternal {
		t.Errorf("exit code %d, want %d", code, cli.ExitInternal)
	}
	if s := errs.String(); !strings.Contains(s, "amble: internal error: boom") || !strings.Contains(s, "app_test.go") {
		t.Errorf("stderr %q: want the panic and its stack", s)
	}
}

func TestErrorsOfOthersAreInternal(t *testing.T) {
	a, _, _ := testApp(nil)
	if code := a.complain(os.ErrInvalid, ""); code != cli.ExitInternal {
		t.Errorf("exit code %d, want %d", code, cli.ExitInternal)
	}
}

// closedPipe is an output whose reader has closed it.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestClosedStdoutIsNoError(t *testing.T) {
	a, _, errs := testApp(nil)
	a.out = cli.NewStdout(closedPipe{})
	_, _ = a.out.Write([]byte("x"))
	if code := a.complain(os.ErrInvalid, ""); code != cli.ExitDone || errs.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// Each command's help text begins with three examples.
func TestHelpBeginsWithThreeExamples(t *testing.T) {
	a, _, _ := testApp(nil)
	k, err := a.parser("", keyflags.New(a.env))
	if err != nil {
		t.Fatal(err)
	}
	three := regexp.MustCompile(`(?s)^Usage: amble [^\n]*\n\n[^\n]*\n\nExamples:\n\n(    [^\n]*amble [^\n]*\n){3,4}\n`)
	for _, cmd := range k.Model.Children {
		if cmd.Hidden {
			continue
		}
		a, out, _ := testApp(nil)
		if code := a.run([]string{cmd.Name, "--help"}); code != cli.ExitDone || !three.MatchString(out.String()) {
			t.Errorf("amble %s --help, exit code %d:\n%.600s", cmd.Name, code, out)
		}
	}
}

// Comments, messages and help texts in the sources mention only flags that exist.
func TestFlagsThatAreNamedExist(t *testing.T) {
	a, _, _ := testApp(nil)
	k, err := a.parser("", keyflags.New(a.env))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"--help": true, "--help-all": true, "--version": true, "--completion": true}
	for _, cmd := range k.Model.Children {
		for _, c := range append(cmd.Children, cmd) {
			for _, f := range c.Flags {
				known["--"+f.Name] = true
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`(?:^|[^\w-])(--[a-z][a-z-]*[a-z])(?:[^-a-z%]|$)`) // ignores incomplete names such as "--max-%s"
	checked := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flag.FindAllStringSubmatch(string(text), -1) {
			checked++
			if !strings.HasSuffix(name, "_test.go") && !known[m[1]] {
				t.Errorf("%s: there is no flag %s", name, m[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d flags found", checked)
	}
}
