package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/amble-crawler/amble/crawler"
)

// user is the user ID of the processes in the image. It owns the folders of the image's volumes.
const user = 65532

// imageConfig is the configuration of the image. It must agree with the Dockerfile.
var imageConfig = v1.Config{
	User: "65532:65532", WorkingDir: "/crawls", Volumes: map[string]struct{}{"/crawls": {}},
	Env: []string{"TMPDIR=/crawls", "AMBLE_STATE=/crawls/.amble"}, Entrypoint: []string{"/amble"},
	Labels: map[string]string{
		"org.opencontainers.image.title": "amble", "org.opencontainers.image.description": summary, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source": source, "org.opencontainers.image.version": crawler.Version,
	},
}

// image returns the container image, in the format of docker load and podman load. It is made without a daemon. Its root certificates are
// Mozilla's and not those of a Linux distribution, so that the image has the same bytes on every machine.
func (t target) image(files []file, at time.Time) ([]byte, error) {
	content, err := imageFiles(files, at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	config.OS, config.Architecture, config.Config, config.Created = t.os, t.arch, imageConfig, v1.Time{Time: at}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	tag, err := name.NewTag("amble:" + crawler.Version)
	if err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, image, &b); err != nil {
		return nil, fmt.Errorf("image for %s: %w", t, err)
	}
	return b.Bytes(), nil
}

// imageFiles returns the only layer of the image: the command, root certificates, the folders of volumes, and licences.
func imageFiles(list []file, at time.Time) ([]byte, error) {
	files := []file{{"etc/ssl/certs/ca-certificates.crt", rootCertificates(), 0o644}}
	for _, f := range list {
		switch {
		case f.name == "amble":
			files = append(files, f)
		case f.name == "LICENSE" || strings.HasPrefix(f.name, "licenses/"):
			files = append(files, file{path.Join("usr/share/doc/amble", f.name), f.data, f.mode})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range []string{"crawls/", "engine/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, Uid: user, Gid: user, ModTime: at}); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at}); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return b.Bytes(), w.Close()
}

// rootCertificates returns the certificates of the authorities that Mozilla trusts for every name and date.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // the file format has no constraints on names or dates
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}
