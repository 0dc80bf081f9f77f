package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/audit"
)

// Keys whose files are copied into the job. Files with secrets, such as those of load-cookies and sign, are never copied.
const (
	keyOwnHosts = "own-hosts"
	keyOptOut   = "opt-out"
)

// KeptFile is a copy of a file that a setting names. The job directory has it, so that the job can be read and resumed without
// the original. The copy is named KEY-SHA256.txt, in the subdirectory settings.
type KeptFile struct {
	Key    string    `json:"key"`    // own-hosts or opt-out
	Path   string    `json:"path"`   // path of the original, as in the setting
	Bytes  int64     `json:"bytes"`  // size of the copy
	SHA256 string    `json:"sha256"` // hash of the copy
	At     time.Time `json:"at"`     // time at which the crawl began to use the file
}

// name returns the slash-separated name of the copy.
func (k *KeptFile) name() string {
	return path.Join(settingsName, k.Key+"-"+k.SHA256+".txt")
}

// isKeptFile reports whether a name in the directory of copies is the name of a copy.
func isKeptFile(name string) bool {
	for _, key := range []string{keyOwnHosts, keyOptOut} {
		if sum, ok := strings.CutPrefix(name, key+"-"); ok && isRobotsBody(sum) {
			return true
		}
	}
	return false
}

// kept returns a job's copies for a key, oldest first; none for a nil manifest.
func (m *Manifest) kept(key string) []KeptFile {
	if m == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Kept), func(k KeptFile) bool { return k.Key != key })
}

