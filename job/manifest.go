package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/hidden"
)

// manifestSchema is the version of the layout of a job directory and of its manifest. It changes when a program that knows the
// old version could not resume a job of the new one.
const manifestSchema = "amble.job/1"

// Manifest describes a job directory: its contents, how it was made, and how far the crawl has got.
type Manifest struct {
	Schema   string              `json:"schema"`
	Created  time.Time           `json:"created"`
	Finish   crawler.Finish      `json:"finish,omitempty"` // how the last process ended; empty if it is still running or was killed
	Seeds    []string            `json:"seeds"`
	Settings map[string]string   `json:"settings"`          // settings in force
	Runs     []Run               `json:"runs"`              // one per process, oldest first
	Program  []string            `json:"program,omitempty"` // fields of the Config that no key can express; see [Config.Program]
	Outputs  map[string]FileFact `json:"outputs,omitempty"`
	Kept     []KeptFile          `json:"kept,omitempty"`  // copies of files that settings name, oldest first; earlier versions made none
	Maker    *Maker              `json:"maker,omitempty"` // nil: an earlier version worked on the job last
	// Collected names the shared job that the directory was assembled from; such a directory cannot be resumed.
	Collected string `json:"collected,omitempty"`
}

// Run records one process that worked on the job.
type Run struct {
	Software string         `json:"software"`
	Build    string         `json:"build,omitempty"` // revision of the source
	Go       string         `json:"go"`
	Host     Host           `json:"host"`
	PID      int            `json:"pid"`
	Started  time.Time      `json:"started"`
	Ended    time.Time      `json:"ended,omitzero"` // zero: the process was killed
	Finish   crawler.Finish `json:"finish,omitempty"`
	Error    string         `json:"error,omitempty"`
	Browser  string         `json:"browser,omitempty"` // name and version of the browser that rendered pages
	Pages    int            `json:"pages"`             // total of the job at that time
	Requests int            `json:"requests"`          // total of the job at that time
	Left     int            `json:"left"`              // URLs still queued
	Changes  []Change       `json:"changes,omitempty"`
	// NotShared is the reason why the process did not share turns at hosts with others.
	NotShared string `json:"not_shared,omitempty"`
}

// Host is the machine that a process ran on.
type Host struct {
	Name string `json:"name"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// FileFact is the state of a file when the last process ended in good order.
type FileFact struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newRun(now time.Time) Run {
	name, _ := os.Hostname() // "" if it is unknown
	r := Run{
		Software: "amble/" + crawler.Version, Go: runtime.Version(), PID: os.Getpid(), Started: now.UTC(),
		Host: Host{name, runtime.GOOS, runtime.GOARCH, runtime.NumCPU()},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.Build = revision(info)
	}
	return r
}

// revision returns the revision of the source that the binary was built from, or "" if the build did not record it.
func revision(info *debug.BuildInfo) string {
	vcs := vcsOf(info)
	if vcs["vcs.modified"] == "true" {
		return vcs["vcs.revision"] + "+changes"
	}
	return vcs["vcs.revision"]
}

func vcsOf(info *debug.BuildInfo) map[string]string {
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	return vcs
}

// Finished reports whether nothing was left when the job ended.
func (m *Manifest) Finished() bool { return m.Finish == crawler.FinishDone }

// Last returns the latest run.
func (m *Manifest) Last() *Run { return &m.Runs[len(m.Runs)-1] }

// InSegments reports whether a file of the job, such as [VisitsName], has more than one segment.
func (m *Manifest) InSegments(name string) bool {
	_, more := m.Outputs[segmentName(name, 2)]
	return more
}

// readManifest reads the manifest of the directory. For a directory without one it returns nil, nil.
func readManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, manifestName)
	b, err := readPlain(dir, manifestName)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, damagedSettings(path, err)
	}
	if m.Schema != manifestSchema {
		return nil, refused("job %s is of the layout %q, this program knows %s: use the program that made it", dir, m.Schema, manifestSchema)
	}
	if len(m.Runs) == 0 {
		return nil, damagedSettings(path, errors.New("no process has worked on the job"))
	}
	return m, nil
}

// damagedSettings returns the error for a damaged file that describes a job and is not written by users.
func damagedSettings(path string, err error) error {
	return &Error{Kind: Storage, Err: fmt.Errorf("%s is damaged (%w): put it back from a copy; the visits and archives beside it are not affected", path, err)}
}

// write replaces the manifest atomically.
func (m *Manifest) write(d plainDir) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return d.replace(manifestName, append(hidden.Escape(b), '\n'))
}
