//go:build unix

package safefile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/safefile"
)

func TestOpenRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", dir} {
		if _, err := safefile.Open(path); !errors.Is(err, safefile.ErrNotRegular) {
			t.Errorf("Open(%s): %v", path, err)
		}
		if _, err := safefile.OpenOwn(path); !errors.Is(err, safefile.ErrNotRegular) {
			t.Errorf("OpenOwn(%s): %v", path, err)
		}
	}
}

func TestOpenOwnRefusesSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	if f, err := safefile.OpenOwn(file); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}
	if _, err := safefile.OpenOwn(link); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestReadNamedReadsPipeUpToLimit(t *testing.T) {
	if _, err := safefile.ReadNamed("/dev/zero", 1000); err == nil || !strings.Contains(err.Error(), "/dev/zero is longer than 1000 bytes") {
		t.Errorf("an endless file: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	_, err = w.WriteString("one\n")
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if b, err := safefile.ReadSeedsFrom(r, "stdin"); err != nil || string(b) != "one\n" {
		t.Errorf("a pipe: %q, %v", b, err)
	}
}

func TestReadSecretRefusesFileThatOthersCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := safefile.ReadSecret(path, safefile.Token); err != nil || string(b) != "s3cret\n" {
		t.Errorf("mode 0600: %q, %v", b, err)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o606, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := safefile.ReadSecret(path, safefile.Token)
		if want := fmt.Sprintf("%s has mode %04o", path, mode); !errors.Is(err, safefile.ErrShared) || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}
