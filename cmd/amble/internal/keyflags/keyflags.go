// Package keyflags makes the flags of the command amble from the table of keys in package job, and finds their values: on the command line,
// in the environment, in the job file that is named, and in the job that is resumed or explained.
//
// Reading order: flags.go (the flags), values.go and patterns.go (their values), env.go, keyflags.go (origins of values), errors.go,
// settings.go (the crawl that they describe).
package keyflags

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/mirror"
)

// Origins supplies kong with the values of flags that are not on the command line: from the environment, then from the job file, then from
// the job that is resumed. It records the origin of each value. It is for one command line, and is not safe for concurrent use.
type Origins struct {
	env  func(string) (string, bool)
	ctx  *kong.Context
	file *job.File         // job file named by the operator; nil if there is none
	job  *job.File         // file of the job that is resumed or explained; nil if there is none
	from map[string]string // origin of each value, by flag; nil until the first flag is resolved
	ours map[string]bool   // settings whose values come from the job
}

// New returns the Origins of one command line. env looks up environment variables, like os.LookupEnv.
func New(env func(string) (string, bool)) *Origins { return &Origins{env: env} }

// Parsed passes kong's parse result to o. Call Flags, Settings, Config, Origin and Given only afterwards.
func (o *Origins) Parsed(ctx *kong.Context) { o.ctx = ctx }

// Flags returns the flags of the given command.
func (o *Origins) Flags() []*kong.Flag { return o.ctx.Selected().Flags }

// File returns the named job file, nil if there is none.
func (o *Origins) File() *job.File { return o.file }

// Job returns the job file of the job that is resumed or explained, nil if there is none.
func (o *Origins) Job() *job.File { return o.job }

// Validate implements kong.Resolver. The job file is checked when it is read.
func (o *Origins) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (o *Origins) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	if OfInvocation(flag.Name) {
		return nil, nil
	}
	short, _ := job.ShorthandOf(flag.Name)
	if short != nil {
		if s, ok := givenShort(ctx, short, flag.Name); ok {
			o.from[flag.Name] = "flag"
			return o.value(flag, s.Values), nil
		}
	}
	if v, ok := o.env(envName(flag.Name)); ok && v != "" && (!o.ownJob(ctx) || isShown(flag.Name)) {
		o.from[flag.Name] = "environment " + envName(flag.Name)
		return o.value(flag, []string{v}), nil
	}
	if short != nil && !o.ownJob(ctx) {
		v, given := o.env(envName(short.Name))
		if s, ok := expanded(short, flag.Name, []string{v}); given && v != "" && ok {
			o.from[flag.Name] = "environment " + envName(short.Name)
			return o.value(flag, s.Values), nil
		}
	}
	s, isList, ok := o.file.Get(flag.Name)
	if !ok {
		s, isList, ok = o.kept(ctx, flag.Name)
		o.ours[flag.Name] = ok
	}
	if !ok {
		return nil, nil
	}
	o.from[flag.Name] = s.Origin
	if isList && !takesSeveral(flag) {
		return nil, errors.New("takes one value, not a list")
	}
	return o.value(flag, s.Values), nil
}

func (o *Origins) value(flag *kong.Flag, values []string) any {
	if takesSeveral(flag) {
		return below(values)
	}
	return values[0]
}

// ownJob reports whether the command takes settings only from its job and the command line, not from the environment.
func (o *Origins) ownJob(ctx *kong.Context) bool {
	n := ctx.Selected()
	name := CommandName(n)
	return name == "resume" || name == "explain" && o.job != nil
}

// CommandName returns the command at a node of the command line as typed, such as "cluster create"; "" if n is no command.
func CommandName(n *kong.Node) string {
	if n == nil || n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(CommandName(n.Parent) + " " + n.Name)
}

// kept returns the job's value for a flag that is a setting of the job. If the operator gives any scope rules, they replace all rules of
// the job.
func (o *Origins) kept(ctx *kong.Context, name string) (s job.Setting, isList, ok bool) {
	if k := job.KeyNamed(name); k == nil || k.Freedom == job.Shown || name == "rules" && o.givesRules(ctx) {
		return s, false, false
	}
	return o.job.Kept(name)
}

