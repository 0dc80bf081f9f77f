package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Reader reads what a job left, or is leaving: nothing in the directory is changed, and a process that works on the job
// is not kept from it. Its methods may be called concurrently.
type Reader struct {
	dir   string // as the user named it
	files jobFiles
}

// Read opens a directory for reading. Whether it holds a job is told by Manifest.
func Read(dir string) (*Reader, error) {
	files, err := openJobFiles(dir)
	if err != nil {
		return nil, refusedAs(ErrNoJob, "%s holds no crawl: %w", dir, err)
	}
	return &Reader{dir, files}, nil
}

// Close closes the directory.
func (r *Reader) Close() error { return r.files.close() }

// Dir is the directory.
func (r *Reader) Dir() string { return r.dir }

// Manifest says how the job came to be, and how far it is. The error wraps ErrNoJob if there is none.
func (r *Reader) Manifest() (*Manifest, error) {
	m, err := readManifest(r.dir)
	if err == nil && m == nil {
		err = refusedAs(ErrNoJob, "directory %s holds no crawl", r.dir)
	}
	return m, err
}

// Settings are those of the job, as its job.yaml has them.
func (r *Reader) Settings() (Settings, error) {
	f, err := r.File()
	if err != nil {
		return nil, err
	}
	all, err := f.Settings()
	if err != nil {
		return nil, &Error{Kind: Refused, Err: err}
	}
	return all, nil
}

// File is the job's job.yaml.
func (r *Reader) File() (*File, error) {
	b, err := r.files.read(jobName)
	if err != nil {
		return nil, &FileError{err}
	}
	return parseFile(r.files.path(jobName), b)
}

// Visits are the job's visits, in the order in which they ended. The sequence ends after an error.
func (r *Reader) Visits() iter.Seq2[*sink.Record, error] {
	return records2[sink.Record](r.files.plainDir, VisitsName)
}

// Ledger are the lines of the job's ledger. The sequence ends after an error.
func (r *Reader) Ledger() iter.Seq2[*ledger.Entry, error] {
	return records2[ledger.Entry](r.files.plainDir, LedgerName)
}

// records2 are the lines of a file of JSON.
func records2[T any](d plainDir, name string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		stopped := false
		err := d.eachLine(name, func(n int, line []byte) bool {
			v := new(T)
			err := json.Unmarshal(line, v)
			if err != nil {
				v, err = nil, readError(fmt.Errorf("line %d of %s: %w", n, d.path(name), err))
			}
			stopped = !yield(v, err) || err != nil
			return !stopped
		})
		if err != nil && !stopped {
			yield(nil, readError(err))
		}
	}
}

// RobotsBody is the body of a robots.txt as it was received, by the SHA-256 in the ledger or in robots/index.jsonl.
func (r *Reader) RobotsBody(sha256 string) ([]byte, error) { return r.files.robotsBody(sha256) }

// Replace writes a file into the job's directory, whole or not at all. Only files whose names a job knows, such as
// [PageName], do not keep the job from being resumed.
func (r *Reader) Replace(name string, b []byte) error { return outputError(r.files.replace(name, b)) }

// QueueState is where the job's queue has a URL. The queue is opened for this one look; the error wraps ErrHeld while a
// process works on the job.
func (r *Reader) QueueState(u weburl.URL) (disk.State, error) {
	c, err := r.config()
	if err != nil {
		return disk.Unknown, err
	}
	t := teller{Reader: r, profile: c.Crawl.Canonical}
	return t.queueState(u)
}

// config is the configuration that the job's settings come to. What cannot be in force again, as a proxy whose password
// was not kept, is left out.
func (r *Reader) config() (Config, error) {
	all, err := r.Settings()
	if err != nil {
		return Config{}, err
	}
	c, _ := all.Config()
	return c, nil
}

// missingFile reports whether an error is that of a file that is not there.
func missingFile(err error) bool { return errors.Is(err, fs.ErrNotExist) }
