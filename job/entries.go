package job

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink/warc"
)

// jobFiles are the files in a job directory. One that is replaced as a whole has another one beside it while
// it is written, which a killed process leaves.
var jobFiles = map[string]bool{
	lockName: false, VisitsName: false, LedgerName: false, lastWriteName: false,
	manifestName: true, jobName: true, auditName: true, reportName: true, PageName: true,
}

// jobDirs are the directories in it, with what tells the files in them.
var jobDirs = map[string]func(name string) bool{
	robotsName:   func(name string) bool { return name == indexName || isRobotsBody(strings.TrimSuffix(name, newSuffix)) },
	archiveName:  func(name string) bool { return strings.HasPrefix(name, warc.DefaultPrefix+"-") },
	frontierName: func(string) bool { return true }, // the store's own affair
}

// yoursName is a directory for whatever a user keeps beside a crawl. Nothing looks into it.
const yoursName = "extra"

// tolerated reports whether a name is none of ours and may be there: the user's own, and what editors and
// systems leave. Hidden files are, all of them: amble neither reads nor writes one.
func tolerated(name string) bool {
	switch name {
	case yoursName, "Thumbs.db", "desktop.ini", "lost+found", "$RECYCLE.BIN", "System Volume Information":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") ||
		strings.HasPrefix(strings.ToLower(name), "readme")
}

// checkJobDir reports why the directory can be neither a new job's nor resumed: nothing is changed in it. What is in its
// directories is looked at when it is locked.
func checkJobDir(dir string) error {
	d, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return outputError(err)
	}
	return firstOf(d.checkTop(), d.close())
}

// checkJob holds the directory to the files of a job: no others, and each what it has to be.
func (d plainDir) checkJob() error {
	if err := d.checkTop(); err != nil {
		return err
	}
	for name, ours := range jobDirs {
		if err := d.checkIn(name, ours); err != nil {
			return err
		}
	}
	return nil
}

// checkTop is checkJob without what is in the directories.
func (d plainDir) checkTop() error {
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

// checkNew reports what keeps a directory without a manifest from becoming a job's.
func (d plainDir) checkNew(names map[string]bool) error {
	delete(names, manifestName+newSuffix) // of a process that was killed at once
	delete(names, lockName)
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

// checkEntry holds one entry to what it has to be.
func (d plainDir) checkEntry(e fs.DirEntry) error {
	name := e.Name()
	whole, isNew := strings.CutSuffix(name, newSuffix)
	replaced, isFile := jobFiles[whole]
	_, isDir := jobDirs[name]
	switch {
	case isFile && (replaced || !isNew):
		return d.checkKind(name, e.Type(), false)
	case isDir:
		return d.checkKind(name, e.Type(), true)
	case tolerated(name):
		return nil
	}
	return d.foreign(name)
}

// checkIn holds a directory of a job to its files. The bodies of robots.txt files, of which there may be as many as hosts,
// are held to be files when they are opened.
func (d plainDir) checkIn(dir string, ours func(name string) bool) error {
	names, err := d.names(dir)
	if err != nil {
		return outputError(err)
	}
	for _, base := range names {
		name := filepath.Join(dir, base)
		switch {
		case tolerated(base), dir == robotsName && isRobotsBody(base):
			continue
		case !ours(base):
			return d.foreign(name)
		}
		info, err := d.root.Lstat(name)
		if err != nil {
			return outputError(d.named("open", name, err))
		}
		if err := d.checkKind(name, info.Mode(), false); err != nil {
			return err
		}
	}
	return nil
}

func (d plainDir) checkKind(name string, mode fs.FileMode, dir bool) error {
	if mode.IsDir() == dir && (dir || mode.IsRegular()) {
		return nil
	}
	return notPlain(d.path(name), cmp.Or(kindOf(mode), "a regular file"))
}

// foreign says what to do about a file that is none of ours.
func (d plainDir) foreign(name string) error {
	return refused("job %s holds %s, which amble did not make: move it out of the directory, or into %s, which is yours",
		d.root.Name(), name, d.path(yoursName)+string(filepath.Separator))
}
