//go:build unix && !linux

package chromium

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// confine prepares the process of a browser. It has no namespaces, which only Linux has.
func confine(cmd *exec.Cmd, iso Isolation, as *user) error {
	if iso != Flags {
		return &Error{reasonIsolation, "a browser cannot be kept from the network by namespaces on " + runtime.GOOS +
			"; ask for isolation by flags if that is enough", nil}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(as.id), Gid: uint32(as.id)}
	}
	return nil
}

func confined(int, Isolation) error { return nil }

// killAll kills a browser's process group.
func killAll(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

func smallShm() bool { return false }

func memory(int) (total int64, largest int, size int64) { return 0, 0, 0 }

// renderers returns nil. Only Linux tells which processes render pages.
func renderers(int) []int { return nil }

// cpu returns -1, which means unknown. Only on Linux is the processor time of another process known.
func cpu(int) time.Duration { return -1 }