// readKept returns the contents of a copy. If it is missing or has another hash, the error says what to do.
func (d plainDir) readKept(k *KeptFile) ([]byte, error) {
	b, err := d.read(filepath.FromSlash(k.name()))
	what := "is damaged (its SHA-256 is not the one in its name)"
	switch {
	case missingFile(err):
		what = "is missing"
	case err != nil:
		return nil, readError(err)
	case hashOf(b) == k.SHA256:
		return b, nil
	}
	return nil, &Error{Kind: Storage, Err: fmt.Errorf("%s %s: it is the copy of %s that the job keeps for %s: put it back from a copy of the job, or from that file if its SHA-256 is still the same",
		d.path(filepath.FromSlash(k.name())), what, k.Path, k.Key)}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// lists holds the host lists that the settings of a job name, as read when it was created, resumed or read.
type lists struct {
	ownText []byte         // text of own-hosts
	own     map[string]int // own hosts and their maximum number of concurrent requests; nil: as in ownText
	optOut  *optOutList    // nil: none
	fresh   []keptText     // own-hosts files that have no copy yet
	notes   []string       // sentences for the operator
}

// keptText is a KeptFile and its content.
type keptText struct {
	KeptFile
	text []byte
}

func newKept(key, path string, text []byte, at time.Time) keptText {
	return keptText{KeptFile{key, path, int64(len(text)), hashOf(text), at.UTC()}, text}
}

func (l *lists) notef(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// readLists reads the host lists that c names, for a crawl in the directory. A job that has copies uses them.
func (c *Config) readLists(dir string) error {
	m, err := readManifest(dir)
	if err != nil || m == nil && c.OwnHosts == "" && c.OptOut == "" {
		return err
	}
	var d plainDir
	if m != nil {
		if d, err = openDir(dir); err != nil {
			return readError(err)
		}
		defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	}
	l := &lists{}
	now := time.Now()
	if err := l.readOwnHosts(d, c, m.kept(keyOwnHosts), now); err != nil {
		return err
	}
	if err := l.readOptOut(d, c, m.kept(keyOptOut), now); err != nil {
		return err
	}
	c.lists = l
	return nil
}

// readOwnHosts reads the own hosts, from the copy if there is one. If another file has the same list, the setting counts as
// unchanged. If it has another list, the setting has changed, which begin refuses.
func (l *lists) readOwnHosts(d plainDir, c *Config, kept []KeptFile, now time.Time) error {
	if c.OwnHosts == "" {
		return nil
	}
	if len(kept) == 0 {
		b, err := safefile.ReadNamed(c.OwnHosts, safefile.Settings)
		if err != nil {
			return &KeyError{Key: keyOwnHosts, Err: err}
		}
		l.ownText, l.fresh = b, append(l.fresh, newKept(keyOwnHosts, c.OwnHosts, b, now))
		return nil
	}
	last := &kept[len(kept)-1]
	was, err := d.readKept(last)
	if err != nil {
		return err
	}
	b, err := safefile.Read(c.OwnHosts, safefile.Settings)
	same := err == nil && hashOf(b) == last.SHA256
	switch {
	case c.OwnHosts != last.Path && err != nil:
		return &KeyError{Key: keyOwnHosts, Err: err}
	case c.OwnHosts != last.Path && !same:
		l.ownText = b
		return nil
	case err == nil && !same:
		l.notef("own-hosts: %s has changed since the job began, which goes on with the list that it keeps: begin a new crawl for another list", c.OwnHosts)
	}
	c.OwnHosts, l.ownText = last.Path, was
	return nil
}

// readOptOut reads the opt-out list: all copies, and the present file.
func (l *lists) readOptOut(d plainDir, c *Config, kept []KeptFile, now time.Time) error {
	if c.OptOut == "" && len(kept) == 0 {
		return nil
	}
	o := &optOutList{path: c.OptOut, keeps: true, known: map[string]bool{}}
	for i := range kept {
		b, err := d.readKept(&kept[i])
		if err != nil {
			return err
		}
		_ = o.add(b, kept[i].At) // all lines were valid for the version that kept it
	}
	o.fresh = nil
	l.optOut = o
	if c.OptOut == "" {
		l.notef("opt-out: the job has no list any more: hosts that were ever on it stay out")
		return nil
	}
	err := o.read(now)
	switch {
	case missingFile(err) && slices.ContainsFunc(kept, func(k KeptFile) bool { return k.Path == c.OptOut }):
		l.notef("opt-out: %s is not there any more: the job goes on with the list that it keeps", c.OptOut)
	case err != nil:
		return err
	case len(o.fresh) > 0 && len(kept) > 0:
		l.notef("opt-out: %s has changed since the job read it: hosts that were ever on it stay out, and those that are on it now count, too", c.OptOut)
	}
	return nil
}

// keepLists copies lists that were read since the last call into the directory, and adds them to the manifest. It reports whether
// there were any.
func (j *Job) keepLists() (bool, error) {
	l := j.config.lists
	if l == nil {
		return false, nil
	}
	fresh := l.fresh
	l.fresh = nil
	if l.optOut != nil {
		fresh = append(fresh, l.optOut.take()...)
	}
	if len(fresh) == 0 {
		return false, nil
	}
	dir, err := j.files.sub(settingsName)
	if err != nil {
		return false, outputError(err)
	}
	for i := range fresh {
		k := &fresh[i]
		if err = dir.writeOnce(path.Base(k.name()), k.text); err != nil {
			break
		}
		j.manifest.Kept = append(j.manifest.Kept, k.KeptFile)
	}
	return true, outputError(errors.Join(err, dir.close()))
}

// noteLists is like keepLists, for a running crawl: it also writes the manifest.
func (j *Job) noteLists() error {
	j.recording.Lock()
	defer j.recording.Unlock()
	changed, err := j.keepLists()
	if changed && err == nil {
		err = outputError(j.manifest.write(j.files.plainDir))
	}
	return err
}

// keepsLists returns a function that copies the opt-out list, if it has changed, and then calls commit.
func (j *Job) keepsLists(commit func() (map[string][]byte, error)) func() (map[string][]byte, error) {
	if j.config.lists == nil || j.config.lists.optOut == nil {
		return commit
	}
	return func() (map[string][]byte, error) {
		if err := j.noteLists(); err != nil {
			return nil, err
		}
		return commit()
	}
}

// Crawler is like [Config.Crawler] for a program that only reads the job: for the job's own settings it reads nothing outside the
// directory. Own hosts come from the settings for the ledger check, and the opt-out list is the job's copy. Earlier crawls,
// identities and cookies, which only requests need, are left out.
func (r *Reader) Crawler(c *Config) (crawler.Config, error) {
	look := *c
	look.Since, look.Sign, look.LoadCookies, look.Cache = "", "", "", ""
	all, err := r.Settings()
	if err != nil {
		return crawler.Config{}, err
	}
	l := &lists{}
	if s, _ := all.Get(keyOwnHosts); look.OwnHosts != "" && s.Text() == look.OwnHosts {
		l.own = map[string]int{}
		if a, err := readAuditConfig(r.dir); err == nil && a.OwnHosts != nil { // a job killed right after its creation has no such file
			l.own = a.OwnHosts
		}
	}
	if s, _ := all.Get(keyOptOut); s.Text() == look.OptOut {
		look.OptOut = ""
	}
	m, err := r.Manifest()
	if err != nil {
		return crawler.Config{}, err
	}
	if err := l.readOptOut(r.files.plainDir, &look, m.kept(keyOptOut), time.Now()); err != nil {
		return crawler.Config{}, err
	}
	look.lists = l
	return look.Crawler()
}

// optedOut returns the versions of the opt-out list that the job used. Damaged ones are left out: they are reported as files.
func (r *Reader) optedOut() (all []audit.OptOut, err error) {
	m, err := readManifest(r.dir)
	if err != nil {
		return nil, err
	}
	for _, k := range m.kept(keyOptOut) {
		b, err := r.files.readKept(&k)
		if err != nil {
			continue
		}
		names, _ := ParseOptOut(b, k.Path) // all lines were valid for the version that kept it
		all = append(all, audit.OptOut{Names: names, Since: k.At})
	}
	return all, nil
}
