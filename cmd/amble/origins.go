package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// origins gives kong the values of flags that the command line leaves out: from the environment,
// then from the job file, then from the job that is resumed. It remembers where each value came
// from.
type origins struct {
	env  func(string) (string, bool)
	ctx  *kong.Context
	file *job.File         // that the operator named; nil: none
	job  *job.File         // of the job that is resumed or explained; nil: none
	from map[string]string // nil until the first flag is resolved
}

// below is the value of a list flag that does not come from the command line.
type below []string

// unkeyed are flags that are about one invocation, and therefore neither variables nor keys.
var unkeyed = []string{"help", "version", "config", "print-config", "fresh", "retry"}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "AMBLE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate implements kong.Resolver. The job file is checked when it is read.
func (o *origins) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (o *origins) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	if slices.Contains(unkeyed, flag.Name) {
		return nil, nil
	}
	if v, ok := o.env(envName(flag.Name)); ok && v != "" && (!o.ownJob(ctx) || isShown(flag.Name)) {
		o.from[flag.Name] = "environment " + envName(flag.Name)
		return o.value(flag, []string{v}), nil
	}
	s, isList, ok := o.file.Get(flag.Name)
	if !ok {
		s, isList, ok = o.kept(ctx, flag.Name)
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

func (o *origins) value(flag *kong.Flag, values []string) any {
	if takesSeveral(flag) {
		return below(values)
	}
	return values[0]
}

func takesSeveral(flag *kong.Flag) bool {
	switch flag.Target.Interface().(type) {
	case patterns, words:
		return true
	}
	return false
}

// ownJob reports whether the settings of the command come from its job and the command line alone, and not from
// the environment.
func (o *origins) ownJob(ctx *kong.Context) bool {
	n := ctx.Selected()
	return n != nil && (n.Name == "resume" || n.Name == "explain" && o.job != nil)
}

// isShown reports whether a flag is about the output of this process.
func isShown(flag string) bool {
	k := job.KeyNamed(flag)
	return k != nil && k.Freedom == job.Shown && flag != "out" && flag != "seeds"
}

// kept is the value that the job has for a flag, if it is about the job. Scope rules that the operator gives replace all
// rules of the job.
func (o *origins) kept(ctx *kong.Context, name string) (s job.Setting, isList, ok bool) {
	if k := job.KeyNamed(name); k == nil || k.Freedom == job.Shown || name == "rules" && o.givesRules(ctx) {
		return s, false, false
	}
	return o.job.Kept(name)
}

func (o *origins) givesRules(ctx *kong.Context) bool {
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

// ruleFlags are the flags that scope rules come from, the weakest first.
var ruleFlags = []string{"rules", "include", "exclude"}

func isRule(flag string) bool { return slices.Contains(ruleFlags, flag) }

// load reads the job file that --config or AMBLE_CONFIG names, and that of the job directory, once,
// if the command takes one.
func (o *origins) load(ctx *kong.Context) error {
	if o.from != nil {
		return nil
	}
	o.from = map[string]string{}
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

// jobDir is the job directory that the command is about, "" if it is about none.
func (o *origins) jobDir(ctx *kong.Context) string {
	n := ctx.Selected()
	if n == nil {
		return ""
	}
	switch n.Name {
	case "crawl":
		return o.outFlag(ctx)
	case "resume", "explain":
		return firstArgument(ctx)
	}
	return ""
}

// outFlag is the value of --out, wherever it comes from.
func (o *origins) outFlag(ctx *kong.Context) string {
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
	for _, p := range ctx.Path {
		if p.Positional == nil {
			continue
		}
		switch v := ctx.Value(p).Interface().(type) {
		case string:
			return v
		case []string:
			if len(v) > 0 {
				return v[0]
			}
		}
	}
	return ""
}

func (o *origins) loadFile(ctx *kong.Context) error {
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
	o.file, err = job.ReadFile(path)
	return err
}

// origin is where the value of a flag came from.
func (o *origins) origin(flag string) string {
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

// given reports whether the operator set the flag, by any means.
func (o *origins) given(flag string) bool { return o.origin(flag) != "default" }

// parseError is the command that an error of kong's Parse is about, and the message for users.
func (o *origins) parseError(err error) (command string, res error) {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if n := parse.Context.Selected(); n != nil {
			command = n.Name
		}
	}
	var file *job.FileError
	if errors.As(err, &file) {
		return command, cli.Exit(cli.ExitUsage, file)
	}
	return command, cli.Exit(cli.ExitUsage, errors.New(o.explain(err.Error(), command)))
}

// explain prefixes kong's message with the origin of a bad value, and says what to do where
// kong does not.
func (o *origins) explain(msg, command string) string {
	if name, _, ok := strings.Cut(strings.TrimPrefix(msg, "--"), ":"); ok && o.from[name] != "" {
		return o.from[name] + ": " + strings.TrimPrefix(msg, "--")
	}
	if name, _, ok := strings.Cut(strings.TrimPrefix(msg, "--"), " must be one of"); ok && o.from[name] != "" {
		return o.from[name] + ": " + strings.TrimPrefix(msg, "--")
	}
	if name, what, ok := strings.Cut(msg, ": expected "); ok && strings.HasSuffix(what, `"EOL" (<EOL>)`) {
		return name + " needs a value"
	}
	if arg, ok := strings.CutPrefix(msg, "expected \""); ok {
		return "argument missing: " + strings.TrimSuffix(arg, "\"")
	}
	if word, ok := strings.CutPrefix(msg, "unexpected argument "); ok && command == "" {
		if strings.Contains(word, "://") {
			return fmt.Sprintf("%s is not a command: to crawl it say \"amble crawl %s\"", word, word)
		}
		return "unknown command " + word
	}
	return msg
}

// warnUnknownEnv warns about variables that look like settings and are not. They are not an error: another
// version of amble, or another program, may know them.
func (a *app) warnUnknownEnv(model *kong.Application) {
	known := []string{envName("config")}
	for _, cmd := range model.Children {
		for _, f := range cmd.Flags {
			known = append(known, envName(f.Name))
		}
	}
	for _, kv := range a.environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "AMBLE_") && !slices.Contains(known, name) {
			fmt.Fprintf(a.err, "amble: warning: environment variable %s is not a setting%s\n", name, cli.DidYouMean(name, known))
		}
	}
}
