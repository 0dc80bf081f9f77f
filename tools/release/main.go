// Command release makes the archives of a release, one for each system, and SHA256SUMS over them:
//
//	go run ./tools/release -o dist
//
// An archive has the command, LICENSE, README and what it leads to, completions, the licences of everything that is linked in, and BUILD, which says how the
// same bytes are made again: with the same source and the same Go they do not depend on machine, directory or time.
//
// Reading order: main.go, build.go, documents.go, licenses.go, archive.go.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
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

// run makes the archives of the module in the current directory. Until all are made, the directory has another name.
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

// makeAll makes one archive for each target in dir, and SHA256SUMS.
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
	var sums strings.Builder
	for _, t := range list {
		name := "amble-" + crawler.Version + "-" + t.os + "-" + t.arch
		files, err := t.files(ctx, filepath.Join(work, t.os+"-"+t.arch))
		if err != nil {
			return err
		}
		b, err := t.archive(name, append(files, common...), at)
		if err != nil {
			return err
		}
		name += t.ending()
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
		line := fmt.Sprintf("%x  %s\n", sha256.Sum256(b), name)
		fmt.Print(line)
		sums.WriteString(line)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// chosen returns the targets in a list with commas, or all.
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
