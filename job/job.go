// Package job keeps a crawl in a directory: its queue, its visits, a ledger of every request, each robots.txt as it was received,
// its settings, and a list of its processes. Such a crawl survives the end of its process, even a crash, and its record can be
// read, explained and verified afterwards, by a program or with the command amble:
//
//	j, err := job.Create("site", job.Config{Crawl: crawler.Config{Contact: contact}}, "https://site.to.crawl/")
//	…
//	report, err := j.Run(ctx)
//
// and later
//
//	j, err := job.Open("site")
//
// Only one process at a time can work on a directory; others are refused. Files are opened only as regular files: no symbolic
// link is followed, and a file that was not made by a job is left alone.
//
// # Ways to a job
//
//   - [Create] begins a crawl in an empty directory.
//   - [Open] resumes it with its settings.
//   - [Resume] resumes it with other settings, as far as a job allows it, and with more seeds.
//   - [Start] is for programs that are run again and again: it creates the job, or resumes it.
//   - [Revisit] requests the pages of a job again; package watch does it with a budget.
//   - [Read] reads the results of a job so far, even while another process works on it.
package job

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/openfiles"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
	"github.com/amble-crawler/amble/stores/open"
	"github.com/amble-crawler/amble/weburl"
)

// Names in a job directory.
const (
	manifestName  = "manifest.json"
	jobName       = "job.yaml"
	lockName      = "lock"
	frontierName  = "frontier"
	lastWriteName = "frontier.last" // time of the last write to the queue
	robotsName    = "robots"
	settingsName  = "settings" // copies of files that settings name
	archiveName   = "warc"
	resourcesName = "resources" // resources loaded by rendered pages
	reportName    = "report.json"
	auditName     = "politeness.json"

	newSuffix = ".new" // suffix of files while they are written
)

// Names of the result files in a job directory.
const (
	VisitsName = "visits.jsonl" // one line per visit
	LinksName  = "links.jsonl"  // one line per link of a page, with Config.Links
	TextName   = "text.jsonl"   // one line per page with its main text, with Config.Text
	LedgerName = "ledger.jsonl" // two lines per request: one for its start and one for its end

	ItemsName      = "items.jsonl" // one line per result, with ItemsLines
	ItemsCSVName   = "items.csv"   // one row per result, with ItemsCSV
	ItemsTableName = "items.db"    // one row per result, with ItemsTable
)

// Names in a job directory that are reserved for files of package report.
const (
	PageName     = "report.html"  // the report as an HTML page
	HostsName    = "hosts.csv"    // a line for each host
	ProblemsName = "problems.csv" // a line for each URL that could not be fetched

	SheetName     = "datasheet.md"   // data sheet of the crawl, with answers by the researcher
	SheetDataName = "datasheet.json" // the same in machine-readable form
)

// Job is a crawl in a directory that this process has locked. Its methods are not safe for concurrent use, except for those that
// control a running crawl ([Job.Pause] and those after it) and [Job.HostPending]. The methods of its [crawler.Crawler] are safe,
// too, but their changes are not recorded.
type Job struct {
	dir      string // directory as given by the user
	files    jobFiles
	lock     *os.File
	manifest *Manifest // nil for a new job; guarded by recording while the crawl runs

	config  Config
	seeds   []weburl.URL
	out     *outputs
	uploads *uploads // nil: the job has no store
	crawler *crawler.Crawler
	notes   []string
	ended   bool

	recording sync.Mutex // held while the manifest is changed or written
}

// Holds reports whether the directory holds a job.
func Holds(dir string) bool {
	if dir == "" {
		return false
	}
	d, err := openJobFiles(dir)
	if err != nil {
		return false
	}
	defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	begun, err := d.has(manifestName)
	told, err2 := d.has(jobName)
	return begun && told && err == nil && err2 == nil
}

// Create begins a crawl in a directory, which must be empty or missing. It makes no requests; Run does.
func Create(dir string, c Config, seeds ...string) (*Job, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return nil, refused("directory %s is not empty: name another one, or resume the crawl in it", dir)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, outputError(err)
	}
	return Start(dir, c, seeds...)
}

// Open resumes the crawl in a directory with the settings in its job.yaml. URLs that ended with one of the outcomes in retry,
// [crawler.Failed] or [crawler.Deferred], are tried again. The error wraps ErrNoJob, ErrHeld, ErrFinished or ErrProgram, or says
// what is wrong with the directory. A job that another user or machine made is refused if its settings name files, variables or a
// browser: see [CheckMaker].
func Open(dir string, retry ...crawler.Outcome) (*Job, error) {
	c, seeds, err := asBegun(dir)
	if err != nil {
		return nil, err
	}
	return Resume(dir, c, seeds, retry...)
}

