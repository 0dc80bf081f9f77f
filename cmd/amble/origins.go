package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// origins gives kong the values of flags that the command line leaves out: from the environment,
// then from the job file. It remembers where each value came from.
type origins struct {
	env  func(string) (string, bool)
	ctx  *kong.Context
	file *jobFile // nil until the first flag is resolved
	from map[string]string
}

// below is the value of a flag that takes several, from under the command line.
type below []string

// unkeyed are flags that are about one invocation, and so neither variables nor keys.
var unkeyed = []string{"help", "version", "config", "print-config"}

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
	if v, ok := o.env(envName(flag.Name)); ok && v != "" {
		o.from[flag.Name] = "environment " + envName(flag.Name)
		return o.value(flag, []string{v}), nil
	}
	e, ok := o.file.entries[flag.Name]
	if !ok {
		return nil, nil
	}
	o.from[flag.Name] = o.file.at(e.line)
	if e.list && !takesSeveral(flag) {
		return nil, errors.New("takes one value, not a list")
	}
	return o.value(flag, e.values), nil
}

func (o *origins) value(flag *kong.Flag, values []string) any {
	if takesSeveral(flag) {
		return below(values)
	}
	return values[0]
}

func takesSeveral(flag *kong.Flag) bool {
	switch flag.Target.Interface().(type) {
	case patterns, prefixes, words:
		return true
	}
	return false
}

// load reads the job file that --config or AMBLE_CONFIG names, once, if the command takes one.
func (o *origins) load(ctx *kong.Context) error {
	if o.file != nil {
		return nil
	}
	o.file, o.from = &jobFile{}, map[string]string{}
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
	o.file, err = readJobFile(path, jobKeys(ctx.Model))
	return err
}

// jobKeys are the keys of a job file: the flags of "amble crawl", and the seeds themselves.
func jobKeys(app *kong.Application) []string {
	keys := []string{keyURLs}
	for _, cmd := range app.Children {
		if cmd.Name != "crawl" {
			continue
		}
		for _, f := range cmd.Flags {
			if !slices.Contains(unkeyed, f.Name) {
				keys = append(keys, f.Name)
			}
		}
	}
	return keys
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

// given reports whether the operator set the flag, by whatever means.
func (o *origins) given(flag string) bool { return o.origin(flag) != "default" }

// parseError is the command that an error of kong's Parse is about, and what a person should read of it.
func (o *origins) parseError(err error) (command string, res error) {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if n := parse.Context.Selected(); n != nil {
			command = n.Name
		}
	}
	var job *jobError
	if errors.As(err, &job) {
		return command, &exitError{exitUsage, job}
	}
	return command, &exitError{exitUsage, errors.New(o.explain(err.Error(), command))}
}

// explain puts where a bad value came from in front of kong's message, and says what to do where
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
			return fmt.Sprintf("%s is no command: to crawl it say \"amble crawl %s\"", word, word)
		}
		return "unknown command " + word
	}
	return msg
}

// warnUnknownEnv tells of variables that look like settings and are none. They are no error: another
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
			fmt.Fprintf(a.err, "amble: warning: environment variable %s is no setting%s\n", name, didYouMean(name, known))
		}
	}
}
