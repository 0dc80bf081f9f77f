package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/internal/quicktmp"
	"github.com/amble-crawler/amble/render/chromium"
)

func TestMain(m *testing.M) {
	if readsDocument() {
		return
	}
	quicktmp.Use()
	if state := os.Getenv("TEST_STATE"); state != "" { // set by scripts whose commands share a state directory
		_ = os.Setenv("AMBLE_STATE", state) // this name cannot fail
	}
	if !long.Race {
		_ = flag.Set("test.parallel", "16") // tests with processes mostly wait; a -parallel flag takes precedence
	}
	testscript.Main(m, map[string]func(){"amble": main, "program": program})
}

func TestScript(t *testing.T) {
	t.Parallel()
	dir, files := "testdata/script", []string(nil)
	if long.Race { // only scripts that crawl: each command is a process, which starts slowly with the race detector
		for _, name := range []string{"crawl", "demo", "plan", "resume", "robots"} {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(e *testscript.Env) error {
			e.Values["hosts"] = newHosts()
			return nil
		},
		Condition: condition(t),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "exits": exits, "asked": asked, "envsubst": envsubst, "replace": replaceOnce,
		},
	})
}

// condition implements the condition [browser] of scripts: it holds if pages can be rendered on this machine.
func condition(t *testing.T) func(string) (bool, error) {
	browser := sync.OnceValue(func() bool {
		r, err := chromium.New(t.Context(), chromium.Config{})
		if err != nil {
			t.Log(err)
			return os.Getenv("TEST_BROWSER") == "required"
		}
		return r.Close() == nil
	})
	return func(name string) (bool, error) {
		if name != "browser" {
			return false, fmt.Errorf("there is no condition %s", name)
		}
		return browser(), nil
	}
}

// exits implements "exits CODE COMMAND ARGS…": it runs the command and checks its exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// envsubst implements "envsubst FROM TO": it writes the file FROM to TO with each ${name} replaced.
func envsubst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: envsubst FROM TO")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// replaceOnce implements "replace FILE OLD NEW": it replaces OLD in the file, where it must occur exactly once.
func replaceOnce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, args[1]); n != 1 {
		ts.Fatalf("%s has %q %d times, want once", args[0], args[1], n)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}
