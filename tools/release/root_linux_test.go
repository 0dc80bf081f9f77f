package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestBareRoot runs the command as its container does: without privileges, below a root that has the command, certificates and a
// folder for crawls, and nothing else.
func TestBareRoot(t *testing.T) {
	if !*build {
		t.Skip("-release.build is not given")
	}
	dir := t.TempDir()
	bare := filepath.Join(dir, "root")
	err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(filepath.Join(bare, "crawls"), 0o755), os.Chmod(filepath.Join(bare, "crawls"), 0o777))
	if err = errors.Join(err, target{"linux", "amd64"}.build(t.Context(), root, filepath.Join(bare, "amble"))); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>A page</title>")
	}))
	defer site.Close()
	inside(t, bare, "version")
	inside(t, bare, "demo", "-q")
	inside(t, bare, "crawl", "-q", "-o", "/crawls/job", "--archive", site.URL+"/")
	inside(t, bare, "verify", "/crawls/job")
	inside(t, bare, "report", "/crawls/job")
	inside(t, bare, "export", "/crawls/job", "--to", "sqlite", "-o", "/crawls/job.db")
}

// inside runs the command below a root, as a user without privileges.
func inside(t *testing.T, bare string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/amble", args...)
	cmd.Dir, cmd.Env = "/crawls", []string{"TMPDIR=/crawls"} // as in the Dockerfile
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: bare, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if os.Getuid() != 0 { // in a namespace where this user is root as far as chroot needs it
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.Credential.NoSetGroups = true
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this machine permits no other root: ", err)
	}
	if err != nil {
		t.Fatalf("amble %v: %v\n%s", args, err, out)
	}
}
