package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// target is a system for which a release is built.
type target struct{ os, arch string }

var targets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// String returns the target in Go's notation.
func (t target) String() string { return t.os + "/" + t.arch }

// program returns the file name of the command.
func (t target) program() string {
	if t.os == "windows" {
		return "amble.exe"
	}
	return "amble"
}

// env returns the environment variables of a build. It sets all variables that would change the bytes of the result.
func (t target) env() []string {
	return append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOEXPERIMENT=", "GOWORK=off", "GOTOOLCHAIN=local")
}

// buildArgs are the arguments of go build. The binary contains no paths, and no information from git: that would differ between a clone, a
// clone with tags and an unpacked archive of the same source, and the version is enough. Symbols are left out because of their size; panics
// show functions and lines even without them.
var buildArgs = []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}

// build builds the command from the module in the directory src, and writes it to the file to.
func (t target) build(ctx context.Context, src, to string) error {
	cmd := exec.CommandContext(ctx, "go", append(buildArgs, "-o", to, "./cmd/amble")...)
	cmd.Dir, cmd.Env = src, t.env()
	return silent(cmd)
}

// files builds the command, and returns the files of the archive that are specific to the target.
func (t target) files(ctx context.Context, work string) ([]file, error) {
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	bin := filepath.Join(work, t.program())
	if err := t.build(ctx, ".", bin); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		return nil, err
	}
	files := []file{{t.program(), b, 0o755}, {"BUILD", []byte(t.recipe()), 0o644}}
	licences, err := t.licences(ctx, ".")
	return append(files, licences...), err
}

// recipe describes how to build the archive's command again.
func (t target) recipe() string {
	return fmt.Sprintf(`amble %s for %s

Built with %s from the source of version %s by

    CGO_ENABLED=0 GOOS=%s GOARCH=%s go build -trimpath -buildvcs=false -ldflags='-s -w' ./cmd/amble

The same Go makes the same bytes of the same source, on every machine.
`, crawler.Version, t, runtime.Version(), crawler.Version, t.os, t.arch)
}

// commonFiles returns the files that are the same in all archives.
func commonFiles(ctx context.Context, work string) ([]file, error) {
	files, err := documents(".")
	if err != nil {
		return nil, err
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	bin := filepath.Join(work, here.program())
	if err := here.build(ctx, ".", bin); err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{"bash": "amble.bash", "zsh": "_amble", "fish": "amble.fish"} {
		cmd := exec.CommandContext(ctx, bin, "--completion", shell)
		b, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("completion %s: %w", shell, err)
		}
		files = append(files, file{"completions/" + name, b, 0o644})
	}
	return files, nil
}

// sourceTime returns the time that all files in archives get: SOURCE_DATE_EPOCH, or the time of the last commit.
func sourceTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		b, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, errors.New("the time of the source is not known: there is no git checkout here; set SOURCE_DATE_EPOCH to it, in seconds of Unix time")
		}
		text = strings.TrimSpace(string(b))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is no number of seconds", text)
	}
	return time.Unix(n, 0).UTC(), nil
}

// silent runs cmd. If it fails, the error has its output.
func silent(cmd *exec.Cmd) error {
	var says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &says, &says
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, says.Bytes())
	}
	return nil
}
