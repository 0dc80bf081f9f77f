package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// outputs are the open files of a job.
type outputs struct {
	visits   *sink.JSONL
	archive  *warc.Writer // nil unless --format names it
	frontier *disk.Store
	ledger   *politeness.LedgerFile
	robots   *robotsKeeper

	closers []func() error // in the order of opening
}

// openOutputs opens what a crawl writes to, and makes it part of cfg.
func (j *jobDir) openOutputs(cfg *crawler.Config, archives bool) (*outputs, error) {
	o := &outputs{}
	if err := o.open(j, cfg, archives); err != nil {
		return nil, errors.Join(outputError(err), o.close())
	}
	cfg.Sinks = []sink.Sink{o.visits}
	if o.archive != nil { // first, so that visits can name their place in it
		cfg.Sinks = []sink.Sink{o.archive, o.visits}
	}
	cfg.Frontier, cfg.Politeness.Ledger, cfg.KeepRobots = o.frontier, o.ledger, o.robots.keep
	return o, nil
}

func (o *outputs) open(j *jobDir, cfg *crawler.Config, archives bool) (err error) {
	if o.ledger, cfg.Politeness.LedgerSize, err = politeness.OpenLedger(j.path(ledgerName)); err != nil {
		return err
	}
	o.closers = append(o.closers, o.ledger.Close)
	if o.robots, err = newRobotsKeeper(j.path(robotsName)); err != nil {
		return err
	}
	o.closers = append(o.closers, o.robots.Close)
	if err := o.openFrontier(j, cfg); err != nil {
		return err
	}
	if o.visits, err = sink.OpenJSONL(j.path(visitsName)); err != nil {
		return err
	}
	o.closers = append(o.closers, o.visits.Close)
	if !archives {
		return nil
	}
	o.archive, err = warc.Open(j.path(archiveName), warc.Options{Info: warc.Info{
		Software: "amble/" + crawler.Version, Operator: cfg.Contact, Robots: "obey", UserAgent: userAgent(cfg),
	}})
	if err == nil {
		o.closers = append(o.closers, o.archive.Close)
	}
	return err
}

// openFrontier opens the queue. It is closed after the sinks, which are committed together with it.
func (o *outputs) openFrontier(j *jobDir, cfg *crawler.Config) error {
	store, err := disk.Open(j.path(frontierName), disk.Config{
		Key: cfg.Canonical.Key, HostSlots: cfg.Politeness.OwnHosts, ReopenDelay: max(0, cfg.Politeness.Delay),
	})
	if err != nil {
		return err
	}
	o.frontier = store
	o.closers = append(o.closers, store.Close)
	return nil
}

// close closes what is open, what was opened last first.
func (o *outputs) close() error {
	var errs []error
	for i := len(o.closers) - 1; i >= 0; i-- {
		errs = append(errs, o.closers[i]())
	}
	o.closers = nil
	return outputError(errors.Join(errs...))
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
