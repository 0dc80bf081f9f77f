// Package quicktmp puts the temporary files of tests into memory. Tests of stores and of outputs write and sync thousands of
// small files, and a disk makes them wait for most of their time; what they check does not depend on it.
//
// It also gives the tests a state directory that is not the user's: what jobs share on a machine ([crawler.Config.ShareMachine]).
//
// A package's TestMain calls [Use], and [Waiting] if its tests wait for something else.
//
// TMPDIR, if it is set, decides as always: TMPDIR=/tmp go test ./... is a run on the disk.
package quicktmp

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Use makes a directory in memory the one for temporary files, of this process and of those it starts, if this machine has one
// with enough room and nothing else was said.
func Use() {
	if dir := memory(); dir != "" && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", dir) // or the usual place remains
	}
	state := filepath.Join(os.TempDir(), "amble-test-state-")
	left, _ := filepath.Glob(state + "*") // the pattern is valid
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir) // of a process that has ended
		}
	}
	_ = os.Setenv("AMBLE_STATE", fmt.Sprint(state, os.Getpid())) // it never fails for such a name
}