// asBegun returns the settings and the seeds of the crawl in a directory.
func asBegun(dir string) (c Config, seeds []string, err error) {
	if err := resumable(dir); err != nil {
		return c, nil, err
	}
	r, err := Read(dir)
	if err != nil {
		return c, nil, err
	}
	defer func() { _ = r.Close() }() // only read, so an error of closing loses nothing
	m, err := r.Manifest()
	if err != nil {
		return c, nil, err
	}
	all, err := r.Settings()
	if err != nil {
		return c, nil, err
	}
	if c, err = all.Config(); err != nil {
		return c, nil, &Error{Kind: Refused, Err: err}
	}
	return c, m.Seeds, CheckMaker(dir, &c)
}

// Resume is like Open, with other settings where a job allows them: pauses may become longer, limits and outputs may change, and
// seeds may be added. Settings that decided about URLs in the job (see [Fixed]) must not change. The manifest records the
// changes. If the settings are from the directory, call [CheckMaker] first.
func Resume(dir string, c Config, seeds []string, retry ...crawler.Outcome) (*Job, error) {
	if err := resumable(dir); err != nil {
		return nil, err
	}
	for _, o := range retry {
		if o != crawler.Deferred && o != crawler.Failed {
			return nil, &Error{Kind: Refused, Err: &KeyError{Key: "retry", Value: string(o), Err: errors.New("want deferred, failed or both")}}
		}
	}
	return start(dir, c, seeds, opening{retry: retry})
}

// resumable returns an error if a directory has no crawl that can be resumed.
func resumable(dir string) error {
	m, err := readManifest(dir)
	switch {
	case err != nil:
		return err
	case m == nil:
		if err := checkJobDir(dir); err != nil {
			return err
		}
		return refusedAs(ErrNoJob, "directory %s holds no crawl", dir).in(dir)
	case !Holds(dir):
		return refusedAs(ErrNoJob, "job %s was killed before its first request: begin it again with the same command", dir)
	}
	return nil
}

// Start calls Create if the directory holds no crawl, and Resume if it does.
func Start(dir string, c Config, seeds ...string) (*Job, error) {
	return start(dir, c, seeds, opening{})
}

// opening holds the reason why an existing job is opened.
type opening struct {
	retry  []crawler.Outcome
	change func(*crawler.Config) error // changes the configuration; set by Revisit
}

func start(dir string, c Config, seeds []string, why opening) (*Job, error) {
	seeds = slices.Clone(seeds)
	urls, err := parse(seeds)
	if err != nil {
		return nil, err
	}
	for i, u := range urls {
		seeds[i] = u.String()
	}
	cfg, err := c.forJob(dir, urls)
	if err == nil {
		err = checkContact(&cfg, urls)
	}
	if err != nil {
		return nil, err
	}
	if err := openfiles.Check(openfiles.Limit()); err != nil {
		return nil, &Error{Kind: Refused, Err: err}
	}
	if len(why.retry) == 0 && why.change == nil {
		if err := checkFinished(dir, c.recordable(), seeds); err != nil {
			return nil, err
		}
	}
	j, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	cfg.ShareMachine(c.State)
	if m := machine.Of(cfg.Politeness.Shared); m != nil {
		if err := m.AddJob(dir); err != nil {
			j.notef("the state directory does not know of the job: %v", err)
		}
	}
	j.config, j.seeds = c, urls
	if err := j.openStore(context.Background()); err != nil {
		return nil, errors.Join(err, j.release())
	}
	if err := j.checkSpace(); err != nil {
		return nil, errors.Join(err, j.release())
	}
	if c.lists != nil {
		j.notes = append(j.notes, c.lists.notes...)
	}
	shares, wanted := openfiles.Share(openfiles.Limit()/max(1, c.Parallel)), cfg.Concurrency
	shares.Restrain(&cfg)
	if note := shares.Note(wanted, cfg.Concurrency); note != "" {
		j.notef("%s", note)
	}
	if err := j.start(&cfg, seeds, why); err != nil {
		return nil, errors.Join(err, j.release())
	}
	if j.uploads != nil && j.uploads.claimed {
		_ = j.uploads.describe(context.Background()) // ignore an error: Run tries again
	}
	return j, nil
}

