package job

import (
	"cmp"
	"context"
	"errors"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// outputs are the open files of a job.
type outputs struct {
	visits   *sink.JSONL
	items    []sink.Sink  // sinks that only get results
	archive  *warc.Writer // nil unless an archive is configured
	frontier *disk.Store
	ledger   *ledger.File
	robots   *robotsKeeper
	commits  *commits
	cookies  *cookieKeeper // nil unless cookies are kept

	archivePrefix string         // prefix of the names of archives; "": the default
	closers       []func() error // in the order of opening
}

// openOutputs opens the outputs of a crawl, and adds them to cfg.
func (j *Job) openOutputs(cfg *crawler.Config) (*outputs, error) {
	o := &outputs{}
	if err := o.open(j, cfg); err != nil {
		return nil, firstOf(outputError(j.files.queueError(err)), o.close())
	}
	sinks := []sink.Sink{o.visits}
	if o.archive != nil { // the archive comes first, so that visits can refer to their position in the archive
		sinks = []sink.Sink{o.archive, o.visits}
	}
	cfg.Sinks = append(append(sinks, o.items...), cfg.Sinks...)
	if cfg.Render.Renders() {
		cfg.RenderDir = j.files.path(resourcesName)
	}
	cfg.Frontier, cfg.Politeness.Ledger, cfg.KeepRobots, cfg.AtCommit = o.frontier, o.ledger, o.robots.keep, j.keepsLists(o.cookies.before(o.commits.values))
	return o, nil
}

func (o *outputs) open(j *Job, cfg *crawler.Config) (err error) {
	if err := o.openFrontier(j, cfg); err != nil {
		return err
	}
	if o.commits, err = j.openCommits(o.frontier); err != nil {
		return err
	}
	return o.openFiles(j, cfg)
}

// openFiles opens everything but the queue.
func (o *outputs) openFiles(j *Job, cfg *crawler.Config) (err error) {
	if o.ledger, cfg.Politeness.LedgerSize, err = o.commits.keepLines(LedgerName); err != nil {
		return err
	}
	o.closers = append(o.closers, o.ledger.Close)
	if o.robots, err = newRobotsKeeper(o.commits); err != nil {
		return err
	}
	o.closers = append(o.closers, o.robots.Close)
	if err := o.openVisits(); err != nil {
		return err
	}
	if o.cookies, err = j.openCookies(cfg, j.seeds); err != nil {
		return err
	}
	if j.config.Links {
		s, err := kept(o, LinksName, func(f *segmented) (sink.Sink, error) { return sink.AppendLinks(f, f.Name()) })
		if err != nil {
			return err
		}
		o.keep(s)
	}
	if j.config.Text {
		if err := o.openText(j.config.TextReader, cfg); err != nil {
			return err
		}
	}
	if err := o.openItems(j.config.Items); err != nil {
		return err
	}
	if j.config.Archive {
		err = o.openArchive(j, cfg)
	}
	return firstOf(err, j.files.sync())
}

func (o *outputs) openVisits() error {
	f, err := o.commits.keep(VisitsName)
	if err != nil {
		return err
	}
	if o.visits, err = sink.AppendJSONL(f, f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	o.closes(o.visits)
	return nil
}

func (o *outputs) openArchive(j *Job, cfg *crawler.Config) error {
	dir, err := j.files.sub(archiveName)
	if err != nil {
		return err
	}
	w := j.config.WARC
	w.Prefix = o.archivePrefix
	if most := j.config.segmentSize(); (j.config.MaxDisk > 0 || j.config.KeepLocal > 0) && most > 0 && (w.MaxSize <= 0 || w.MaxSize > most) {
		w.MaxSize = most // limit archives as segments are limited
	}
	if o.commits.age > 0 && w.MaxAge == 0 {
		w.MaxAge = o.commits.age
	}
	w.Info.Software, w.Info.Operator = cmp.Or(w.Info.Software, "amble/"+crawler.Version), cmp.Or(w.Info.Operator, cfg.Contact)
	w.Info.UserAgent, w.Info.Robots = cmp.Or(w.Info.UserAgent, cfg.Identity().UserAgent()), cmp.Or(w.Info.Robots, "obey")
	o.archive, err = warc.OpenRoot(dir.root, w)
	if err != nil {
		return errors.Join(err, dir.close())
	}
	o.commits.archive = o.archive
	o.closes(o.archive)
	return nil
}

// openFrontier opens the queue. It is closed after the sinks, which are committed with it.
func (o *outputs) openFrontier(j *Job, cfg *crawler.Config) error {
	if err := j.files.checkFrontier(); err != nil {
		return err
	}
	share := func(all, least int) int { return max(least, 4*all/max(4, j.config.Parallel)) } // from the fifth parallel job on, all share the memory of four
	store, err := disk.Open(j.files.path(frontierName), disk.Config{
		Key: cfg.Canonical.Key, HostSlots: cfg.Politeness.OwnHosts, ReopenDelay: max(0, cfg.Politeness.Delay),
		BestFirst: cfg.BestFirst, Patience: cfg.Patience(), LastWrite: j.files.path(lastWriteName), MaxTables: openfiles.Share(openfiles.Limit() / max(1, j.config.Parallel)).Tables,
		CacheSize: int64(share(disk.DefaultCacheSize, 4<<20)), MemTableSize: share(disk.DefaultMemTableSize, 1<<20),
		PrefetchSize: share(disk.DefaultPrefetchSize, 1<<20), KnownURLs: share(disk.DefaultKnownURLs, 1<<12),
	})
	if err != nil {
		return err
	}
	o.frontier = store
	o.closers = append(o.closers, store.Close)
	return nil
}

// keep makes a file with results part of the crawl.
func (o *outputs) keep(s sink.Sink) {
	o.items = append(o.items, s)
	o.closes(s)
}

// closes registers a sink for close.
func (o *outputs) closes(s sink.Sink) {
	o.closers = append(o.closers, func() error { return s.Close(context.Background()) })
}

// close closes everything in reverse order of opening.
func (o *outputs) close() error {
	var errs []error
	for i := len(o.closers) - 1; i >= 0; i-- {
		errs = append(errs, o.closers[i]())
	}
	o.closers = nil
	return outputError(errors.Join(errs...))
}
