package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
)

// originTracker gives kong the values of flags that the command line leaves out: from the
// environment, then from the job file. It remembers where each value came from.
type originTracker struct {
	env  func(string) (string, bool)
	path string
	file map[string]any
	ctx  *kong.Context
	from map[string]string
}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "AMBLE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate implements kong.Resolver: a key of the job file that is no flag of any command is an
// error, since it would silently do nothing.
func (o *originTracker) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, cmd := range app.Leaves(true) {
		for _, group := range cmd.AllFlags(true) {
			for _, f := range group {
				known[f.Name] = true
			}
		}
	}
	var unknown []string
	for k := range o.file {
		if !known[k] || k == "config" || k == "help" {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("%s: unknown key %s: the keys are the names of the flags of \"amble crawl\"", o.path, strings.Join(unknown, ", "))
}

// Resolve implements kong.Resolver.
func (o *originTracker) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" || flag.Name == "config" {
		return nil, nil
	}
	if v, ok := o.env(envName(flag.Name)); ok {
		o.note(flag.Name, "environment "+envName(flag.Name))
		return v, nil
	}
	v, ok := o.file[flag.Name]
	if !ok {
		return nil, nil
	}
	o.note(flag.Name, "file "+o.path)
	if list, ok := v.([]any); ok {
		return joinList(list), nil
	}
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return fmt.Sprint(v), nil
}

func (o *originTracker) note(flag, origin string) {
	if o.from == nil {
		o.from = map[string]string{}
	}
	o.from[flag] = origin
}

// joinList writes a YAML list as kong splits it again.
func joinList(list []any) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = strings.ReplaceAll(fmt.Sprint(v), ",", "\\,")
	}
	return strings.Join(parts, ",")
}

// origin is where the value of a flag came from.
func (o *originTracker) origin(flag string) string {
	for _, p := range o.ctx.Path {
		if p.Flag != nil && p.Flag.Name == flag {
			return "flag"
		}
	}
	if from, ok := o.from[flag]; ok {
		return from
	}
	return "default"
}

// configFile is the --config flag: the job file is read before any other flag is resolved.
type configFile string

// BeforeResolve implements kong's hook.
func (c configFile) BeforeResolve(ctx *kong.Context, trace *kong.Path, o *originTracker) error {
	path, _ := ctx.FlagValue(trace.Flag).(configFile)
	if path == "" {
		return nil
	}
	o.path = string(path)
	b, err := os.ReadFile(o.path)
	if err != nil {
		return fmt.Errorf("job file: %w", err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&o.file); err != nil {
		return fmt.Errorf("job file %s: %w", o.path, err)
	}
	return o.Validate(ctx.Model)
}

// print writes every flag of the selected command with its value and origin, as a job file.
func (a *app) printConfig(o *originTracker) error {
	for _, f := range o.ctx.Flags() {
		if f.Name == "help" || f.Name == "config" || f.Name == "print-config" {
			continue
		}
		b, err := yaml.Marshal(map[string]any{f.Name: f.Target.Interface()})
		if err != nil {
			return err
		}
		lines := strings.SplitN(strings.TrimRight(string(b), "\n"), "\n", 2)
		fmt.Fprintf(a.out, "%-40s # %s\n", lines[0], o.origin(f.Name))
		if len(lines) > 1 {
			fmt.Fprintln(a.out, lines[1])
		}
	}
	return nil
}
