package main

import (
	"fmt"

	"github.com/amble-crawler/amble/cmd/amble/internal/completion"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
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
func (c *completionCmd) Run(a *app) error {
	all := *a
	all.all = true
	k, err := all.parser(newCommands(), keyflags.New(a.env))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.out, completion.Script(c.Shell, k.Model))
	return err
}
