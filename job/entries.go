package job

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink/warc"
)

// jobFiles is a directory that holds a job or may come to hold one.
type jobFiles struct{ plainDir }

// openJobFiles opens the directory at path.
func openJobFiles(path string) (jobFiles, error) {
	d, err := openDir(path)
	if err == nil {
		d.away = &away{root: d.root}
	}
	return jobFiles{d}, err
}

// ownFiles lists the files in a job directory. A file is replaced by writing a second one beside it and renaming it; a killed
// process may leave the second one.
var ownFiles = map[string]bool{
	lockName: false, VisitsName: false, LedgerName: false, LinksName: false, TextName: false, ItemsName: false, ItemsCSVName: false, ItemsTableName: false, lastWriteName: false,
	cookiesName: true, manifestName: true, jobName: true, auditName: true, reportName: true, PageName: true, HostsName: true, ProblemsName: true,
	SheetName: true, SheetDataName: true, SumsName: true, storedName: true,
}

// ownDirs lists the subdirectories of a job directory, with a function that recognizes their files.
var ownDirs = map[string]func(name string) bool{
	robotsName:    func(name string) bool { return name == indexName || isRobotsBody(strings.TrimSuffix(name, newSuffix)) },
	settingsName:  func(name string) bool { return isKeptFile(strings.TrimSuffix(name, newSuffix)) },
	archiveName:   func(name string) bool { return strings.HasPrefix(name, warc.DefaultPrefix+"-") },
	frontierName:  func(string) bool { return true },                                                                // any name: chosen by the queue
	resourcesName: func(name string) bool { _, err := hex.DecodeString(name); return err == nil && len(name) == 2 }, // subdirectories
}

// yoursName is a directory for whatever a user keeps with a crawl. amble never reads it.
const yoursName = "extra"

// tolerated reports whether a file that is not part of a job may be in its directory, such as files of the user, of editors and
// of the system. All hidden files may: amble neither reads nor writes any.
func tolerated(name string) bool {
	switch name {
	case yoursName, "Thumbs.db", "desktop.ini", "lost+found", "$RECYCLE.BIN", "System Volume Information":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") ||
		strings.HasPrefix(strings.ToLower(name), "readme")
}

// checkJobDir returns an error if the directory can neither become a job nor be resumed. It changes nothing in it; the contents
// of its subdirectories are checked when it is locked.
func checkJobDir(dir string) error {
	d, err := openJobFiles(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return outputError(err)
	}
	return firstOf(d.checkTop(), d.close())
}

// checkJob returns an error if there are files that do not belong to a job or have the wrong type.
func (d jobFiles) checkJob() error {
	if err := d.checkTop(); err != nil {
		return err
	}
	for name, ours := range ownDirs {
		if err := d.checkIn(name, ours); err != nil {
			return err
		}
	}
	return nil
}

// checkTop is like checkJob, but leaves out the contents of the subdirectories.
func (d jobFiles) checkTop() error {
	entries, err := d.list(".")
	if err != nil {
		return outputError(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	if !names[manifestName] {
		return d.checkNew(names)
	}
	for _, e := range entries {
		if err := d.checkEntry(e); err != nil {
			return err
		}
	}
	return nil
}

// checkNew reports why a directory without a manifest cannot become a job.
func (d jobFiles) checkNew(names map[string]bool) error {
	delete(names, manifestName+newSuffix) // a process that was killed at its start may have left this file
	delete(names, lockName)
	delete(names, storedName) // a new job writes this file before the manifest
	delete(names, storedName+newSuffix)
	delete(names, settingsName) // checkJob checks the contents of this directory
	maps.DeleteFunc(names, func(name string, _ bool) bool { return tolerated(name) })
	dir := d.root.Name()
	switch {
	case len(names) == 0:
		return nil
	case names[frontierName] && names[jobName]:
		return refused("directory %s holds a crawl whose %s is missing: put it back, or name a new directory; the visits and archives in it are as they were", dir, manifestName)
	case names[jobName] && names[VisitsName]:
		return refused("directory %s holds a crawl of an older layout, which cannot be resumed and is left as it is: name a new directory", dir)
	}
	return refused("directory %s holds %s and no crawl: name an empty directory, or one that is not there yet", dir, slices.Sorted(maps.Keys(names))[0])
}

// checkEntry checks the name and the type of one entry.
func (d jobFiles) checkEntry(e fs.DirEntry) error {
	name := e.Name()
	whole, isNew := strings.CutSuffix(name, newSuffix)
	replaced, isFile := ownFiles[whole]
	if first, n := segmentOf(name); n > 1 {
		_, isFile = ownFiles[first]
	}
	_, isDir := ownDirs[name]
	switch {
	case isFile && (replaced || !isNew), isSidecar(name):
		return d.checkKind(name, e.Type(), false)
	case isDir:
		return d.checkKind(name, e.Type(), true)
	case tolerated(name):
		return nil
	}
	return d.foreign(name)
}

// checkIn checks the entries of a subdirectory of a job. The bodies of robots.txt files, one per host, are checked when they are opened.
func (d jobFiles) checkIn(dir string, ours func(name string) bool) error {
	names, err := plainDir{root: d.root}.names(dir) // only the files in the directory, not those in the store
	if err != nil {
		return outputError(err)
	}
	for _, base := range names {
		if dir == robotsName && isRobotsBody(base) || tolerated(base) {
			continue
		}
		name := filepath.Join(dir, base)
		if !ours(base) {
			return d.foreign(name)
		}
		info, err := d.root.Lstat(name)
		if err != nil {
			return outputError(d.named("open", name, err))
		}
		if err := d.checkKind(name, info.Mode(), dir == resourcesName); err != nil {
			return err
		}
	}
	return nil
}

// foreign returns the error for a file that does not belong to a job, with advice.
func (d jobFiles) foreign(name string) error {
	return refused("job %s holds %s, which no crawl made: move it out of the directory, or into %s, which is yours",
		d.root.Name(), name, d.path(yoursName)+string(filepath.Separator))
}
