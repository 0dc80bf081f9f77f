// Command changelog adds the files in changelog/unreleased, one for each change, to CHANGELOG.md:
//
//	go run ./tools/changelog                                     # prints what would be added
//	go run ./tools/changelog -version 0.2.0 -date 2026-12-01     # makes the section of a release, and removes the files
//
// changelog/README.md describes such a file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	folder = "changelog/unreleased"
	target = "CHANGELOG.md"
)

func main() {
	version := flag.String("version", "", "`number` of the release; without it nothing is written")
	date := flag.String("date", time.Now().UTC().Format(time.DateOnly), "`day` of the release")
	flag.Parse()
	if err := run(*version, *date); err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
}

func run(version, date string) error {
	list, err := readAll(folder)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	text, err := fold(string(old), list)
	if err != nil {
		return err
	}
	if version == "" {
		fmt.Print(strings.TrimPrefix(section(list), "\n"))
		return nil
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	if text, err = release(text, version, date); err != nil {
		return err
	}
	if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
		return err
	}
	for _, c := range list {
		err = errors.Join(err, os.Remove(filepath.Join(folder, c.name)))
	}
	return err
}
