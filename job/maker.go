package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
)

// Maker identifies the user and the machine that last worked on a job.
type Maker struct {
	User    string `json:"user"`    // the system's ID of the user
	Machine string `json:"machine"` // SHA-256 of the machine's ID, or of its name if it has none
}

// thisMaker returns the user and the machine of this process.
func thisMaker() *Maker {
	m := &Maker{}
	if u, err := user.Current(); err == nil {
		m.User = u.Uid
	}
	id, _ := safefile.Read("/etc/machine-id", 4<<10) // some systems have none
	name, _ := os.Hostname()                         // "" if it is unknown
	sum := sha256.Sum256([]byte("amble machine " + cmp.Or(strings.TrimSpace(string(id)), name)))
	m.Machine = hex.EncodeToString(sum[:])
	return m
}

// CheckMaker refuses the settings of a job that another user or another machine made, if they name variables, files, a store or a
// browser: otherwise the maker of the directory would choose what is read, written and started here. The error names each. A job of a
// version that did not record its maker counts as made by the owner of its manifest.
func CheckMaker(dir string, c *Config) error {
	m, err := readManifest(dir)
	if err != nil || m == nil {
		return err
	}
	if m.Maker != nil && *m.Maker == *thisMaker() {
		return nil
	}
	if f, err := safefile.OpenOwn(filepath.Join(dir, manifestName)); m.Maker == nil && err == nil {
		return f.Close()
	}
	var names []string
	for _, x := range c.Outside() {
		names = append(names, x.String())
	}
	if len(names) == 0 {
		return nil
	}
	return refusedAs(ErrUntrusted, "job %s was made by another user or on another machine, and its settings name what would be read or started here: %s: see whether you want that",
		dir, strings.Join(names, ", "))
}

// Kinds of [Outside].
const (
	OutsideFile     = "file"
	OutsideVariable = "environment variable"
	outsideBrowser  = "browser"
	outsideStore    = "store"
)

// Outside is a file, an environment variable, a store or a browser that a crawl uses and that is not in the job directory.
type Outside struct {
	Kind string // one of the constants above
	Name string // path of the file or the browser, name of the variable, URL of the store
	Key  string // the key in the job file whose value is Name, or "header NAME"
}

// String returns the kind, the name and the key.
func (x Outside) String() string { return "the " + x.Kind + " " + x.Name + " (" + x.Key + ")" }

// Outside returns the files, variables, stores and programs outside the job directory that a crawl with these settings uses. It
// accesses none of them.
func (c *Config) Outside() (all []Outside) {
	add := func(f field) {
		if path, ok := strings.CutPrefix(f.value, "@"); ok {
			all = append(all, Outside{OutsideFile, path, "header " + f.name})
		}
		if variable, ok := strings.CutPrefix(f.value, "env:"); ok {
			all = append(all, Outside{OutsideVariable, variable, "header " + f.name})
		}
	}
	for _, text := range c.Header {
		if f, err := parseField(text); err == nil {
			add(f)
		}
	}
	for _, h := range c.Crawl.Hosts {
		for _, name := range sortedKeys(h.Header) {
			for _, value := range h.Header[name] {
				add(field{name: name, value: value})
			}
		}
	}
	for _, key := range []string{"own-hosts", "opt-out", "since", "load-cookies", "sign", "cache"} {
		if s := KeyNamed(key).of(c); s.Text() != "" {
			all = append(all, Outside{OutsideFile, s.Text(), key})
		}
	}
	if from := c.origins["state"]; c.State != "" && from != "flag" && !strings.HasPrefix(from, "environment ") { // from a job file: jobs do not store this setting
		all = append(all, Outside{OutsideFile, c.State, "state"})
	}
	if c.Browser.Path != "" && c.Crawl.Render.Renders() {
		all = append(all, Outside{outsideBrowser, c.Browser.Path, "browser"})
	}
	if c.Store != "" { // writing to the store uses the credentials of the user who runs the crawl
		all = append(all, Outside{outsideStore, c.Store, "store"})
	}
	return all
}
