package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// versionCmd is "amble version".
type versionCmd struct{}

// Help returns the beginning of the command's help.
func (*versionCmd) Help() string {
	return `Examples:

	amble version
	amble version | head -1
	amble --version`
}

// Run prints the version and, if the build recorded it, the source revision.
func (*versionCmd) Run(a *app) error { return printVersion(a.out) }

// versionFlag is --version.
type versionFlag bool

// BeforeReset implements kong's hook.
func (versionFlag) BeforeReset(k *kong.Kong, a *app) error {
	if err := printVersion(a.out); err != nil {
		return err
	}
	k.Exit(cli.ExitDone)
	return nil
}

func printVersion(w io.Writer) error {
	text := fmt.Sprintf("amble %s\n", crawler.Version)
	if info, ok := debug.ReadBuildInfo(); ok {
		text += buildText(info)
	}
	_, err := fmt.Fprintf(w, "%s  platform  %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func vcsOf(info *debug.BuildInfo) map[string]string {
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	return vcs
}

func buildText(info *debug.BuildInfo) string {
	text := "  module    " + info.Main.Path
	if v := info.Main.Version; v != "(devel)" { // release archives have a version here, since they are built without version control
		text += " " + v
	}
	text += "\n"
	vcs := vcsOf(info)
	if vcs["vcs.revision"] != "" {
		text += fmt.Sprintf("  revision  %s of %s", vcs["vcs.revision"], vcs["vcs.time"])
		if vcs["vcs.modified"] == "true" {
			text += ", with changes"
		}
		text += "\n"
	}
	return text
}