// forJob checks c, makes its paths absolute, and returns the configuration for package crawler. Lists that the job in dir keeps
// are read from there; dir is "" for a job without a directory.
func (c *Config) forJob(dir string, seeds []weburl.URL) (crawler.Config, error) {
	if err := c.validate(); err != nil {
		return crawler.Config{}, err
	}
	c.needCookies()
	if err := errors.Join(c.fill(), c.absolute()); err != nil {
		return crawler.Config{}, &Error{Kind: Refused, Err: err}
	}
	if dir != "" {
		if err := c.readLists(dir); err != nil && !errors.As(err, new(*KeyError)) { // errors about keys are returned by Crawler below
			return crawler.Config{}, err
		}
	}
	cfg, err := c.Crawler()
	if err = errors.Join(err, c.Access(&cfg, seeds...), c.checkOwn(), c.checkBrowser(), cfg.Validate()); err != nil {
		return cfg, &Error{Kind: Refused, Err: err}
	}
	return cfg, nil
}

// checkContact refuses a crawl of other people's sites without a contact, before a directory is made.
func checkContact(cfg *crawler.Config, seeds []weburl.URL) error {
	if err := cfg.Identity().Validate(OnLoopback(seeds)); err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	return nil
}

// OnLoopback reports whether all URLs are on this machine's loopback, by their names: crawling them needs no contact.
func OnLoopback(urls []weburl.URL) bool {
	for _, u := range urls {
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}

// parse returns seeds as URLs.
func parse(seeds []string) ([]weburl.URL, error) {
	res := make([]weburl.URL, len(seeds))
	for i, s := range seeds {
		u, err := weburl.Parse(s)
		if err != nil {
			return nil, refused("seed %q: %w", WithoutSecrets(s), err)
		}
		res[i] = u
	}
	return res, nil
}

// checkFinished returns ErrFinished if the job has nothing left to do with these settings and seeds.
func checkFinished(dir string, all Settings, seeds []string) error {
	m, err := readManifest(dir)
	if err != nil || m == nil || !m.Finished() {
		return err
	}
	_, err = changes(dir, m.Settings, all.recorded())
	added, seedErr := seedChanges(dir, m.Seeds, seeds)
	if err = errors.Join(err, seedErr); err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	if len(added) > 0 {
		return nil
	}
	return refusedAs(ErrFinished, "job %s ended at %s with nothing left (%s, %s): nothing is changed",
		dir, m.Last().Ended.Format(time.RFC3339), cli.Plural(m.Last().Pages, "page"), cli.Plural(m.Last().Requests, "request")).in(dir)
}

// lockDir locks the directory, and creates it if it is missing.
func lockDir(dir string) (*Job, error) {
	if err := checkJobDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, outputError(err)
	}
	files, err := openJobFiles(dir)
	if err != nil {
		return nil, outputError(err)
	}
	j := &Job{dir: dir, files: files}
	if err := j.take(); err != nil {
		return nil, errors.Join(err, j.release())
	}
	return j, nil
}

// take locks the directory and reads its manifest.
func (j *Job) take() (err error) {
	if j.lock, err = j.files.lockJob(); err != nil {
		return err
	}
	if err := errors.Join(j.files.checkJob(), j.files.checkCopy()); err != nil { // another process may have created the job meanwhile
		return err
	}
	if j.manifest, err = readManifest(j.dir); err != nil || j.manifest == nil || j.manifest.Collected == "" {
		return err
	}
	return refused("%s was collected from the %s, and cannot be resumed alone: resume the job of the cluster, and collect it into a new directory", j.dir, j.manifest.Collected)
}

