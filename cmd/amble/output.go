package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// output is where a crawl's results go: stdout, or a directory of files.
type output struct {
	dir    string // "" is stdout
	visits *sink.JSONL
	ledger io.Writer     // nil with stdout
	robots *robotsKeeper // nil with stdout
	warc   *warc.Writer  // nil unless --format names it
	files  []io.Closer
}

// openOutput makes the output that -o names, with the job as it was resolved in it.
func (c *crawlCmd) openOutput(stdout io.Writer, job string) (*output, error) {
	if c.Out == "" {
		return &output{visits: sink.NewJSONL(stdout)}, nil
	}
	if _, err := os.Stat(filepath.Join(c.Out, "visits.jsonl")); err == nil {
		return nil, usage("--out: directory %s holds a crawl already, which is left as it is: name a new one", c.Out)
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return nil, outputError(err)
	}
	if err := os.WriteFile(filepath.Join(c.Out, "job.yaml"), []byte(job), 0o644); err != nil {
		return nil, outputError(err)
	}
	o := &output{dir: c.Out}
	if err := o.open(); err != nil {
		return nil, errors.Join(outputError(err), o.closeFiles())
	}
	return o, nil
}

// open opens the files of the directory.
func (o *output) open() error {
	ledger, err := os.OpenFile(filepath.Join(o.dir, "ledger.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	o.ledger, o.files = ledger, append(o.files, ledger)
	if o.robots, err = newRobotsKeeper(filepath.Join(o.dir, "robots")); err != nil {
		return err
	}
	o.files = append(o.files, o.robots)
	o.visits, err = sink.OpenJSONL(filepath.Join(o.dir, "visits.jsonl"))
	return err
}

// archive opens the archive that --format asks for.
func (o *output) archive(formats words, cfg *crawler.Config) error {
	for _, f := range formats {
		if f != "jsonl" && f != "warc" {
			return usage("--format %s: want jsonl or warc", f)
		}
	}
	if !slices.Contains(formats, "warc") {
		return nil
	}
	if o.dir == "" {
		return usage("--format warc: an archive needs a directory: name one with --out")
	}
	w, err := warc.Open(filepath.Join(o.dir, "warc"), warc.Options{Info: warc.Info{
		Software: "amble/" + crawler.Version, Operator: cfg.Contact, Robots: "obey", UserAgent: userAgent(cfg),
	}})
	o.warc = w
	return outputError(err)
}

// sinks are the outputs in their order: the archive first, so that visits can name their place in it.
func (o *output) sinks() []sink.Sink {
	if o.warc != nil {
		return []sink.Sink{o.warc, o.visits}
	}
	return []sink.Sink{o.visits}
}

func (o *output) closeFiles() error {
	var errs []error
	for _, f := range o.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// close ends the output, with the report of a crawl that began.
func (o *output) close(end *ending) error {
	err := errors.Join(o.visits.Close(), o.closeFiles())
	if o.warc != nil {
		err = errors.Join(err, o.warc.Close())
	}
	if o.dir != "" && end != nil {
		b := append(newReport(end, nil).line(), '\n')
		err = errors.Join(err, os.WriteFile(filepath.Join(o.dir, "report.json"), b, 0o644))
	}
	return outputError(err)
}

// outputError is an error of writing results.
func outputError(err error) error {
	if err == nil || errors.Is(err, errClosed) {
		return err
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("output %s cannot be written: %w", path.Path, path.Err)
	}
	return &exitError{exitOutput, err}
}
