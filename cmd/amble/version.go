package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/amble-crawler/amble/crawler"
)

type versionCmd struct{}

// Run prints the version, and what the binary was built from as far as the build recorded it.
func (versionCmd) Run(a *app) error {
	fmt.Fprintf(a.out, "amble %s %s %s/%s", crawler.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				fmt.Fprintf(a.out, " %s", s.Value)
			case "vcs.modified":
				if s.Value == "true" {
					fmt.Fprint(a.out, "+changes")
				}
			}
		}
	}
	fmt.Fprintln(a.out)
	return nil
}