// startUploads starts storing finished files, and returns a function that stops it.
func (j *Job) startUploads(ctx context.Context) (end func()) {
	if j.uploads == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { j.uploads.run(ctx) })
	running.Go(func() { j.uploads.keepLease(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// release unlocks the directory for other processes.
func (j *Job) release() error {
	if j.uploads != nil {
		j.uploads.leave()
		_ = open.Close(j.uploads.store) // all contents of the store were synced, so an error loses nothing
		j.uploads = nil
	}
	if j.lock == nil {
		return j.files.close()
	}
	err := errors.Join(j.files.closeLocked(j.lock), j.files.close())
	j.lock = nil
	return outputError(err)
}

// start opens the job's files and makes its crawler. If a job is resumed, nothing is changed until its files have been
// found intact.
func (j *Job) start(cfg *crawler.Config, seeds []string, why opening) error {
	fresh := j.manifest == nil
	if err := j.begin(time.Now(), seeds); err != nil {
		return err
	}
	if fresh {
		if err := j.note(); err != nil {
			return err
		}
	}
	err := j.open(cfg)
	if err == nil && !fresh {
		err = j.note()
	}
	noted := fresh || err == nil
	if err == nil {
		err = j.prepare(cfg, why)
	}
	if err == nil {
		return nil
	}
	if j.out != nil {
		err = errors.Join(err, j.out.close())
	}
	if noted {
		err = errors.Join(err, j.end(time.Now(), nil, err))
	}
	return err
}

// open opens the files of the job and makes them part of the crawl.
func (j *Job) open(cfg *crawler.Config) (err error) {
	j.out, err = j.openOutputs(cfg)
	if err == nil && j.out.commits.began {
		j.notef("job %s was begun by a version that kept no hashes of its files: they are kept from here on", j.dir)
	}
	return err
}

// prepare makes the crawler, and makes it continue where the previous process stopped.
func (j *Job) prepare(cfg *crawler.Config, why opening) (err error) {
	own, err := j.config.ownHosts()
	if err != nil {
		return err
	}
	if err := writeAuditConfig(j.files.plainDir, cfg, own, j.manifest.slowed()); err != nil {
		return err
	}
	if why.change != nil {
		if err := why.change(cfg); err != nil {
			return err
		}
	}
	if cfg.Politeness.Name == "" {
		abs, err := filepath.Abs(j.dir)
		if err != nil {
			return fmt.Errorf("job: %w", err)
		}
		cfg.Politeness.Name = filepath.Base(abs)
	}
	cfg.Trace = crawler.JoinTraces(cfg.Trace, j.watchSpace())
	j.restrain(cfg)
	if j.crawler, err = crawler.New(*cfg); err != nil {
		return beginError(err)
	}
	if err := j.crawler.NotShared(); err != nil {
		j.manifest.Last().NotShared = err.Error()
		j.notef("the hosts of this crawl are shared with no other process: %v", err)
	}
	if err := j.again(); err != nil {
		return err
	}
	if !j.created() {
		err = j.replay()
		j.noteSkew()
	}
	return firstOf(err, j.retry(why.retry))
}

// beginError returns the reason why a crawl could not begin: its configuration, or state that its last process left.
func beginError(err error) error {
	if errors.Is(err, crawler.ErrResume) {
		return outputError(err)
	}
	return &Error{Kind: Refused, Err: err}
}

// begin makes this process the owner of the job, with settings that may have changed.
func (j *Job) begin(now time.Time, seeds []string) error {
	run, settings, program := newRun(now), j.config.recordable().recorded(), j.config.Program()
	if j.manifest == nil {
		j.manifest = &Manifest{Schema: manifestSchema, Created: run.Started, Seeds: seeds}
	} else {
		list, err := changes(j.dir, j.manifest.Settings, settings)
		added, seedErr := seedChanges(j.dir, j.manifest.Seeds, seeds)
		if err := errors.Join(err, seedErr); err != nil {
			return &Error{Kind: Refused, Err: err}
		}
		if lost := missing(j.manifest.Program, program); len(lost) > 0 {
			return refusedAs(ErrProgram, "job %s was made by a program that sets %s, which no setting can say: resume it with that program; reading it needs none",
				j.dir, strings.Join(lost, ", "))
		}
		if len(added) > 0 {
			list = append(list, Change{Key: KeyURLs, To: strings.Join(added, " ")})
		}
		run.Changes, j.manifest.Seeds = list, append(j.manifest.Seeds, added...)
	}
	m := j.manifest
	m.Maker = thisMaker()
	run.Browser = j.config.Browser.Name
	m.Settings, m.Program, m.Runs = settings, program, append(m.Runs, run)
	return nil
}

// note records in the manifest that the process works on the job, once its files are known to be intact. The record is durable
// before the first request.
func (j *Job) note() error {
	if err := j.files.removeSums(); err != nil {
		return err
	}
	m := j.manifest
	m.Finish, m.Outputs = "", nil
	if _, err := j.keepLists(); err != nil {
		return err
	}
	if err := m.write(j.files.plainDir); err != nil {
		return outputError(err)
	}
	text := j.config.recordable().YAML(Setting{Name: KeyURLs, Values: m.Seeds, Origin: "seeds"})
	return outputError(j.files.replace(jobName, []byte(text)))
}

// tell sends a message to the operator while the crawl runs.
func (j *Job) tell(text string) {
	if j.config.Note != nil {
		j.config.Note(text)
	}
}

func (j *Job) notef(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// noteSkew adds a note if the ledger is dated in the future.
func (j *Job) noteSkew() {
	behind, longest := j.crawler.Gate().Skew()
	if behind >= time.Second {
		j.notef("the clock of this machine is %v behind the last lines of %s: it is wrong, or was wrong then. Each pause that was due begins anew, %v at most, and robots.txt files are fetched again",
			behind.Round(time.Second), j.files.path(LedgerName), longest.Round(time.Millisecond))
	}
}

// created reports whether no process has worked on the job before: the manifest lists each process before its first request. Only
// in that case there is no state of the gate to restore, and nothing to wait for. An empty ledger does not prove it: a killed
// process may have been about to connect.
func (j *Job) created() bool { return len(j.manifest.Runs) == 1 }

// replay makes the gate continue where the previous process stopped.
func (j *Job) replay() error {
	err := j.crawler.Gate().Replay(j.out.ledger.Reader(), func(sum string) ([]byte, error) { return j.files.robotsBody(sum) })
	if errors.Is(err, politeness.ErrReplay) {
		return refused("job %s cannot be resumed: what it may request and when is recorded in its %s, which was changed: %w", j.dir, LedgerName, err)
	}
	return outputError(err)
}

// Dir returns the directory of the job.
func (j *Job) Dir() string { return j.dir }

// Crawler returns the crawler of the job: to observe it, to score its queue with Rescore, even before Run, or to end it cleanly
// with Drain.
func (j *Job) Crawler() *crawler.Crawler { return j.crawler }

// Notes returns sentences for the operator about the state of the directory.
func (j *Job) Notes() []string { return slices.Clone(j.notes) }

// HostPending returns the number of URLs of a host that are left.
func (j *Job) HostPending(host string) int { return j.out.frontier.HostPending(host) }

// Run runs the crawl and records how it ended. The report covers the whole job, over all processes; it is nil if the
// crawl could not begin. When ctx ends, requests in flight are aborted; to let them finish, call Drain of the Crawler.
// Run closes everything but the lock.
func (j *Job) Run(ctx context.Context) (*crawler.Report, error) {
	if j.ended {
		return nil, refused("job %s has been run: open it again", j.dir)
	}
	endUploads := j.startUploads(ctx)
	rep, err := j.crawler.Run(ctx, j.manifest.Seeds...)
	endUploads()
	if rep == nil && err != nil {
		err = beginError(err)
	}
	return rep, j.finish(rep, err)
}

// finish closes the files and writes report and manifest. A crawl without a response from any host counts as ended normally.
func (j *Job) finish(rep *crawler.Report, runErr error) error {
	err := j.files.queueError(runErr)
	if errors.As(runErr, new(*crawler.UnreachableError)) {
		err = nil
	}
	err = firstOf(err, j.out.close())
	if rep != nil {
		err = firstOf(err, j.writeReport(rep))
	}
	err = firstOf(err, j.end(time.Now(), rep, err))
	return firstOf(err, runErr)
}

// end records how this process ended, and, if it ended normally, the state of the files.
func (j *Job) end(now time.Time, rep *crawler.Report, runErr error) error {
	j.recording.Lock()
	defer j.recording.Unlock()
	j.ended = true
	m, r := j.manifest, j.manifest.Last()
	r.Ended = now.UTC()
	if runErr != nil {
		r.Error = runErr.Error()
	}
	if j.crawler != nil && j.crawler.NotShared() != nil {
		r.NotShared = j.crawler.NotShared().Error()
	}
	if rep != nil {
		r.Finish, r.Pages, r.Requests, r.Left = rep.Finish, rep.Pages, rep.Requests, rep.Left
		m.Finish = rep.Finish
	}
	if runErr == nil && rep != nil {
		var err error
		if m.Outputs, err = j.files.factsAt(rep.Finish, j.out.commits.extents); err != nil {
			return outputError(err)
		}
	}
	return outputError(m.write(j.files.plainDir))
}

// Close unlocks the directory for other processes. Call it after Run, or instead of Run.
func (j *Job) Close() error {
	var err error
	if !j.ended {
		err = errors.Join(j.out.close(), j.end(time.Now(), nil, nil))
	}
	return errors.Join(err, j.release())
}

// Revisit opens the crawl in a directory, even one that has ended, with its settings, for a program that requests its pages
// again, such as package watch. program sets the fields that no setting can express; it is called with the settings of the job,
// and may be nil. change is called with the complete configuration of the crawl: it may wrap the Frontier, which implements
// [frontier.Durable], and set the fields that decide what is requested again. The directory records none of these changes: the
// next [Open] uses the settings of the job. change must not make the crawl less polite than the job: the ledger is checked
// against the job's settings. Its error is returned. Other errors are those of Open, except ErrFinished.
func Revisit(dir string, program func(*Config), change func(*crawler.Config) error) (*Job, error) {
	c, seeds, err := asBegun(dir)
	if err != nil {
		return nil, err
	}
	if program != nil {
		program(&c)
	}
	return start(dir, c, seeds, opening{change: change})
}
