package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format

	"github.com/amble-crawler/amble/crawler"
)

const summary = "polite recursive web crawler that proves how politely it crawled"

const description = `It obeys robots.txt, keeps to a pace for each host, and writes a ledger of
every request, which an independent checker reads. A crawl survives a kill at
any instant.`

// copyright is the copyright file that Debian's policy requires.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: amble
Source: ` + source + `

Files: *
Copyright: the authors of amble
License: Apache-2.0
 The text of the license is in /usr/share/common-licenses/Apache-2.0. Those of
 the modules that are linked into the command are below licenses/, beside this
 file.
`

// packageFormats has the package formats of Debian and Fedora, each with the directory for completions of zsh.
var packageFormats = map[string]string{"deb": "/usr/share/zsh/vendor-completions", "rpm": "/usr/share/zsh/site-functions"}

// installed returns the path at which a package installs a file of the archive.
func installed(format, name string) string {
	switch name {
	case "amble":
		return "/usr/bin/amble"
	case "completions/amble.bash":
		return "/usr/share/bash-completion/completions/amble"
	case "completions/_amble":
		return packageFormats[format] + "/_amble"
	case "completions/amble.fish":
		return "/usr/share/fish/vendor_completions.d/amble.fish"
	}
	return path.Join("/usr/share/doc/amble", name)
}

// systemPackage returns the package of the target in a format, with the files of its archive. It writes the files to the directory work,
// because the library reads them from disk.
func (t target) systemPackage(format string, list []file, at time.Time, work string) ([]byte, error) {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "amble", Arch: t.arch, Platform: t.os, Version: crawler.Version, Release: "1", Section: "web", Priority: "optional",
		Maintainer: "amble <" + source + ">", Homepage: source, License: "Apache-2.0", Vendor: "amble", MTime: at,
		Description: description, Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"},
			RPM:        nfpm.RPM{Summary: summary, BuildHost: "localhost"}, // so that each machine makes the same bytes
		},
	})
	if format == "deb" { // in Debian, the first line of a description is the summary, and the licence must be a known one
		info.Description = summary + "\n" + description
		list = slices.DeleteFunc(slices.Clone(list), func(f file) bool { return f.name == "LICENSE" })
		list = append(list, file{"copyright", []byte(copyright), 0o644})
	}
	for _, f := range list {
		from := filepath.Join(work, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(from, f.data, 0o600); err != nil {
			return nil, err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: from, Destination: installed(format, f.name),
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: at},
		})
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return nil, fmt.Errorf("%s package for %s: %w", format, t, err)
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return nil, fmt.Errorf("%s package for %s: %w", format, t, err)
	}
	return b.Bytes(), nil
}
