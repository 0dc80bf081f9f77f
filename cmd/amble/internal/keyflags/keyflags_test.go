package keyflags

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// commands is a command line with some flags that are keys of job files and some flags that are not.
type commands struct {
	Crawl struct {
		URLs   []string `arg:"" optional:"" name:"url"`
		Config string
		Fresh  bool
		Retry  Words
		kong.Plugins
	} `cmd:""`
}

// parse parses the arguments of amble crawl.
func parse(t *testing.T, env map[string]string, args ...string) (*commands, *Origins, error) {
	t.Helper()
	c, o := new(commands), New(func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	c.Crawl.Plugins = Of(map[job.Group]string{
		job.Who: "", job.Reach: "", job.InScope: "", job.Pace: "", job.Amount: "", job.State: "", job.Network: "", job.Output: "",
	})
	k, err := kong.New(c, kong.Resolvers(o), kong.PostBuild(Document), kong.PostBuild(HideFixed))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := k.Parse(append([]string{"crawl"}, args...))
	if err != nil {
		_, err = o.ParseError(err)
		return c, o, err
	}
	o.Parsed(ctx)
	return c, o, nil
}

func parsed(t *testing.T, env map[string]string, args ...string) (*commands, *Origins) {
	t.Helper()
	c, o, err := parse(t, env, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

// jobFile returns the path of a job file with this text.
func jobFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryValueHasItsOrigin(t *testing.T) {
	path := jobFile(t, "depth: 2\nmax-pages: 3\ndelay: 4s\n")
	_, o := parsed(t, map[string]string{"AMBLE_CONFIG": path, "AMBLE_MAX_PAGES": "30", "AMBLE_DELAY": "40"}, "-w5")
	for flag, want := range map[string]string{
		"delay": "flag", "max-pages": "environment AMBLE_MAX_PAGES", "depth": path + ":1", "scope": "default",
	} {
		if got := o.Origin(flag); got != want {
			t.Errorf("%s comes from %q, want %q", flag, got, want)
		}
		if got := o.Given(flag); got != (want != "default") {
			t.Errorf("%s is given: %v", flag, got)
		}
	}
	cfg, err := o.Config()
	if l := cfg.Crawl.Limits; err != nil || l.Depth != 2 || l.Pages != 30 || cfg.Crawl.Politeness.Delay != 5*time.Second {
		t.Errorf("depth %d, max-pages %d, delay %v, %v", l.Depth, l.Pages, cfg.Crawl.Politeness.Delay, err)
	}
}

// The order of includes and excludes is kept, even across different flags. Those of the command line follow those of a job file.
func TestRulesKeepTheirOrder(t *testing.T) {
	path := jobFile(t, "include: [a, b]\nexclude: c\n")
	_, o := parsed(t, nil, "--config", path, "--exclude", "d", "--rules", "include e", "--exclude", "f")
	s, _ := o.Settings().Get("rules")
	if want := []string{"include a", "include b", "exclude d", "include e", "exclude f"}; !slices.Equal(s.Values, want) {
		t.Errorf("rules %q, want %q", s.Values, want) // --exclude replaces the list in the job file
	}
	if want := fmt.Sprintf("rules: flag, include: %s:1, exclude: flag", path); s.Origin != want {
		t.Errorf("they come from %q, want %q", s.Origin, want)
	}
}

// A flag that applies to a single invocation has no environment variable. A flag that is no key can be a list, too.
func TestFlagsThatAreNoKeys(t *testing.T) {
	c, o := parsed(t, map[string]string{"AMBLE_FRESH": "true", "AMBLE_RETRY": "x"}, "--retry", "deferred,failed", "--retry=more")
	if want := (Words{"deferred", "failed", "more"}); c.Crawl.Fresh || !slices.Equal(c.Crawl.Retry, want) {
		t.Errorf("fresh %v, retry %q, want %q", c.Crawl.Fresh, c.Crawl.Retry, want)
	}
	if !OfInvocation("fresh") || OfInvocation("depth") || o.Given("fresh") {
		t.Error("fresh is about one invocation, and depth is not")
	}
}

// An error about a value names the flag, file or variable that the value came from.
func TestErrorsNameTheOrigin(t *testing.T) {
	path := jobFile(t, "agent: a\ndelay: [1s, 2s]\n")
	for _, c := range []struct {
		env  map[string]string
		args []string
		want string // beginning of the message
	}{
		{nil, []string{"--delay=soon"}, "--delay: "},
		{nil, []string{"--delay"}, "--delay needs a value"},
		{nil, []string{"--scope=all"}, "--scope must be one of "},
		{map[string]string{"AMBLE_DELAY": "soon"}, nil, "environment AMBLE_DELAY: delay: "},
		{map[string]string{"AMBLE_SCOPE": "all"}, nil, "environment AMBLE_SCOPE: scope must be one of "},
		{nil, []string{"--config", path}, path + ":2: delay: takes one value, not a list"},
		{nil, []string{"--config", path + "x"}, "job file: open " + path + "x: "},
	} {
		_, _, err := parse(t, c.env, c.args...)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%v %q: %v, want %q", c.env, c.args, err, c.want)
		}
	}
}

func TestErrorsAreOfFlags(t *testing.T) {
	if err := Errors(nil); err != nil {
		t.Error(err)
	}
	err := Errors(errors.Join(errors.New("fetcher: too many"), &job.Error{Kind: job.Refused, Err: errors.New("job: refused")}))
	if err == nil || err.Error() != "too many\nrefused" || cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("%v, exit code %d", err, cli.ExitCode(err))
	}
	if err := Errors(&job.Error{Kind: job.Storage, Err: errors.New("full")}); cli.ExitCode(err) != cli.ExitOutput {
		t.Errorf("of storage: %v, exit code %d", err, cli.ExitCode(err))
	}
}

func TestUnknownVariables(t *testing.T) {
	_, o := parsed(t, nil)
	got := UnknownEnv(o.ctx.Model, []string{"AMBLE_CONFIG=x", "AMBLE_MAX_PAGES=1", "HOME=/", "AMBLE_MAXPAGES=1"})
	if want := []string{"environment variable AMBLE_MAXPAGES is not a setting (did you mean AMBLE_MAX_PAGES?)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
