// Package export converts the results of a job to formats that other programs read: tables, the log of another crawler, an
// archive in one file.
//
//	r, err := job.Read("job")
//	…
//	_, err = export.Write(ctx, r, export.CSV(), "job-csv", nil)
//
// A [Kind] is one format. The kinds of this package need no library; job/export/sqlite and job/export/parquet need one each, so
// that a program links only the libraries that it uses. An export is written whole or not at all. It covers a job as far as its
// last commit, also while a process works on the job, and its memory does not grow with the number of visits.
package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Kind is a format in which jobs are exported.
type Kind struct {
	Name   string   // "csv", "wacz", …
	Doc    string   // description and intended readers, in one line
	Suffix string   // default name of the file or directory: the job's name with this suffix
	Dir    bool     // the output is a directory
	Many   bool     // the kind accepts several jobs, as [Export.Jobs]
	Tables []*Table // tables of the format, for its documentation; nil if the format is not a set of tables

	// Write writes to x.Path, which does not exist yet or, with Dir, is an empty directory. If it returns an error, everything
	// there is removed. An error that is not a *job.Error counts as an error of writing.
	Write func(x *Export) error
}

// Progress reports the progress of an export.
type Progress struct {
	Visits   int   // visits read; some are read more than once
	Requests int   // requests read
	Links    int   // links read
	Pages    int   // pages read from the archive
	Bytes    int64 // bytes written to files that count towards progress
}

// Export is an export that is being written. It is not safe for concurrent use.
type Export struct {
	Job  *job.Reader   // limited to its last commit
	Jobs []*job.Reader // Job and the other jobs of a kind that accepts several, in the order of [WriteAll]
	Path string        // output path
	Temp string        // a directory for temporary files, which is removed afterwards

	ctx   context.Context
	done  Progress
	tell  func(Progress)
	notes []string
}

// Result describes data that an export has left out.
type Result struct {
	Notes []string // notes about the data, one sentence each
}

// tempPrefix begins the names of directories in which exports are written until they are complete.
const tempPrefix = ".amble-export-"

// Write exports a job to path, which must not exist: a file, or a directory for some kinds. It is written under another name in the same
// directory and then renamed, so that an incomplete export never has the name path; a process that is killed may leave a directory whose
// name begins with .amble-export-. progress is called now and then; it may be nil. The error is a *job.Error, or the error of the context.
func Write(ctx context.Context, r *job.Reader, k Kind, path string, progress func(Progress)) (*Result, error) {
	return WriteAll(ctx, []*job.Reader{r}, k, path, progress)
}

// WriteAll is like [Write] for one or more jobs. For several, the kind must have [Kind.Many].
func WriteAll(ctx context.Context, rs []*job.Reader, k Kind, path string, progress func(Progress)) (*Result, error) {
	if len(rs) != 1 && !k.Many {
		return nil, refused("an export of the kind %s has one job, not %d", k.Name, len(rs))
	}
	var jobs []*job.Reader
	for _, r := range rs {
		if err := checkTarget(r, path); err != nil {
			return nil, err
		}
		if _, err := r.Manifest(); err != nil {
			return nil, err
		}
		committed, err := r.Committed()
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, committed)
	}
	parent := filepath.Dir(path)
	temp, err := os.MkdirTemp(parent, tempPrefix+"*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refused("there is no directory %s: make it first, or name another place", parent)
	}
	if err != nil {
		return nil, writeError(path, err)
	}
	x := &Export{Job: jobs[0], Jobs: jobs, Path: filepath.Join(temp, "out"), Temp: filepath.Join(temp, "tmp"), ctx: ctx, tell: progress}
	err = x.run(k, path)
	if cleaned := os.RemoveAll(temp); err == nil && cleaned != nil {
		x.Note("%s could not be removed: %v", temp, cleaned)
	}
	return &Result{x.notes}, err
}

// checkTarget reports why nothing can be written to path.
func checkTarget(r *job.Reader, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return refused("%s exists already: remove it, or name another place", path)
	}
	dir, err := filepath.Abs(r.Dir())
	if err != nil {
		return writeError(path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return writeError(path, err)
	}
	within, err := filepath.Rel(dir, abs)
	first, _, _ := strings.Cut(filepath.ToSlash(within), "/")
	if err == nil && first != ".." && first != "extra" {
		return refused("%s is in the job's directory, which only the crawl writes to: name a place outside it, or in %s, which is yours", path, filepath.Join(r.Dir(), "extra"))
	}
	return nil
}

