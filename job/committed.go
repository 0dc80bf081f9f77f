package job

import (
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/sink/warc"
)

// Committed returns a Reader of the same job that reads visits, ledger, items and archives only up to the last commit, so that
// they are consistent. Data that a running or killed process has written after that commit is left out. The limit stays the same,
// however far the job gets meanwhile. Files without a recorded length, because the queue is gone or an earlier version wrote the
// job, are read up to their present end. The Reader is closed with r.
func (r *Reader) Committed() (*Reader, error) {
	c := &Reader{dir: r.dir, files: r.files, limits: map[string]int64{}}
	sizes := map[string]int64{} // keyed by segment, so that a second reading after an error counts no segment twice
	err := r.extents(func(name string, e *extent) { sizes[name] = e.Bytes })
	if err != nil && !errors.Is(err, disk.ErrDamaged) && !missingFile(err) {
		return nil, readError(err)
	}
	for name, size := range sizes {
		whole, _ := segmentOf(name)
		c.limits[whole] += size
	}
	names := []string{VisitsName, LedgerName, LinksName, TextName, ItemsName}
	archives, err := r.archiveNames()
	if err != nil {
		return nil, err
	}
	atCommit := len(c.limits) > 0
	for _, name := range append(names, archives...) {
		if _, known := c.limits[name]; known {
			continue
		}
		c.limits[name] = 0 // the file was created after the last commit
		if atCommit {
			continue
		}
		switch content, err := r.files.stream(name); {
		case err == nil:
			c.limits[name] = content.Size()
			_ = content.Close() // only read, so an error of closing loses nothing
		case !missingFile(err):
			return nil, readError(r.files.told(name, err))
		}
	}
	return c, nil
}

// extents calls f with the length of each file at the last commit. It opens the queue read-only, which is possible while a
// process works on the job.
func (r *Reader) extents(f func(name string, e *extent)) (err error) {
	for try := 0; ; try++ {
		err = disk.ReadValues(r.files.path(frontierName), disk.Config{}, "", keyExtent, func(name string, value []byte) error {
			var e extent
			err := json.Unmarshal(value, &e)
			if err == nil {
				f(strings.TrimPrefix(name, keyExtent), &e)
			}
			return err
		})
		if err == nil || missingFile(err) || try == 5 || !r.Running() { // the process may have replaced a file of the queue: try again
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// archiveNames returns the archive files, oldest first, with the name of their directory.
func (r *Reader) archiveNames() (names []string, err error) {
	list, err := r.files.names(archiveName)
	if err != nil {
		return nil, readError(err)
	}
	for _, name := range list {
		if strings.HasPrefix(name, warc.DefaultPrefix+"-") && warc.IsArchive(name) {
			names = append(names, path.Join(archiveName, name))
		}
	}
	slices.Sort(names) // names begin with the time, then the serial number
	return names, nil
}

// Archives returns the names of the job's archive files, oldest first, as [Reader.Open] takes them ("warc/…"). A job that
// keeps no archive has none.
func (r *Reader) Archives() ([]string, error) {
	names, err := r.archiveNames()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		limit, limited := r.limits[name]
		return limited && limit == 0
	}), nil
}

// Open opens one of the job's files for reading: [VisitsName] with all its segments, an archive that [Reader.Archives] names, or
// "robots/index.jsonl". The error wraps fs.ErrNotExist if the job does not have it.
func (r *Reader) Open(name string) (*Content, error) {
	c, err := r.files.stream(name)
	if err != nil {
		return nil, readError(r.files.told(name, err))
	}
	size, limited := r.limits[name]
	switch {
	case limited && c.Size() < size:
		return nil, errors.Join(r.files.told(name, short(c.Size(), size)), c.Close())
	case limited:
		c.SectionReader = io.NewSectionReader(c.segments, 0, size)
	}
	return c, nil
}
