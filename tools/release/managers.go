package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"text/template"

	"github.com/amble-crawler/amble/crawler"
)

// errNotMade is returned for a recipe of an archive that is not made because of -only.
var errNotMade = errors.New("an archive that it names is not made")

// download returns the URL at which the archive of a target is published.
func (t target) download() string {
	return source + "/releases/download/v" + crawler.Version + "/" + t.name() + t.ending()
}

// formula returns amble.rb, from which Homebrew installs the archives for macOS and Linux. sums are the hashes of files by name.
func formula(sums map[string]string) ([]byte, error) {
	type archive struct{ URL, Sum string }
	data := map[string]any{"Summary": summary, "Source": source, "Version": crawler.Version}
	for key, t := range map[string]target{
		"MacIntel": {"darwin", "amd64"}, "MacARM": {"darwin", "arm64"}, "LinuxIntel": {"linux", "amd64"}, "LinuxARM": {"linux", "arm64"},
	} {
		sum, ok := sums[t.name()+t.ending()]
		if !ok {
			return nil, fmt.Errorf("%w: %s", errNotMade, t)
		}
		data[key] = archive{t.download(), sum}
	}
	var b bytes.Buffer
	err := formulaTemplate.Execute(&b, data)
	return b.Bytes(), err
}

var formulaTemplate = template.Must(template.New("amble.rb").Parse(`class Amble < Formula
  desc "Polite recursive web crawler that proves how politely it crawled"
  homepage "{{.Source}}"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_intel do
      url "{{.MacIntel.URL}}"
      sha256 "{{.MacIntel.Sum}}"
    end
    on_arm do
      url "{{.MacARM.URL}}"
      sha256 "{{.MacARM.Sum}}"
    end
  end

  on_linux do
    on_intel do
      url "{{.LinuxIntel.URL}}"
      sha256 "{{.LinuxIntel.Sum}}"
    end
    on_arm do
      url "{{.LinuxARM.URL}}"
      sha256 "{{.LinuxARM.Sum}}"
    end
  end

  def install
    bin.install "amble"
    bash_completion.install "completions/amble.bash" => "amble"
    zsh_completion.install "completions/_amble"
    fish_completion.install "completions/amble.fish"
    doc.install Dir["docs", "licenses", "README.md", "CHANGELOG.md"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/amble version")
    system bin/"amble", "demo", "-q"
  end
end
`))

// manifest returns amble.json, from which Scoop installs the archives for Windows.
func manifest(sums map[string]string) ([]byte, error) {
	type archive struct {
		URL     string `json:"url"`
		Hash    string `json:"hash,omitempty"`
		Extract string `json:"extract_dir,omitempty"`
	}
	now, next := map[string]archive{}, map[string]archive{}
	for arch, t := range map[string]target{"64bit": {"windows", "amd64"}, "arm64": {"windows", "arm64"}} {
		sum, ok := sums[t.name()+t.ending()]
		if !ok {
			return nil, fmt.Errorf("%w: %s", errNotMade, t)
		}
		now[arch] = archive{t.download(), sum, t.name()}
		later := "amble-$version-" + t.os + "-" + t.arch
		next[arch] = archive{URL: source + "/releases/download/v$version/" + later + t.ending(), Extract: later}
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	w.SetIndent("", "    ")
	err := w.Encode(map[string]any{
		"version": crawler.Version, "description": "A " + summary, "homepage": source, "license": "Apache-2.0",
		"architecture": now, "bin": "amble.exe", "checkver": "github",
		"autoupdate": map[string]any{"architecture": next, "hash": map[string]string{"url": "$baseurl/SHA256SUMS"}},
	})
	return b.Bytes(), err
}
