package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Reader reads the files of a job, which may still be running. It changes nothing and does not block the process that works on
// the job. Its methods may be called concurrently.
type Reader struct {
	dir    string // directory as given by the user
	files  jobFiles
	limits map[string]int64 // length up to which files are read, by name; other files are read to the end
}

// Read opens a directory for reading. Whether it holds a job is reported by Manifest.
func Read(dir string) (*Reader, error) {
	files, err := openJobFiles(dir)
	if err != nil {
		return nil, refusedAs(ErrNoJob, "%s holds no crawl: %w", dir, err)
	}
	return &Reader{dir: dir, files: files}, nil
}

// Close closes the directory.
func (r *Reader) Close() error { return r.files.close() }

// Dir returns the directory.
func (r *Reader) Dir() string { return r.dir }

// Manifest returns the job's manifest: its contents, its processes and its progress. The error wraps ErrNoJob if there is no job.
func (r *Reader) Manifest() (*Manifest, error) {
	m, err := readManifest(r.dir)
	if err == nil && m == nil {
		err = noCrawl(r.dir)
	}
	return m, err
}

// NodeName is the file that marks the directory of a node, one of several machines that share a job. Below it are the directories of
// shards, which contain their epochs.
const NodeName = "node.json"

// noCrawl returns the error for a directory without a job. If it has a node's part of one, the error says what to do.
func noCrawl(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	for node, depth := abs, 0; depth < 3; node, depth = filepath.Dir(node), depth+1 {
		if _, err := os.Stat(filepath.Join(node, NodeName)); err == nil {
			return refusedAs(ErrNoJob, "%s is what one node has of a job that several share: collect the job of the cluster into one directory of all nodes", dir)
		}
	}
	return refusedAs(ErrNoJob, "directory %s holds no crawl", dir)
}

// Settings returns the settings of the job, as in its job.yaml.
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

// File returns the job's job.yaml.
func (r *Reader) File() (*File, error) {
	b, err := r.files.readSettings(jobName)
	if err != nil {
		return nil, &FileError{err}
	}
	return parseFile(r.files.path(jobName), b)
}

// Visits returns the job's visits, in the order in which they ended. The sequence ends after an error.
func (r *Reader) Visits() iter.Seq2[*sink.Record, error] {
	return records2(r, VisitsName, parseVisits)
}

// Links returns the links of the job's pages, if it was crawled with Config.Links; otherwise the error is fs.ErrNotExist. The
// sequence ends after an error.
func (r *Reader) Links() iter.Seq2[*sink.Outlink, error] {
	return records2(r, LinksName, parseJSON[sink.Outlink])
}

// RobotsAnswers returns the answers to the job's requests for robots.txt files, oldest first. The sequence ends after an error.
func (r *Reader) RobotsAnswers() iter.Seq2[*RobotsAnswer, error] {
	return records2(r, path.Join(robotsName, indexName), parseJSON[RobotsAnswer])
}

// Ledger returns the lines of the job's ledger. The sequence ends after an error.
func (r *Reader) Ledger() iter.Seq2[*ledger.Entry, error] {
	return records2(r, LedgerName, parseLedger)
}

// parseJSON returns a function that decodes lines of JSON.
func parseJSON[T any]() func([]byte, *T) error {
	return func(line []byte, v *T) error { return json.Unmarshal(line, v) }
}

// parseVisits returns a function that decodes lines of visits.
func parseVisits() func([]byte, *sink.Record) error { return new(sink.Parser).Parse }

// parseLedger returns a function that decodes lines of a ledger.
func parseLedger() func([]byte, *ledger.Entry) error {
	var p ledger.Parser
	return func(line []byte, e *ledger.Entry) error {
		if p.Parse(bytes.TrimSuffix(line, []byte("\n")), e) == nil {
			return nil
		}
		*e = ledger.Entry{}
		return json.Unmarshal(line, e) // accept the JSON of other programs, too
	}
}

// records2 returns the lines of a JSON Lines file.
func records2[T any](r *Reader, name string, parser func() func([]byte, *T) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		stopped, parse := false, parser()
		in, err := r.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = in.Close() }() // only read, so an error of closing loses nothing
		err = jsonl.Lines(in, func(n int, line []byte) bool {
			v := new(T)
			err := parse(line, v)
			if err != nil {
				v, err = nil, readError(fmt.Errorf("line %d of %s: %w", n, r.files.path(name), err))
			}
			stopped = !yield(v, err) || err != nil
			return !stopped
		})
		if err != nil && !stopped {
			yield(nil, readError(r.files.lineError(name, err)))
		}
	}
}

// RobotsBody returns the body of a robots.txt as received, by the SHA-256 in the ledger or in robots/index.jsonl.
func (r *Reader) RobotsBody(sha256 string) ([]byte, error) { return r.files.robotsBody(sha256) }

// Replace atomically writes a file into the job's directory. A file with a name that a job does not know (it knows [PageName], for
// example) prevents the job from being resumed.
func (r *Reader) Replace(name string, b []byte) error { return outputError(r.files.replace(name, b)) }

// Written returns the content of a file written by Replace, nil if there is none.
func (r *Reader) Written(name string) ([]byte, error) {
	b, err := r.files.read(name)
	if missingFile(err) {
		return nil, nil
	}
	return b, readError(err)
}

// QueueState returns the state of a URL in the job's queue. It opens the queue for this look-up; the error wraps ErrHeld while a
// process works on the job.
func (r *Reader) QueueState(u weburl.URL) (disk.State, error) {
	c, err := r.Config()
	if err != nil {
		return disk.Unknown, err
	}
	t := teller{r, &c.Crawl}
	return t.queueState(u)
}

// Config returns the configuration that the job's settings describe. Settings that cannot be restored, such as a proxy whose password
// was not kept, are left out.
func (r *Reader) Config() (Config, error) {
	all, err := r.Settings()
	if err != nil {
		return Config{}, err
	}
	c, _ := all.Config()
	return c, nil
}

// missingFile reports whether the cause of an error is a missing file.
func missingFile(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Queue calls f with each host that has URLs left in the job's queue, and returns the numbers of URLs that are done and that were
// rejected. It opens the queue read-only, which is possible while a process works on the job; the latest writes may be missing.
func (r *Reader) Queue(f func(disk.HostCount) error) (done, rejected int, err error) {
	var hosts []disk.HostCount
	for try := 0; ; try++ {
		hosts = hosts[:0]
		done, rejected, err = disk.ReadHosts(r.files.path(frontierName), func(c disk.HostCount) error {
			hosts = append(hosts, c)
			return nil
		})
		if err == nil || missingFile(err) || try == 5 || !r.Running() { // a file may have been replaced meanwhile
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return 0, 0, readError(err)
	}
	for _, h := range hosts {
		if err := f(h); err != nil {
			return done, rejected, err
		}
	}
	return done, rejected, nil
}

// HostStates reads the ledger and returns a function that describes the state of a host (weburl.URL.Host) at the end of the ledger: its
// delay, how long it must wait, and why. A request without an end counts as ended now.
func (r *Reader) HostStates() (func(host string) politeness.HostInfo, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	cfg, err := r.Crawler(&c)
	if err != nil {
		return nil, err
	}
	p := cfg.Politeness
	p.Identity, p.Contactless = cfg.Identity(), cfg.Contact == ""
	f, err := r.files.stream(LedgerName)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	p.LedgerSize = f.Size()
	gate, err := politeness.NewGate(p)
	if err == nil {
		err = gate.Replay(f, r.RobotsBody)
	}
	if err != nil {
		return nil, readError(err)
	}
	return gate.Host, nil
}
