package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/completion"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
)

// completionCmd is "amble completion".
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the beginning of the command's help.
func (*completionCmd) Help() string {
	return `Examples:

	source <(amble completion bash)
	amble completion zsh >"${fpath[1]}/_amble"
	amble completion fish >~/.config/fish/completions/amble.fish`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error { return a.printCompletion(c.Shell) }

// completionFlag is --completion.
type completionFlag string

// BeforeReset implements kong's hook, which runs before the check for a missing command.
func (completionFlag) BeforeReset(ctx *kong.Context, k *kong.Kong, a *app) error {
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Flag.Name != "completion" {
			continue
		}
		shell := fmt.Sprint(ctx.FlagValue(p.Flag))
		if !slices.Contains([]string{"bash", "zsh", "fish"}, shell) {
			return cli.Usage("--completion: %q is none of bash, zsh and fish", shell)
		}
		if err := a.printCompletion(shell); err != nil {
			return err
		}
		k.Exit(cli.ExitDone)
	}
	return nil
}

func (a *app) printCompletion(shell string) error {
	all := *a
	all.all = true
	k, err := all.parser("", keyflags.New(a.env))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, completion.Script(shell, k.Model))
	return err
}
