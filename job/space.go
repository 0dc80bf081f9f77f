package job

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

const (
	mostFree    = 1 << 30 // maximum of the default of [Config.MinFree]
	freeShare   = 20      // the default is the disk's size divided by this
	spareShare  = 8       // [Config.MaxDisk] divided by this is reserved for data written until a crawl has ended or paused
	commitShare = 64      // a commit is made when the pages since the previous one reach [Config.MaxDisk] divided by this
	measurePart = 50      // a process spends at most its running time divided by this on measuring the directory
)

// Space describes how much more the crawl of a job may write.
type Space struct {
	Free    int64 `json:"free"`               // free bytes of the disk for the user of this process
	MinFree int64 `json:"min_free,omitempty"` // of Free, the bytes that the crawl must leave free; 0: none
	Used    int64 `json:"used"`               // bytes of the files in the directory
	MaxDisk int64 `json:"max_disk,omitempty"` // maximum of Used; 0: unlimited

	Stored       bool  `json:"stored,omitempty"`        // the job has a store: see [Config.Store]
	Elsewhere    int64 `json:"elsewhere,omitempty"`     // bytes of files that only the store has
	WaitingFiles int   `json:"waiting_files,omitempty"` // finished files that wait to be stored
	WaitingBytes int64 `json:"waiting_bytes,omitempty"` // size of the waiting files

	Taken time.Duration `json:"-"` // working time of the job's processes, without those that were killed
}

// Left returns the bytes that the crawl may still write, and the limit that comes first: [crawler.FinishMinFree] or
// [crawler.FinishMaxDisk]. A negative number means that the crawl has to end or pause. An eighth of MaxDisk is reserved for data
// written until then.
func (s *Space) Left() (int64, crawler.Finish) {
	if left := s.MaxDisk - s.MaxDisk/spareShare - s.Used; s.MaxDisk > 0 && left < s.Free-s.MinFree {
		return left, crawler.FinishMaxDisk
	}
	return s.Free - s.MinFree, crawler.FinishMinFree
}

// Lasts returns the time until the first limit is reached, if the crawl keeps its average rate. It returns 0 if that is unknown, or if
// a store takes finished files, which frees space.
func (s *Space) Lasts() time.Duration {
	left, _ := s.Left()
	written := s.Used + s.Elsewhere
	if written <= 0 || left <= 0 || s.Stored && s.WaitingFiles == 0 {
		return 0
	}
	return time.Duration(min(float64(s.Taken)*(float64(left)/float64(written)), float64(100*365*24*time.Hour)))
}

// spaceOf measures the space of a job. It measures the size of the directory only if used is set.
func spaceOf(dir string, c *Config, used bool) (s Space, err error) {
	free, all, err := diskOf(dir)
	if err != nil {
		return s, &fs.PathError{Op: "measure the disk of", Path: dir, Err: err}
	}
	s = Space{Free: free, MinFree: int64(c.MinFree), MaxDisk: int64(max(0, c.MaxDisk))}
	switch {
	case c.MinFree < 0:
		s.MinFree = 0
	case c.MinFree == 0:
		s.MinFree = min(mostFree, all/freeShare)
	}
	if used {
		s.Used, err = SizeOf(dir)
	}
	return s, err
}

// SizeOf returns the bytes of all files below a directory, or below the one that a symbolic link names. Files of the copy of the queue
// count even if the queue has them no longer. It returns the first error; unreadable files count as 0.
func SizeOf(dir string) (bytes int64, err error) {
	_ = filepath.WalkDir(dir+string(filepath.Separator), func(path string, e fs.DirEntry, unread error) error {
		if unread == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && (links(info) == 1 || filepath.Base(filepath.Dir(path)) != queueCopy) {
				bytes += info.Size()
			}
		}
		if err == nil && !errors.Is(unread, fs.ErrNotExist) { // a file that is gone is no error: the queue may have replaced it
			err = unread
		}
		return nil
	})
	return bytes, err
}

// Space measures how much more the crawl of a job may write.
func (r *Reader) Space() (Space, error) {
	all, err := r.Settings()
	if err != nil {
		return Space{}, err
	}
	c, err := all.Config()
	if err != nil {
		return Space{}, &Error{Kind: Refused, Err: err}
	}
	s, err := spaceOf(r.Dir(), &c, true)
	if err != nil {
		return s, readError(err)
	}
	m, err := r.Manifest()
	if err != nil {
		return s, err
	}
	s.Taken = m.taken(time.Now(), r.Running())
	list, err := r.files.readStored()
	if err != nil || list == nil {
		return s, readError(err)
	}
	extents := map[string]extent{}
	if err := r.extents(func(name string, e *extent) { extents[name] = *e }); err != nil && !missingFile(err) {
		return s, readError(err)
	}
	s.Stored = true
	lastArchive, _ := lastOf(extents)
	s.WaitingFiles, s.WaitingBytes = sizeOf(list.missing(extents, lastArchive))
	for _, o := range list.Objects {
		if _, err := r.files.root.Lstat(o.Name); errors.Is(err, fs.ErrNotExist) {
			s.Elsewhere += o.Bytes
		}
	}
	return s, nil
}

