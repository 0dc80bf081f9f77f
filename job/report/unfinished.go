package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Unfinished is the report of a job on which a process works, or whose last process was killed. It covers the job's files as they were
// when it was read.
type Unfinished struct{ s *source }

// ReadUnfinished reads a job, without changing anything in it. It returns nil if the last process has ended in good order.
func ReadUnfinished(r *job.Reader, c Commands) (*Unfinished, error) {
	m, err := r.Manifest()
	if err != nil || !m.Unfinished() {
		return nil, err
	}
	s, err := read(r, c)
	if err != nil {
		return nil, err
	}
	if s.open == "" { // the job has ended meanwhile
		return nil, nil
	}
	return &Unfinished{s}, nil
}

// Text returns the summary as readable text. The last line describes what it covers.
func (u *Unfinished) Text() string {
	return Text(u.s.report, u.s.open, nil) + fmt.Sprintf("  %-10s %s\n", "covers", cli.Printable(u.s.covers()))
}

// WriteTo writes the page and the lists that it names into a directory, which it makes if it is missing.
func (u *Unfinished) WriteTo(dir string) error {
	page, err := u.s.page()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &job.Error{Kind: job.Refused, Err: err}
	}
	for name, b := range map[string][]byte{job.HostsName: u.s.hostsCSV(), job.ProblemsName: u.s.list.csv(), job.PageName: page} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	if err != nil {
		return &job.Error{Kind: job.Storage, Err: err}
	}
	return nil
}

// readUnfinished reads the files of a job that has not ended.
func (s *source) readUnfinished(r *job.Reader) error {
	in, err := r.Interim(s.manifest, s.list.add)
	if err != nil {
		return err
	}
	s.report, s.facts, s.open, s.alive = in.Report, in.Facts, r.Standing(s.manifest), r.Running()
	if in.Queue != nil {
		s.open += ", what is left cannot be told"
	}
	if s.commands.Resume != "" {
		s.resume = s.commands.Resume + " " + cli.ShellWord(r.Dir())
	}
	return nil
}

// covers describes what the figures of an unfinished job cover.
func (s *source) covers() string {
	at := s.report.Ended.UTC().Format(time.DateTime) + " UTC"
	if s.alive {
		return "This crawl has not finished: what its process had written by " + at + " is covered."
	}
	return "This crawl was killed: what its last process had written by " + at + " is covered, some of which is repeated when it is resumed" + cli.After(": ", s.resume)
}
