//go:build !unix

package chromium

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

func lockFile(*os.File) error { return nil }

// confine says that there is no rendering here: the browser's pipe needs inherited file descriptors.
func confine(*exec.Cmd, Isolation, *user) error {
	return &Error{reasonBrowser, "rendering needs a Unix system", nil}
}

func confined(int, Isolation) error { return errors.ErrUnsupported }

func killAll(p *os.Process) { _ = p.Kill() }

func smallShm() bool { return false }

func memory(int) (total int64, largest int, size int64) { return 0, 0, 0 }

// renderers are unknown here.
func renderers(int) []int { return nil }

// cpu is unknown here.
func cpu(int) time.Duration { return -1 }