// taken returns the total working time of the job's processes whose ends are known.
func (m *Manifest) taken(now time.Time, running bool) (d time.Duration) {
	for i, r := range m.Runs {
		if running && i == len(m.Runs)-1 {
			r.Ended = now
		}
		d += max(0, r.Ended.Sub(r.Started))
	}
	return d
}

const keyMinFree = "min-free"

// autoFree is the text of MinFree 0.
const autoFree = "auto"

func readMinFree(v []string) (crawler.Limit, error) {
	if one(v) == autoFree || one(v) == "" {
		return 0, nil
	}
	var size cli.Size
	if err := size.UnmarshalText([]byte(one(v))); err != nil {
		return 0, fmt.Errorf("%q: want a size such as 500MiB or 10GB, auto or none", one(v))
	}
	if size <= 0 {
		return crawler.Zero, nil
	}
	return crawler.Limit(size), nil
}

func minFreeText(n crawler.Limit) []string {
	if n == 0 {
		return []string{autoFree}
	}
	return []string{cli.Size(n).String()}
}

// Space measures how much more the crawl may write. It may be called concurrently.
func (j *Job) Space() (Space, error) {
	s, err := spaceOf(j.dir, &j.config, true)
	j.recording.Lock()
	s.Taken = j.manifest.taken(time.Now(), !j.ended)
	j.recording.Unlock()
	if u := j.uploads; u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		s.Stored = true
		s.WaitingFiles, s.WaitingBytes = sizeOf(u.ready)
		for name := range u.gone {
			fact, _ := u.list.find(name)
			s.Elsewhere += fact.Bytes
		}
	}
	return s, readError(err)
}

// checkSpace refuses a crawl that would end at once because the disk or the directory is full.
func (j *Job) checkSpace() error {
	s, err := spaceOf(j.dir, &j.config, j.config.MaxDisk > 0)
	if err != nil {
		return readError(err)
	}
	switch left, by := s.Left(); {
	case left >= 0, j.uploads != nil: // with a store, storing files frees space
		return nil
	case by == crawler.FinishMaxDisk:
		return refusedAs(ErrSpace, "job %s takes %s, which leaves too little of max-disk (%s): give more, or remove what is not needed", j.dir, cli.Bytes(s.Used), cli.Bytes(s.MaxDisk))
	default:
		return refusedAs(ErrSpace, "the disk of %s has %s free, less than min-free (%s): make room, or set min-free", j.dir, cli.Bytes(s.Free), cli.Bytes(s.MinFree))
	}
}

// left returns the present [Space.Left].
func (j *Job) left() (int64, crawler.Finish, error) {
	s, err := spaceOf(j.dir, &j.config, j.config.MaxDisk > 0)
	left, by := s.Left()
	return left, by, err
}

// watchSpace returns hooks that end or pause the crawl cleanly when too little space is left. They check after each commit.
func (j *Job) watchSpace() *crawler.Trace {
	var mu sync.Mutex
	var next time.Time    // time of the next measurement of the directory
	var was, before int64 // size of the directory, and of all results, at the last measurement
	return &crawler.Trace{Committed: func(c crawler.Commit) {
		if j.uploads != nil && c.Err == nil {
			j.uploads.committed()
		}
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		used := j.config.MaxDisk > 0 && now.After(next)
		s, err := spaceOf(j.dir, &j.config, used)
		if err != nil { // the next write reports the error
			return
		}
		if used {
			next = time.Now().Add(measurePart * time.Since(now))
			was, before = s.Used, j.out.commits.bytes()
		} else if j.config.MaxDisk > 0 {
			s.Used = was + j.out.commits.bytes() - before
		}
		switch left, by := s.Left(); {
		case left >= 0:
		case j.uploads == nil:
			j.crawler.DrainFor(by)
		default:
			j.uploads.short()
		}
	}}
}

// restrain limits the data written between two commits, and after the last one, to the reserve of [Config.MaxDisk].
func (j *Job) restrain(c *crawler.Config) {
	most := int64(j.config.MaxDisk) / commitShare
	if most <= 0 {
		return
	}
	c.Commits.Bytes = most
	c.Limits.InFlight = min(cmp.Or(c.Limits.InFlight, crawler.DefaultMaxInFlight), most)
}
