package main

import (
	"runtime/debug"
	"testing"
)

// TestBuildText checks that a binary reports what it knows about its build, and that a build without a checkout, such as a release, is not
// called a development version.
func TestBuildText(t *testing.T) {
	for _, c := range []struct {
		version string
		vcs     []debug.BuildSetting
		want    string
	}{
		{"(devel)", nil, "  module    example.org/m\n"},
		{"v0.2.0", nil, "  module    example.org/m v0.2.0\n"},
		{"v0.2.0", []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-24T00:00:00Z"}, {Key: "vcs.modified", Value: "true"}},
			"  module    example.org/m v0.2.0\n  revision  abc of 2026-11-24T00:00:00Z, with changes\n"},
	} {
		if got := buildText(&debug.BuildInfo{Main: debug.Module{Path: "example.org/m", Version: c.version}, Settings: c.vcs}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
