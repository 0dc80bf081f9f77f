package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/weburl"
)

// Recording holds the responses of earlier crawls, for crawls that send nothing: see [Replay].
type Recording struct {
	archive *warc.Archive
	readers []*Reader
	jobs    bool // all recordings are of jobs, which record every response
	seed    maphash.Seed
	failed  []failure // sorted by key
	reasons []string
	copied  map[string]*fetcher.Recorded // robots.txt files that other crawls requested, by URL
}

// failure is a URL that failed without a response.
type failure struct {
	key    uint64 // hash of the URL
	reason int    // index in reasons
}

func (f failure) compare(g failure) int { return cmp.Compare(f.key, g.key) }

// Replay opens the recordings in job directories with an archive (Config.Archive, --archive), in other directories of archive files, or
// in archive files (.warc, .warc.gz, .warc.zst):
//
//	rec, err := job.Replay("job")
//	…
//	defer rec.Close()
//	err = rec.Apply(&config) // a crawler.Config
//
// A crawl with this configuration sends nothing and waits for nothing. Each URL has the last response recorded for it, or for another
// spelling of it, whatever its status, with its redirects and its robots.txt: a page that took three attempts succeeds at the first. A
// URL that failed in a job without a response fails for the same reason, and any other that was not recorded fails with
// fetcher.ReasonNotRecorded. In archive files from other crawlers, a missing robots.txt counts as one that does not exist, because many
// crawlers do not record it.
//
// It takes 16 bytes of memory for each response. An error wraps [ErrNoJob] if a directory has no archive, or names the damaged file and
// the offset in it; if a record turns out to be damaged later, its URL fails with such an error.
func Replay(paths ...string) (*Recording, error) {
	r := &Recording{jobs: true, seed: maphash.MakeSeed(), copied: map[string]*fetcher.Recorded{}}
	if err := r.open(paths); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open opens the archives.
func (r *Recording) open(paths []string) error {
	var names []string
	jobs := map[string]*Reader{} // keyed by the directory of the job's archives
	finished := true
	for _, path := range paths {
		in, archives, err := r.addJob(path)
		if err != nil {
			return err
		}
		if in == nil {
			r.jobs, finished = false, false
			if archives, err = warc.Files(path); err != nil {
				return &Error{Kind: Refused, Err: err}
			}
		} else {
			m, err := in.Manifest()
			if err != nil {
				return err
			}
			jobs[in.files.path(archiveName)], finished = in, finished && m.Finished()
		}
		names = append(names, archives...)
	}
	slices.SortFunc(r.failed, failure.compare)
	var err error
	r.archive, err = warc.OpenArchiveBy(func(name string) (warc.File, int64, error) {
		if in := jobs[filepath.Dir(name)]; in != nil {
			return in.openArchived(name)
		}
		return warc.OpenFile(name)
	}, normal, names...)
	if damaged := (*Error)(nil); errors.As(err, &damaged) {
		return damaged
	}
	if err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	if cut := r.archive.Cut(); len(cut) > 0 && finished {
		return &Error{Kind: Refused, Err: cut[0]}
	}
	if r.archive.Len() == 0 {
		return refusedAs(ErrNoJob, "no answers are archived in %s: crawl with the format warc (in a program: job.Config.Archive)", strings.Join(paths, ", "))
	}
	return nil
}

// addJob reads the failures of the job at path. It returns a Reader of the job, which Close closes, and the paths of its archives, or
// nil if there is none.
func (r *Recording) addJob(path string) (in *Reader, archives []string, err error) {
	if !Holds(path) {
		return nil, nil, nil
	}
	if in, err = Read(path); err != nil {
		return nil, nil, err
	}
	r.readers = append(r.readers, in)
	if archives, err = in.archivePaths(); err != nil {
		return nil, nil, err
	}
	if there, err := in.files.has(archiveName); len(archives) == 0 && !there && err == nil {
		return nil, nil, refusedAs(ErrNoJob, "job %s has no archive of answers: crawl with the format warc (in a program: job.Config.Archive)", path)
	}
	for v, err := range in.Visits() {
		if err != nil {
			return nil, nil, err
		}
		if v.Outcome == string(crawler.Failed) && v.Status == 0 {
			r.fail(v.URL, v.Reason)
		}
	}
	if err = r.addCopies(in); err != nil {
		return nil, nil, err
	}
	in, err = in.Committed() // an archive that has lost its end is an error
	return in, archives, err
}

// addCopies reads the robots.txt files that another crawl requested for this one. The job's archives do not contain them.
func (r *Recording) addCopies(in *Reader) error {
	begins := []byte(`{"event":"` + ledger.Copied + `"`)
	parse := parseLedger()
	var e ledger.Entry
	return readError(in.files.eachLine(LedgerName, func(_ int, line []byte) bool {
		if !bytes.HasPrefix(line, begins) || parse(line, &e) != nil || e.Attempt > 0 {
			return true
		}
		x := &fetcher.Recorded{Head: fmt.Appendf(nil, "HTTP/1.1 %d \r\n\r\n", e.Status)}
		if e.SHA256 != "" {
			body, err := in.RobotsBody(e.SHA256)
			if err != nil { // without its body, the file counts as not recorded
				return true
			}
			x.Payload = body
		}
		r.copied[normal(e.URL)] = x
		return true
	}))
}

func (r *Recording) fail(url, reason string) {
	i := slices.Index(r.reasons, reason)
	if i < 0 {
		i = len(r.reasons)
		r.reasons = append(r.reasons, reason)
	}
	r.failed = append(r.failed, failure{maphash.String(r.seed, normal(url)), i})
}

var errFailed = errors.New("it failed when it was recorded")

// normal returns the same text for all spellings of a URL.
func normal(url string) string {
	u, err := weburl.Parse(url)
	if err != nil {
		return url
	}
	return u.Normal()
}

// Apply makes c the configuration of a crawl of the recording: it sets Fetcher, with the limits of c.Fetch, Politeness.Offline and
// Retries. Because nothing is sent, it removes Login, the header fields of Hosts, and the ledger, which records requests. The Crawler
// must not be used after Close. The error concerns c.Fetch.
func (r *Recording) Apply(c *crawler.Config) error {
	f, err := fetcher.NewReplayer(c.Fetch, r.find)
	if err != nil {
		return err
	}
	c.Fetcher, c.Login, c.Retries.Max = f, nil, crawler.Zero
	c.Hosts = slices.Clone(c.Hosts)
	for i := range c.Hosts {
		c.Hosts[i].Header = nil
	}
	c.Politeness.Offline, c.Politeness.Ledger, c.Politeness.SignHead = true, nil, nil
	return nil
}

// URLs returns the URLs of the recorded responses, like warc.Archive.URLs.
func (r *Recording) URLs() iter.Seq2[string, error] { return r.archive.URLs() }

// Close closes the files.
func (r *Recording) Close() error {
	var errs []error
	if r.archive != nil {
		errs = append(errs, r.archive.Close())
	}
	for _, in := range r.readers {
		errs = append(errs, in.Close())
	}
	return errors.Join(errs...)
}

// find looks up responses for fetcher.NewReplayer.
func (r *Recording) find(u weburl.URL, why politeness.Purpose) (*fetcher.Recorded, error) {
	x, err := r.archive.Find(u.String())
	switch {
	case err == nil:
		return &fetcher.Recorded{Addr: x.Addr, Head: x.Head, Payload: x.Payload, Truncated: x.Truncated}, nil
	case !errors.Is(err, warc.ErrNotArchived):
		return nil, err
	case why == politeness.Robots && r.copied[u.Normal()] != nil:
		x := *r.copied[u.Normal()]
		return &x, nil
	case why == politeness.Robots && !r.jobs:
		return &fetcher.Recorded{Head: []byte("HTTP/1.1 404 \r\n\r\n")}, nil
	}
	if i, ok := slices.BinarySearchFunc(r.failed, failure{key: maphash.String(r.seed, u.Normal())}, failure.compare); ok {
		return nil, &fetcher.Error{Reason: r.reasons[r.failed[i].reason], Phase: fetcher.PhaseRequest, Err: errFailed}
	}
	return nil, fmt.Errorf("%w: %w", fetcher.ErrNotRecorded, err)
}

// Pages reads responses in the archive of a job, as the pages that a crawl gets. It is safe for concurrent use until Close.
type Pages struct {
	archive *warc.Archive
	read    *fetcher.Replayer
}

// Pages opens the archive of the job, nil if the job has none. The error concerns its files or settings.
func (r *Reader) Pages() (*Pages, error) {
	archives, err := r.Archives()
	if err != nil || len(archives) == 0 {
		return nil, err
	}
	cfg, err := r.Config()
	if err != nil {
		return nil, err
	}
	archive, err := r.OpenArchive()
	if err != nil {
		return nil, &Error{Kind: Storage, Err: err}
	}
	return newPages(archive, cfg.Crawl.Fetch)
}

// OpenArchive opens the archive of the job, including files that only its store has: see [warc.OpenArchive].
func (r *Reader) OpenArchive() (*warc.Archive, error) {
	paths, err := r.archivePaths()
	if err != nil {
		return nil, err
	}
	archive, err := warc.OpenArchiveBy(r.openArchived, nil, paths...)
	if damaged := (*Error)(nil); errors.As(err, &damaged) {
		return nil, damaged
	}
	return archive, err
}

// archivePaths returns the paths of the archive files, oldest first. Some may exist only in the store.
func (r *Reader) archivePaths() ([]string, error) {
	names, err := r.archiveNames()
	for i, name := range names {
		names[i] = r.files.path(name)
	}
	return names, err
}

// openArchived opens a file in the directory of archives, or in the store if only that has it, and returns its size, or its size at the
// commit up to which r reads.
func (r *Reader) openArchived(file string) (warc.File, int64, error) {
	name := path.Join(archiveName, filepath.Base(file))
	size, err := r.files.size(name)
	if err != nil {
		return nil, 0, err
	}
	if limit, limited := r.limits[name]; limited {
		if size < limit {
			return nil, 0, r.files.told(name, short(size, limit))
		}
		size = limit
	}
	f, err := r.files.open(name)
	return f, size, err
}

// newPages returns the Pages of an archive. On error it closes the archive.
func newPages(archive *warc.Archive, fetch fetcher.Config) (*Pages, error) {
	fetch.Wanted, fetch.Signer, fetch.Headers = nil, nil, nil // these fields affect only requests, and none is sent
	read, err := fetcher.NewReplayer(fetch, nil)
	if err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	return &Pages{archive, read}, nil
}

// Read returns the archived page of a visit (sink.Record.WARC) whose URL is u. The caller must release it. The error means that the
// archive is damaged there.
func (p *Pages) Read(ctx context.Context, u weburl.URL, at *sink.Location) (*fetcher.Page, error) {
	page, _, err := p.ReadRecord(ctx, u, at)
	return page, err
}

// ReadRecord is like [Pages.Read] and also returns the response as archived.
func (p *Pages) ReadRecord(ctx context.Context, u weburl.URL, at *sink.Location) (*fetcher.Page, *warc.Answer, error) {
	a, err := p.archive.At(at.File, at.Offset)
	if err != nil {
		return nil, nil, err
	}
	page, err := p.read.Read(ctx, u, &fetcher.Recorded{Addr: a.Addr, Head: a.Head, Payload: a.Payload, Truncated: a.Truncated})
	return page, a, err
}

// Close closes the archive.
func (p *Pages) Close() error { return p.archive.Close() }
