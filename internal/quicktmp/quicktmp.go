// Package quicktmp puts the temporary files of tests into memory. Tests of stores and of outputs write and sync thousands of small files,
// and would spend most of their time waiting for a disk; their checks do not depend on it.
//
// It also gives the tests a separate state directory, which the jobs on a machine share ([crawler.Config.ShareMachine]).
//
// A package's TestMain calls [Use], and [Waiting] if its tests mostly wait.
//
// TMPDIR, if it is set, takes precedence: TMPDIR=/tmp go test ./... is a run on the disk.
package quicktmp

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Use makes a directory in memory the directory for temporary files of this process and of its child processes, if there is one with
// enough space and TMPDIR is not set.
func Use() {
	if dir := memory(); dir != "" && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", dir) // after an error, the default directory is used
	}
	state := filepath.Join(os.TempDir(), "amble-test-state-")
	left, _ := filepath.Glob(state + "*") // the pattern is valid
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(dir) // dir is from a process that has ended
		}
	}
	_ = os.Setenv("AMBLE_STATE", fmt.Sprint(state, os.Getpid())) // Setenv never fails for such a name
}
