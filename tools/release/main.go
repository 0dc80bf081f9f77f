// Command release makes the files of a release, with SHA256SUMS: an archive for each system, packages for Debian and Fedora, images for
// containers, a formula for Homebrew and a manifest for Scoop:
//
//	go run ./tools/release -o dist
//
// An archive has the command, LICENSE, README and the documents to which it links, completions, the licences of all linked modules, and
// BUILD. BUILD explains how to make the same bytes again: with the same source and the same Go, they do not depend on the machine, the
// directory or the time.
//
// Reading order: main.go, build.go, documents.go, licenses.go, archive.go, packages.go, image.go, managers.go.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "dist", "`directory` to make, which must not exist")
	only := flag.String("only", "", "`targets` to build, such as linux/amd64,windows/arm64 (all)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes the archives of the module in the current directory. The output directory has another name until all are made.
func run(ctx context.Context, out, only string) error {
	list, err := chosen(only)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists: name another directory with -o, or remove it", out)
	}
	at, err := sourceTime(ctx)
	if err != nil {
		return err
	}
	part := filepath.Clean(out) + ".part"
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	if err := makeAll(ctx, part, list, at); err != nil {
		return fmt.Errorf("%w (what was made is in %s)", err, part)
	}
	return os.Rename(part, out)
}

// makeAll makes all files of the release in dir: archives, packages and images of the targets, recipes of package managers, and SHA256SUMS.
func makeAll(ctx context.Context, dir string, list []target, at time.Time) error {
	work, err := os.MkdirTemp("", "amble-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	common, err := commonFiles(ctx, work)
	if err != nil {
		return err
	}
	sums := map[string]string{} // hashes by file name
	write := func(name string, b []byte, err error) error {
		if err != nil {
			return err
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(b))
		fmt.Printf("%s  %s\n", sums[name], name)
		return os.WriteFile(filepath.Join(dir, name), b, 0o644)
	}
	for _, t := range list {
		own, err := t.files(ctx, filepath.Join(work, t.os+"-"+t.arch))
		if err != nil {
			return err
		}
		files := append(own, common...)
		b, err := t.archive(t.name(), files, at)
		if err := write(t.name()+t.ending(), b, err); err != nil {
			return err
		}
		if t.os != "linux" {
			continue
		}
		for format := range packageFormats {
			b, err := t.systemPackage(format, files, at, filepath.Join(work, "files"))
			if err := write(t.name()+"."+format, b, err); err != nil {
				return err
			}
		}
		b, err = t.image(files, at)
		if err := write(t.name()+".image.tar", b, err); err != nil {
			return err
		}
	}
	for name, recipe := range map[string]func(map[string]string) ([]byte, error){"amble.rb": formula, "amble.json": manifest} {
		b, err := recipe(sums)
		if errors.Is(err, errNotMade) {
			fmt.Printf("%s is left out: %v\n", name, err)
			continue
		}
		if err := write(name, b, err); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(text.String()), 0o644)
}

// chosen returns the targets in a list separated by commas; all targets for "".
func chosen(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	var list []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %s: want some of %v", name, targets)
		}
		list = append(list, targets[i])
	}
	return list, nil
}
