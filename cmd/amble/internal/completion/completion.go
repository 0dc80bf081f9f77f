// Package completion generates completion scripts for shells from the model of the command.
//
// Reading order: completion.go, then a file for each shell.
package completion

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Script returns the completion script of an application for bash, zsh or fish, "" for other shells.
func Script(shell string, app *kong.Application) string {
	write := map[string]func([]shellCommand) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[shell]
	if write == nil {
		return ""
	}
	return write(shellCommands(app))
}

// shellCommand describes a command for completion.
type shellCommand struct {
	name, help string
	flags      []shellFlag
	words      []string // possible values of the command's argument
	job        bool     // whether the argument may be the name of a kept job
}

// keptNames is a shell command that prints the names of kept jobs, one per line. The names have no characters that are special in shells.
const keptNames = "amble jobs --names 2>/dev/null"

// shellFlag describes a flag for completion.
type shellFlag struct {
	long, short string // names without hyphens; short may be ""
	help        string
	value       string   // placeholder of the value; "" for a flag without a value
	words       []string // possible values, if they are words
	file        bool     // whether the value is a file
	dir         bool     // whether the value is a directory
}

func shellCommands(app *kong.Application) []shellCommand {
	var cmds []shellCommand
	for _, n := range app.Children {
		if n.Hidden {
			continue
		}
		c := shellCommand{name: n.Name, help: n.Help, job: n.Name == "jobs"}
		if c.job {
			c.words = []string{"rm"}
		}
		for _, arg := range n.Positional {
			c.words = append(c.words, enumOf(arg)...)
			c.job = c.job || arg.Tag.Type == "job" || arg.Tag.Type == "resumed"
		}
		subs := n.Leaves(true)
		for _, sub := range subs {
			c.words = append(c.words, sub.Name)
		}
		for _, sub := range append(subs, n) {
			for _, group := range sub.AllFlags(true) {
				for _, f := range group {
					c.add(shellFlagOf(f))
				}
			}
		}
		cmds = append(cmds, c)
	}
	return cmds
}

// add adds a flag unless there is already one with that name.
func (c *shellCommand) add(f shellFlag) {
	if !slices.ContainsFunc(c.flags, func(o shellFlag) bool { return o.long == f.long }) {
		c.flags = append(c.flags, f)
	}
}

func shellFlagOf(f *kong.Flag) shellFlag {
	s := shellFlag{long: f.Name, help: firstSentence(f.Help), words: enumOf(f.Value)}
	if words := f.Tag.Get("words"); words != "" {
		s.words = strings.Split(words, ",")
	}
	if f.Short != 0 {
		s.short = string(f.Short)
	}
	if !f.IsBool() {
		s.value = f.FormatPlaceHolder()
	}
	s.file, s.dir = s.value == "FILE", s.value == "DIR"
	return s
}

func enumOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// firstSentence returns the help text, cut to fit a menu.
func firstSentence(help string) string {
	s, _, _ := strings.Cut(help, ". ")
	s, _, _ = strings.Cut(s, "; ")
	return strings.TrimSuffix(s, ".")
}

// names returns the long and the short name of the flag, with hyphens.
func (f *shellFlag) names() []string {
	if f.short == "" {
		return []string{"--" + f.long}
	}
	return []string{"-" + f.short, "--" + f.long}
}

func commandNames(cmds []shellCommand) []string {
	names := make([]string, len(cmds))
	for i := range cmds {
		names[i] = cmds[i].name
	}
	return names
}

// valued returns the names, with hyphens, of the flags that pick selects.
func valued(flags []shellFlag, pick func(*shellFlag) bool) []string {
	var names []string
	for i := range flags {
		if pick(&flags[i]) {
			names = append(names, flags[i].names()...)
		}
	}
	return slices.Clip(names)
}
