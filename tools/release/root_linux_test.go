package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestInstalled installs each package, and unpacks the image, below a root that is otherwise empty, and runs the command there as a user
// without privileges. A package that is then removed must leave no files.
func TestInstalled(t *testing.T) {
	if !*build {
		t.Skip("-release.build is not given")
	}
	dist := filepath.Join(t.TempDir(), "dist")
	t.Chdir(root)
	here := target{"linux", runtime.GOARCH}
	if err := run(t.Context(), dist, here.String()); err != nil {
		t.Fatal(err)
	}
	made := func(ending string) string { return filepath.Join(dist, here.name()+ending) }
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>A page</title>")
	}))
	defer site.Close()

	t.Run("deb", func(t *testing.T) {
		bare := bareRoot(t, "crawls", "var/lib/dpkg/info", "var/lib/dpkg/updates")
		program(t, "dpkg", "--root="+bare, "--force-not-root", "--log=/dev/null", "-i", made(".deb"))
		inside(t, bare, "/usr/bin/amble", "version")
		program(t, "dpkg", "--root="+bare, "--force-not-root", "--log=/dev/null", "--purge", "amble")
		removed(t, bare)
	})
	t.Run("rpm", func(t *testing.T) {
		bare := bareRoot(t, "crawls")
		program(t, "rpm", "--root="+bare, "--nodeps", "-i", made(".rpm"))
		inside(t, bare, "/usr/bin/amble", "version")
		program(t, "rpm", "--root="+bare, "-e", "amble")
		removed(t, bare)
	})
	t.Run("image", func(t *testing.T) {
		bare := bareRoot(t)
		unpackImage(t, made(".image.tar"), bare)
		inside(t, bare, "/amble", "version")
		inside(t, bare, "/amble", "demo", "-q")
		inside(t, bare, "/amble", "crawl", "-q", "-o", "/crawls/job", "--archive", site.URL+"/")
		inside(t, bare, "/amble", "verify", "/crawls/job")
		inside(t, bare, "/amble", "show", "/crawls/job")
		inside(t, bare, "/amble", "export", "/crawls/job", "--to", "sqlite", "-o", "/crawls/job.db")
	})
}

// bareRoot returns an empty folder with the given subfolders. Every user may write to the subfolders, and may enter their parent folders.
func bareRoot(t *testing.T, dirs ...string) string {
	t.Helper()
	dir := t.TempDir()
	err := os.Chmod(dir, 0o755)
	for _, name := range dirs {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o755), os.Chmod(filepath.Join(dir, name), 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// program runs a program of this system, or skips the test if it is not installed.
func program(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip(err)
	}
	if os.Getuid() != 0 {
		t.Skipf("%s installs as root alone", name)
	}
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// removed checks that no files of the package are left below a root.
func removed(t *testing.T, bare string) {
	t.Helper()
	err := filepath.WalkDir(bare, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(d.Name(), "amble") {
			t.Errorf("%s is left", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// unpackImage unpacks the layer of an image, with the owners of its files if this user may set owners. It checks that the image runs with
// the settings of the Dockerfile.
func unpackImage(t *testing.T, path, to string) {
	t.Helper()
	image, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ = bytes.Cut(recipe, []byte("FROM scratch"))
	c := config.Config
	var want []string
	for _, env := range c.Env {
		want = append(want, "ENV "+env)
	}
	want = append(want, "USER "+c.User, "WORKDIR "+c.WorkingDir, `ENTRYPOINT ["`+c.Entrypoint[0]+`"]`)
	for volume := range c.Volumes {
		want = append(want, "VOLUME "+volume)
	}
	for _, line := range want {
		if !bytes.Contains(recipe, []byte("\n"+line+"\n")) {
			t.Errorf("the Dockerfile has no line %q", line)
		}
	}
	for _, verb := range []string{"ENV ", "USER ", "WORKDIR ", "ENTRYPOINT ", "VOLUME "} {
		for line := range bytes.Lines(recipe) {
			if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte(verb)) && !slices.Contains(want, string(line)) {
				t.Errorf("the image does not have %q", line)
			}
		}
	}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(to, filepath.FromSlash(h.Name)) // safe, because this test has built the image
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(p, 0o755)
		} else {
			var b []byte
			b, err = io.ReadAll(r)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, b, h.FileInfo().Mode()))
		}
		if err == nil && h.Uid != 0 {
			if err = os.Chown(p, h.Uid, h.Gid); errors.Is(err, syscall.EPERM) {
				err = os.Chmod(p, 0o777) // because another user runs the command inside
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inside runs the command below a root as a user without privileges.
func inside(t *testing.T, bare string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/crawls", imageConfig.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: bare, Credential: &syscall.Credential{Uid: user, Gid: user}}
	if os.Getuid() != 0 { // use a namespace in which this user may call chroot
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
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}
