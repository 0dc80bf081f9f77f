package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// sumsOfAll returns a checksum for the archive of each target.
func sumsOfAll() map[string]string {
	sums := map[string]string{}
	for i, t := range targets {
		sums[t.name()+t.ending()] = strings.Repeat(string(rune('a'+i)), 64)
	}
	return sums
}

// TestRecipesNameEachArchive checks that each package manager's recipe names the archive for each of its systems, with the checksum.
func TestRecipesNameEachArchive(t *testing.T) {
	sums := sumsOfAll()
	rb, err := formula(sums)
	scoop, err2 := manifest(sums)
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, on := range targets {
		recipe := rb
		if on.os == "windows" {
			recipe = scoop
		}
		_, after, found := bytes.Cut(recipe, []byte(on.download()+`"`))
		if sum := sums[on.name()+on.ending()]; !found || !bytes.Contains(after[:min(120, len(after))], []byte(sum)) {
			t.Errorf("%s is not followed by its sum in\n%s", on.download(), recipe)
		}
	}
	if !json.Valid(scoop) {
		t.Errorf("no JSON: %s", scoop)
	}
	if ruby, err := exec.LookPath("ruby"); err == nil {
		cmd := exec.CommandContext(t.Context(), ruby, "-wc")
		cmd.Stdin = bytes.NewReader(rb)
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "Syntax OK" {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestRecipesNeedAllArchives leaves out one archive at a time.
func TestRecipesNeedAllArchives(t *testing.T) {
	for _, on := range targets {
		sums := sumsOfAll()
		delete(sums, on.name()+on.ending())
		recipe := formula
		if on.os == "windows" {
			recipe = manifest
		}
		if _, err := recipe(sums); !errors.Is(err, errNotMade) {
			t.Errorf("without %s: %v", on, err)
		}
	}
}
