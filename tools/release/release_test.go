package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// build makes TestSameBytesTwice and TestInstalled build the command, which takes minutes.
var build = flag.Bool("release.build", false, "build the command twice, once with an empty cache, and run it with nothing but its own files")

// root is the root folder of the module.
const root = "../.."

// TestLicences checks, for each system, that the licences of all modules linked into the packages, the command and the examples allow use
// and redistribution.
func TestLicences(t *testing.T) {
	allowed := []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense"}
	seen := map[string]bool{}
	for _, os := range []string{"linux", "darwin", "windows"} {
		list, err := target{os, "amd64"}.linkedModules(t.Context(), root, "./...")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			if seen[m.path] {
				continue
			}
			seen[m.path] = true
			files, err := m.licences()
			if err != nil {
				t.Error(err)
			}
			for _, f := range files {
				if kind := kindOf(f.data); kind != "" && !slices.Contains(allowed, kind) {
					t.Errorf("%s is under %s, which is not one of %v", f.name, kind, allowed)
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d modules found", len(seen))
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]string{
		"  Apache License\n  Version 2.0, January 2004":                                          "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person\nobtaining a copy":          "MIT",
		"Redistribution and use in source and binary forms … Neither the name of the":            "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without":                     "BSD-2-Clause",
		"GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3":                                           "GPL",
		"Mozilla Public License Version 2.0 … Secondary License: the GNU General Public License": "MPL-2.0",
		"All rights reserved.": "",
	} {
		if got := kindOf([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestArchivesAreTheSame makes archives of the same files twice, in another order and at another time, and checks that they are equal.
func TestArchivesAreTheSame(t *testing.T) {
	files := []file{{"b", []byte("two"), 0o644}, {"amble", []byte("program"), 0o755}, {"d/c", nil, 0o644}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, on := range []target{{"linux", "amd64"}, {"windows", "arm64"}} {
		one, err := on.archive("amble-1", files, at)
		other := slices.Clone(files)
		slices.Reverse(other)
		two, err2 := on.archive("amble-1", other, at.In(time.FixedZone("", 3600)))
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("%s: the archives differ", on)
		}
		if later, _ := on.archive("amble-1", files, at.Add(time.Hour)); bytes.Equal(one, later) {
			t.Errorf("%s: the time is not that of the source", on)
		}
		if _, err := on.archive("amble-1", append(other, file{name: "b"}), at); err == nil {
			t.Errorf("%s: two files of one name are accepted", on)
		}
	}
	b, err := target{"darwin", "arm64"}.archive("amble-1", files, at)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, b), "amble-1/amble -rwxr-xr-x program\namble-1/b -rw-r--r-- two\namble-1/d/c -rw-r--r-- \n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func listed(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.UTC().Hour() != 3 {
			t.Error(h, err)
		}
		s.WriteString(h.Name + " " + h.FileInfo().Mode().String() + " " + string(data) + "\n")
	}
}

// TestSameBytesTwice builds the command here, and in another directory with an empty cache, and checks that the binaries are equal.
func TestSameBytesTwice(t *testing.T) {
	if !*build {
		t.Skip("-release.build is not given")
	}
	here := target{"linux", "amd64"}
	other := filepath.Join(t.TempDir(), "a", "copy")
	copySource(t, other)
	var sums [2][32]byte
	for i, src := range []string{root, other} {
		if src == other {
			t.Setenv("GOCACHE", t.TempDir())
		}
		bin := filepath.Join(t.TempDir(), "amble")
		if err := here.build(context.Background(), src, bin); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(b)
		t.Logf("%x, %d bytes", sums[i], len(b))
	}
	if sums[0] != sums[1] {
		t.Error("the same source has made different bytes")
	}
}

// copySource copies the module's files that git tracks, and files that are new.
func copySource(t *testing.T, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(b), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) { // the removal is not yet committed
			continue
		}
		path := filepath.Join(to, name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}
