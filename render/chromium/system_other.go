//go:build !unix

package chromium

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

func lockFile(*os.File) error { return nil }

// confine returns an error: rendering needs file descriptors that the browser inherits, for its pipes.
func confine(*exec.Cmd, Isolation, *user) error {
	return &Error{reasonBrowser, "rendering needs a Unix system", nil}
}

func confined(int, Isolation) error { return errors.ErrUnsupported }

func killAll(p *os.Process) { _ = p.Kill() }

func smallShm() bool { return false }

func memory(int) (total int64, largest int, size int64) { return 0, 0, 0 }

// renderers returns nil. Only Linux tells which processes render pages.
func renderers(int) []int { return nil }

// cpu returns -1, which means unknown. Only on Linux is the processor time of another process known.
func cpu(int) time.Duration { return -1 }
