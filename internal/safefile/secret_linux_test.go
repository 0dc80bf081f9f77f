package safefile_test

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/safefile"
)

// TestReadSecretReadsWhatRootLends reads secrets as Kubernetes mounts them for a user other than root, and systemd
// credentials.
func TestReadSecretReadsWhatRootLends(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can lend files to another user")
	}
	const user = 65532
	const path = "token"
	t.Chdir(t.TempDir()) // the other user cannot reach the directory by its absolute path
	if err := errors.Join(os.WriteFile(path, []byte("s3cret"), 0o600), os.Chown(path, 0, user)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		for _, call := range []uintptr{syscall.SYS_SETRESGID, syscall.SYS_SETRESUID} {
			if _, _, errno := syscall.RawSyscall(call, user, user, 0); errno != 0 {
				t.Error(errno)
				return
			}
		}
		for mode, want := range map[os.FileMode]error{0o440: nil, 0o640: nil, 0o444: safefile.ErrShared, 0o460: safefile.ErrShared} {
			become(t, 0)
			err := os.Chmod(path, mode)
			become(t, user)
			if err != nil {
				t.Error(err)
			}
			if b, err := safefile.ReadSecret(path, safefile.Token); !errors.Is(err, want) || err == nil && string(b) != "s3cret" {
				t.Errorf("mode %04o: %q, %v, want %v", mode, b, err, want)
			}
		}
	}()
	<-done
}

// become sets the effective user of this thread. The saved user stays root.
func become(t *testing.T, user uintptr) {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), user, ^uintptr(0)); errno != 0 {
		t.Error(errno)
	}
}
