package job

import (
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
	freeShare   = 20      // or the disk divided by this
	measurePart = 50      // measuring the directory takes a process at most one part in this many of its time
)

// Space describes how much the crawl of a job may still write.
type Space struct {
	Free    int64 `json:"free"`               // bytes that the disk has left for the user of this process
	MinFree int64 `json:"min_free,omitempty"` // of these, bytes that the crawl leaves free; 0: none
	Used    int64 `json:"used"`               // bytes of the files in the directory
	MaxDisk int64 `json:"max_disk,omitempty"` // maximum of Used; 0: none
}

// Left returns the bytes that the crawl may still write, and the limit that comes first: [crawler.FinishMinFree] or
// [crawler.FinishMaxDisk]. Less than 0 means that the limit is exceeded.
func (s *Space) Left() (int64, crawler.Finish) {
	if left := s.MaxDisk - s.Used; s.MaxDisk > 0 && left < s.Free-s.MinFree {
		return left, crawler.FinishMaxDisk
	}
	return s.Free - s.MinFree, crawler.FinishMinFree
}

// Lasts returns the time until the limit that comes first is reached, if the crawl goes on to write as much as in the time that it has
// taken so far. It returns 0 if that cannot be told.
func (s *Space) Lasts(taken time.Duration) time.Duration {
	left, _ := s.Left()
	if s.Used <= 0 || left <= 0 {
		return 0
	}
	return time.Duration(min(float64(taken)*(float64(left)/float64(s.Used)), float64(100*365*24*time.Hour)))
}

// spaceOf measures the space of a job. The size of its directory is measured only if used is set.
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

// SizeOf returns the bytes of all files below a directory. The error is the first one; what cannot be read counts for nothing.
func SizeOf(dir string) (bytes int64, err error) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, unread error) error {
		if unread == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if err == nil && !errors.Is(unread, fs.ErrNotExist) { // the queue replaces its files
			err = unread
		}
		return nil
	})
	return bytes, err
}

// Space measures how much the crawl of a job may still write.
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
	return s, readError(err)
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

// Space measures how much the crawl may still write. It may be called concurrently.
func (j *Job) Space() (Space, error) {
	s, err := spaceOf(j.dir, &j.config, true)
	return s, readError(err)
}

// checkSpace refuses a crawl that would end at once because the disk or the directory is full.
func (j *Job) checkSpace() error {
	s, err := spaceOf(j.dir, &j.config, j.config.MaxDisk > 0)
	if err != nil {
		return readError(err)
	}
	switch left, by := s.Left(); {
	case left >= 0, j.uploads != nil: // what is stored makes room
		return nil
	case by == crawler.FinishMaxDisk:
		return refusedAs(ErrSpace, "job %s takes %s, more than max-disk (%s): give more, or remove what is not needed", j.dir, cli.Bytes(s.Used), cli.Bytes(s.MaxDisk))
	default:
		return refusedAs(ErrSpace, "the disk of %s has %s free, less than min-free (%s): make room, or set min-free", j.dir, cli.Bytes(s.Free), cli.Bytes(s.MinFree))
	}
}

// left is [Space.Left] at present.
func (j *Job) left() (int64, crawler.Finish, error) {
	s, err := spaceOf(j.dir, &j.config, j.config.MaxDisk > 0)
	left, by := s.Left()
	return left, by, err
}

// watchSpace returns hooks that end the crawl in good order when too little space is left. They look after each commit.
func (j *Job) watchSpace() *crawler.Trace {
	var mu sync.Mutex
	var next time.Time // when the directory is measured again
	return &crawler.Trace{Committed: func(c crawler.Commit) {
		if j.uploads != nil && c.Err == nil {
			j.uploads.committed()
		}
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		used := j.config.MaxDisk > 0 && now.After(next)
		s, err := spaceOf(j.dir, &j.config, used)
		if used {
			next = time.Now().Add(measurePart * time.Since(now))
		}
		if err != nil { // writing says what is wrong
			return
		}
		if left, by := s.Left(); left < 0 && (j.uploads == nil || !j.uploads.short()) {
			j.crawler.DrainFor(by)
		}
	}}
}
