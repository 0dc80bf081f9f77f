package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// manifest says how an archive came about: enough to judge it, and to make it again.
type manifest struct {
	Software string       `json:"software"`
	Go       string       `json:"go,omitempty"`
	Commit   string       `json:"commit,omitempty"` // that the program was built from
	Name     string       `json:"name"`
	Operator string       `json:"operator,omitempty"`
	Contact  string       `json:"contact,omitempty"`
	Agent    string       `json:"agent"`
	Seed     string       `json:"seed"`
	Settings settings     `json:"settings"`
	Started  time.Time    `json:"started"`
	Ended    time.Time    `json:"ended"`
	Finish   string       `json:"finish"` // "done": the whole site, as far as it may be fetched
	Left     int          `json:"left"`   // URLs that were known and not asked for
	Pages    int          `json:"pages"`
	Requests int          `json:"requests"`
	Octets   int64        `json:"octets"`
	Outcomes any          `json:"outcomes"`
	Statuses map[int]int  `json:"statuses"`
	Robots   []robotsFile `json:"robots"`
	Files    []file       `json:"files"` // all but this one
}

// settings is what decided about the extent of the archive.
type settings struct {
	Scope     string  `json:"scope"`
	Delay     float64 `json:"delay"` // seconds
	MaxPages  int     `json:"max_pages"`
	MaxTime   float64 `json:"max_time,omitempty"` // seconds
	Resources bool    `json:"resources"`
}

// file is a file of the archive.
type file struct {
	Path   string `json:"path"`
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
}

const manifestName = "manifest.json"

func newManifest(o options, rep *crawler.Report, robots []robotsFile) manifest {
	m := manifest{
		Software: software, Name: o.name, Operator: o.operator, Contact: o.contact, Agent: o.agent, Seed: o.seed.String(),
		Settings: settings{"host", o.delay.Seconds(), o.maxPages, o.maxTime.Seconds(), o.resources},
		Started:  rep.Started.UTC(), Ended: rep.Ended.UTC(), Finish: string(rep.Finish), Left: rep.Left,
		Pages: rep.Pages, Requests: rep.Requests, Octets: rep.Bytes, Outcomes: rep.Outcomes, Statuses: rep.Statuses, Robots: robots,
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		m.Go = b.GoVersion
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				m.Commit = s.Value
			}
		}
	}
	return m
}

// save lists the files of dir and writes the manifest beside them.
func (m manifest) save(dir string) (err error) {
	if m.Files, err = files(dir); err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), append(b, '\n'), 0o644)
}

// files is what is in an archive, in the order of the paths.
func files(dir string) (list []file, err error) {
	root := os.DirFS(dir)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == manifestName {
			return err
		}
		f, err := measure(root, path)
		list = append(list, f)
		return err
	})
	return list, err
}

func measure(root fs.FS, path string) (file, error) {
	f, err := root.Open(path)
	if err != nil {
		return file{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return file{path, n, hex.EncodeToString(h.Sum(nil))}, err
}
