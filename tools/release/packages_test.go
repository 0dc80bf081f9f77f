package main

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// TestPackagesAreTheSame builds packages and an image from the same files twice, in different folders, and checks that they are equal.
func TestPackagesAreTheSame(t *testing.T) {
	files := []file{
		{"amble", []byte("program"), 0o755}, {"completions/_amble", []byte("zsh"), 0o644}, {"LICENSE", []byte("text"), 0o644},
		{"licenses/go/LICENSE", []byte("text"), 0o644},
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	on := target{"linux", "arm64"}
	makers := map[string]func(at time.Time) ([]byte, error){
		"image": func(at time.Time) ([]byte, error) { return on.image(files, at) },
	}
	for format := range packageFormats {
		makers[format] = func(at time.Time) ([]byte, error) { return on.systemPackage(format, files, at, t.TempDir()) }
	}
	for what, maker := range makers {
		one, err := maker(at)
		if err != nil {
			t.Fatal(err)
		}
		two, err := maker(at)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one, two) {
			t.Errorf("%s: the same files have made different bytes", what)
		}
		if later, err := maker(at.Add(time.Hour)); err != nil || bytes.Equal(one, later) {
			t.Errorf("%s: the time is not that of the source: %v", what, err)
		}
	}
}

// TestRootCertificates checks that programs in the image trust certificate authorities, by reading the file as Go does.
func TestRootCertificates(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(rootCertificates()) {
		t.Fatal("no certificates")
	}
	if n := bytes.Count(rootCertificates(), []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d certificates", n)
	}
}
