package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// Names in an archive. They are those of a directory that "amble crawl" writes.
const (
	ledgerName = "ledger.jsonl"
	robotsName = "robots"
)

// store is the open files of an archive.
type store struct {
	dir    string
	warc   *warc.Writer
	visits *sink.JSONL
	ledger *os.File
	robots *rules
}

// open makes the directory and what is in it.
func open(o options) (s *store, err error) {
	if err := os.Mkdir(o.dir, 0o755); err != nil {
		return nil, err
	}
	s = &store{dir: o.dir, robots: &rules{dir: filepath.Join(o.dir, robotsName)}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := os.Mkdir(s.robots.dir, 0o755); err != nil {
		return nil, err
	}
	if s.ledger, err = os.Create(filepath.Join(o.dir, ledgerName)); err != nil {
		return nil, err
	}
	if s.visits, err = sink.OpenJSONL(filepath.Join(o.dir, "visits.jsonl")); err != nil {
		return nil, err
	}
	s.warc, err = warc.Open(filepath.Join(o.dir, "warc"), o.warc())
	return s, err
}

// warc is how the archive is written, and what its files say of themselves.
func (o options) warc() warc.Options {
	w := warc.Options{Prefix: "site", Info: warc.Info{
		Software: software, Operator: o.operator, IsPartOf: o.name, Robots: "obey",
		Description: "the site of " + o.seed.String(),
	}}
	if o.zstd {
		w.Compression = warc.Zstd
	}
	return w
}

const software = "amble-archive (amble/" + crawler.Version + ")"

// attach makes the store the place where a crawl's results go. The archive comes first: it puts on
// each visit where in it the answer is.
func (s *store) attach(cfg *crawler.Config) {
	cfg.Sinks = []sink.Sink{s.warc, s.visits}
	cfg.Politeness.Ledger = s.ledger
	cfg.KeepRobots = s.robots.keep
}

// close closes what is open.
func (s *store) close() error {
	var errs []error
	if s.warc != nil {
		errs = append(errs, s.warc.Close())
	}
	if s.visits != nil {
		errs = append(errs, s.visits.Close())
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing %s: %w", s.dir, err)
	}
	return nil
}