// run writes the export under a temporary name and then publishes it at path.
func (x *Export) run(k Kind, path string) error {
	err := os.Mkdir(x.Temp, 0o700)
	if err == nil && k.Dir {
		err = os.Mkdir(x.Path, 0o755)
	}
	if err == nil {
		err = k.Write(x)
	}
	if err == nil {
		err = x.ctx.Err()
	}
	if err == nil {
		err = publish(x.Path, path, k.Dir)
	}
	return writeError(path, err)
}

// publish renames a finished export, unless its name is taken meanwhile.
func publish(from, to string, dir bool) error {
	if dir {
		if err := errors.Join(durable.Dir(from), os.Rename(from, to)); err != nil {
			return err
		}
		return durable.Dir(filepath.Dir(to))
	}
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system may have no hard links: rename the file instead
		if _, there := os.Lstat(to); there == nil {
			return fs.ErrExist
		}
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return durable.Dir(filepath.Dir(to))
}

// Note adds a sentence about data that the export lacks.
func (x *Export) Note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

// Notes returns the notes so far.
func (x *Export) Notes() []string { return slices.Clone(x.notes) }

// Context returns the context of the export.
func (x *Export) Context() context.Context { return x.ctx }

// every is the number of rows between two calls of a progress function.
const every = 512

// step counts an item that was read.
func (x *Export) step(n *int) error {
	if *n++; *n%every != 0 {
		return nil
	}
	return x.report()
}

// Read counts a page read from the archive. The error is the error of the context.
func (x *Export) Read() error { return x.step(&x.done.Pages) }

// Wrote counts bytes written to the export.
func (x *Export) Wrote(n int64) { x.done.Bytes += n }

func (x *Export) report() error {
	if x.tell != nil {
		x.tell(x.done)
	}
	return x.ctx.Err()
}

// Visits returns the visits of the job. The sequence ends after an error, including the error of the context.
func (x *Export) Visits() iter.Seq2[*sink.Record, error] { return x.VisitsOf(x.Job) }

// VisitsOf is like Visits for one of Jobs.
func (x *Export) VisitsOf(r *job.Reader) iter.Seq2[*sink.Record, error] {
	return func(yield func(*sink.Record, error) bool) {
		for v, err := range r.Visits() {
			if err == nil {
				err = x.step(&x.done.Visits)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// refused returns an error that tells the user what to do instead.
func refused(format string, args ...any) error {
	return &job.Error{Kind: job.Refused, Err: fmt.Errorf(format, args...)}
}

// Refused returns an error for a job that cannot be exported in this way. The text must say why and what to do.
func Refused(format string, args ...any) error { return refused(format, args...) }

// writeError returns an error of writing to path.
func writeError(path string, err error) error {
	var known *job.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, fs.ErrExist) {
		return refused("%s exists already: it was made meanwhile, and is left as it is", path)
	}
	return &job.Error{Kind: job.Storage, Err: fmt.Errorf("%s could not be written, and nothing of it is left: %w", path, err)}
}

// output is a file of an export.
type output struct {
	x *Export
	f *os.File
	*bufio.Writer
}

// create creates a file of the export.
func (x *Export) create(path string) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	o := &output{x: x, f: f}
	o.Writer = bufio.NewWriterSize(counted{x, f}, 256<<10) // bufio.Writer keeps the first error for Flush
	return o, nil
}

// counted counts the bytes written through it.
type counted struct {
	x *Export
	w io.Writer
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.x.Wrote(int64(n))
	return n, err
}

// finish makes the file durable and closes it. After an error it only closes it.
func (o *output) finish(err error) error {
	if err == nil {
		err = o.Flush()
	}
	if err == nil {
		err = o.f.Sync()
	}
	return errors.Join(err, o.f.Close())
}

// WriteFile creates a file, fills it through a buffer and makes it durable. Its bytes count towards progress.
func (x *Export) WriteFile(path string, fill func(w *bufio.Writer) error) error {
	o, err := x.create(path)
	if err != nil {
		return err
	}
	return o.finish(fill(o.Writer))
}

// Kinds returns the kinds that need no library.
func Kinds() []Kind {
	return []Kind{CSV(), CrawlLog(), WACZ(), HostGraph(), PageGraph()}
}