func (o *Origins) givesRules(ctx *kong.Context) bool {
	for _, p := range ctx.Path {
		if p.Flag != nil && isRule(p.Flag.Name) {
			return true
		}
	}
	for _, name := range ruleFlags {
		if v, ok := o.env(envName(name)); o.file.Has(name) || ok && v != "" && !o.ownJob(ctx) {
			return true
		}
	}
	return false
}

// load reads, once, the job file of --config or AMBLE_CONFIG and, if the command has a job directory, the file in it.
func (o *Origins) load(ctx *kong.Context) error {
	if o.from != nil {
		return nil
	}
	o.from, o.ours = map[string]string{}, map[string]bool{}
	if err := o.loadFile(ctx); err != nil {
		return err
	}
	dir := o.jobDir(ctx)
	if !job.Holds(dir) {
		return nil
	}
	r, err := job.Read(dir)
	if err != nil {
		return err
	}
	o.job, err = r.File()
	return errors.Join(err, r.Close())
}

// jobDir returns the job directory of the command, "" if it has none.
func (o *Origins) jobDir(ctx *kong.Context) string {
	switch CommandName(ctx.Selected()) {
	case "crawl", "check":
		return o.outFlag(ctx)
	case "resume", "explain":
		return firstArgument(ctx)
	case "mirror":
		args := arguments(ctx)
		if len(args) == 0 || strings.Contains(args[len(args)-1], "://") {
			return ""
		}
		dir, _ := LastCrawl(args[len(args)-1])
		return dir
	}
	return ""
}

// LastCrawl returns the job directory and number of the last crawl for a copy, which "amble mirror" keeps in dir; 0 if there is none.
func LastCrawl(dir string) (job string, number int) {
	crawls := filepath.Join(dir, mirror.OwnDir, "crawls")
	entries, _ := os.ReadDir(crawls) // no entries if the directory does not exist
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > number {
			number = n
		}
	}
	return filepath.Join(crawls, strconv.Itoa(number)), number
}

// outFlag returns the value of --out, from whatever origin.
func (o *Origins) outFlag(ctx *kong.Context) string {
	for _, f := range ctx.Flags() {
		if f.Name != "out" {
			continue
		}
		if dir, _ := ctx.FlagValue(f).(string); dir != "" {
			return dir
		}
	}
	if dir, _ := o.env(envName("out")); dir != "" {
		return dir
	}
	s, _, _ := o.file.Get("out")
	return s.Text()
}

// firstArgument is the first positional argument.
func firstArgument(ctx *kong.Context) string {
	if args := arguments(ctx); len(args) > 0 {
		return args[0]
	}
	return ""
}

// arguments returns the values of the first positional argument that has a value.
func arguments(ctx *kong.Context) []string {
	for _, p := range ctx.Path {
		if p.Positional == nil {
			continue
		}
		switch v := ctx.Value(p).Interface().(type) {
		case string:
			return []string{v}
		case []string:
			if len(v) > 0 {
				return v
			}
		}
	}
	return nil
}

func (o *Origins) loadFile(ctx *kong.Context) error {
	i := slices.IndexFunc(ctx.Flags(), func(f *kong.Flag) bool { return f.Name == "config" })
	if i < 0 {
		return nil
	}
	path, _ := ctx.FlagValue(ctx.Flags()[i]).(string)
	if path == "" {
		path, _ = o.env(envName("config"))
	}
	if path == "" {
		return nil
	}
	var err error
	if o.file, err = job.ReadFile(path); errors.Is(err, safefile.ErrTooLong) {
		err = &job.FileError{Err: fmt.Errorf("--config: %w", err)}
	}
	return err
}

// Origin returns the origin of a flag's value: "flag", "default", "environment NAME", or the file and its line.
func (o *Origins) Origin(flag string) string {
	for _, p := range o.ctx.Path {
		if p.Flag != nil && p.Flag.Name == flag && !p.Resolved {
			return "flag"
		}
	}
	if from, ok := o.from[flag]; ok {
		return from
	}
	return "default"
}

// Given reports whether the operator set the flag, by any means.
func (o *Origins) Given(flag string) bool { return o.Origin(flag) != "default" }
