package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// Config describes a crawl that is kept in a directory.
type Config struct {
	// Crawl configures the crawl. A job sets its Frontier, KeepRobots, AtCommit and Politeness.Ledger itself, so they
	// must be nil here. Its Sinks are written to after visits.jsonl; they are not part of the directory, and the caller
	// closes them.
	Crawl crawler.Config

	// Also holds sinks of this process, which get each visit after those of Crawl. They are not
	// part of the job: a resumed job does not have them. The caller closes them.
	Also []sink.Sink

	// Items are additional files for the program's results ([crawler.Visit.Emit]): [ItemsLines], [ItemsCSV] and [ItemsTable]. Each file
	// has each result once. A job must be resumed with the same Items; new ones may be added, and start with the next result.
	Items []Items
	// Links adds the file links.jsonl: every link of each page, with its text, rel, kind and outcome, as [sink.NewLinks] writes
	// it. It is committed with the visits.
	Links bool
	// Text adds the file text.jsonl: the main text of each page, with what the page says about it. It is committed with the visits.
	// TextReader reads the pages and must be set if Text is; package job/export/text has one.
	Text       bool
	TextReader TextReader
	// Archive adds an archive of the traffic on the wire: WARC with a CDXJ index.
	Archive bool
	// WARC configures the archive. Its Prefix is not used; Software, Operator and UserAgent are set if they are empty.
	WARC warc.Options
	// OwnHosts names a file of hosts that the operator owns, with one host, host:port or URL per line: up to PerHost requests may
	// be in flight at each, and the minimum delay does not apply to them. A PerHost of 0 means 1. A job keeps a copy of the file
	// in its directory and uses the copy when it is resumed.
	OwnHosts string
	PerHost  int
	// OptOut names a file of host names that are never requested, one per line. It is read again when it changes, also when a job
	// is resumed. A host that was once on the list is never requested again. A job keeps a copy of each version in its directory.
	OptOut string
	// Since is the job directory or the visits.jsonl of an earlier crawl, whose pages are requested only if they have
	// changed; see [crawler.Config].
	Since string
	// Sign is the folder of an identity (see [identity.Init]) that signs requests, and SignMode says which requests. The identity
	// also signs the heads of the ledger. Crawl.Fetch.Signer and Crawl.Politeness.SignHead must then be nil.
	Sign     string
	SignMode identity.Mode
	// Note is called with log messages that do not concern a single URL, for example that a site does not accept signatures. It
	// is called concurrently. It may be nil.
	Note func(text string)
	// Header holds header fields for sites that gave access: "Name: value" for the origins of the seeds, "https://host Name: value" for
	// one origin. The value may be "@FILE", a file whose only line is the value, or "env:NAME", an environment variable. The job directory
	// keeps the names of fields, files and variables, but no value: a literal value must be given again when the job is resumed. See
	// [fetcher.Config.Headers]. Values of header fields in Crawl.Hosts may be "@FILE" and "env:NAME", too.
	Header []string
	// LoadCookies names a cookies.txt whose cookies are sent: see [fetcher.Jar.Load]. It turns cookies on.
	LoadCookies string
	// KeepCookies keeps the cookies in the directory, for later processes of the job, in a file that only its owner may
	// read. It turns cookies on.
	KeepCookies bool
	// Cache names a directory of cached responses: see package crawler/cache. Cached URLs are not requested, and new responses
	// are added. It is meant for the development of programs, and excludes Archive, cookies and Header. "": nothing is cached.
	Cache string
	// State names the directory that all processes of the user share to take turns at hosts: see [crawler.Config.ShareMachine].
	// It is not a setting of the job, and must be given again when the job is resumed. "": the user's default directory.
	State string
	// Parallel is the number of jobs that may run in the process at a time. More than four share the queue memory of four jobs;
	// all share the process's limit on open files. It is not a setting of the job. 0: one.
	Parallel int
	// MinFree is the number of bytes that the crawl leaves free on the disk of its directory: it ends in an orderly way before there are
	// fewer. 0: 5 % of the disk, at most 1 GiB; [crawler.Zero]: none. MaxDisk limits the bytes of the directory: when an eighth of it is
	// left, the crawl ends, or waits for its Store. That eighth is room for data written while it ends. 0: Unlimited.
	MinFree, MaxDisk crawler.Limit
	// SegmentSize is the size of segments in bytes: when the file of visits, ledger, links, texts or results reaches it, the next
	// commit closes the file, which never changes again. The following data goes to another file, such as visits-000002.jsonl. A
	// segment is at most an eighth of MaxDisk. 0: 1 GiB; [crawler.Unlimited]: a single file each.
	SegmentSize crawler.Limit
	// Store is the URL of a store for finished files: s3://BUCKET/PREFIX or file:///DIRECTORY, which no other job may use. Closed
	// segments and finished archives are copied there after the commit that made them final; commits do not wait for the copy.
	// When the job is opened, the bucket, the prefix and the permissions are tested; an unreachable store is no error, then or
	// later. See [Job.Upload] and package stores/s3. "": all files stay in the directory.
	Store string
	// KeepLocal limits the bytes of results that stay in the directory once the store has them: the oldest copies are removed.
	// The open segments always stay. 0: Unlimited.
	KeepLocal crawler.Limit
	// Browser is the browser that renders pages if Crawl.Render asks for it. A job does not start it: the program does, with
	// these settings, and sets Crawl.Renderer.
	Browser Browser

	lists   *lists            // host lists copied into the job; nil: they are read from OwnHosts and OptOut
	origins map[string]string // source of each value, by key
	shown   Settings          // settings for display in a job file; set by the command
}

// Browser configures the browser that renders pages. Package render/chromium implements one.
type Browser struct {
	Path      string    // path or name of the browser; "": the first installed one of the usual names
	Isolation Isolation // how the browser is kept off the network
	Tabs      int       // pages rendered at a time; 0: half the number of processors
	// Name is the browser's name and version, as the browser reports them. The manifest records it for each run. It is not a setting.
	Name string
}

// Isolation selects how a browser is kept off the network: see the constants of package render/chromium. "" is "namespace".
type Isolation string

// checkBrowser returns an error if settings of rendering contradict each other.
func (c *Config) checkBrowser() error {
	switch r := &c.Crawl.Render; {
	case !r.Screenshot || c.Archive && r.Renders():
		return nil
	case !r.Renders():
		return &KeyError{Key: "screenshot", Err: errors.New("a picture is made of rendered pages: render chooses which ones are")}
	default:
		return &KeyError{Key: "screenshot", Err: errors.New("pictures are kept in the archive: set archive")}
	}
}

// Crawler returns the configuration for package crawler: Crawl, completed with the contents of the files that the other fields name.
func (c *Config) Crawler() (crawler.Config, error) {
	cfg := c.Crawl
	cfg.Sinks = slices.Concat(cfg.Sinks, c.Also)
	own, err := c.ownHosts()
	if own != nil {
		cfg.Politeness.OwnHosts = func(host string) int { return own[host] }
	}
	errs := []error{err, hostErrors(&cfg)}
	switch {
	case c.lists != nil && c.lists.optOut != nil:
		cfg.Politeness.OptOut = c.lists.optOut.now
	case c.OptOut != "":
		cfg.Politeness.OptOut, err = readOptOut(c.OptOut)
		errs = append(errs, err)
	}
	if c.Since != "" {
		cfg.Since, err = readSince(c.Since)
		errs = append(errs, err)
	}
	if c.Sign != "" {
		errs = append(errs, c.sign(&cfg))
	}
	return cfg, errors.Join(errs...)
}

// checkOwn returns an error if a limit is lifted for own hosts but there are none.
func (c *Config) checkOwn() error {
	if c.PerHost > 1 && c.OwnHosts == "" {
		return &KeyError{Key: "per-host", Value: fmt.Sprint(c.PerHost), Err: errors.New("more than one request in flight at a host needs own-hosts, a file with the hosts you own")}
	}
	return nil
}

// fill replaces the zero value of every field that has a key by the default.
func (c *Config) fill() error {
	var errs []error
	for _, k := range keys {
		if k.Field != "" {
			s := k.of(c)
			errs = append(errs, k.set(c, &s))
		}
	}
	return errors.Join(errs...)
}

// recordable returns the settings that the job's files show: without the file that the seeds came from, since these files contain
// the seeds, and without secrets.
func (c *Config) recordable() Settings {
	all := slices.DeleteFunc(c.Settings(), func(s Setting) bool { return s.Name == "seeds" || s.Name == "state" })
	for i := range all {
		all[i] = all[i].withoutSecrets()
	}
	return all
}

// absolute makes the paths in c absolute, so that the files are found from any working directory.
func (c *Config) absolute() error {
	var err, err2 error
	c.Header, err = absoluteFields(c.Header)
	c.Crawl.Hosts, err2 = absoluteHosts(c.Crawl.Hosts)
	err = errors.Join(err, err2)
	if strings.ContainsRune(c.Browser.Path, filepath.Separator) && err == nil { // a path without a separator is a name to look up in PATH
		c.Browser.Path, err = filepath.Abs(c.Browser.Path)
	}
	for _, p := range []*string{&c.OwnHosts, &c.OptOut, &c.Since, &c.Sign, &c.LoadCookies, &c.Cache, &c.State} {
		if *p != "" && err == nil {
			*p, err = filepath.Abs(*p)
		}
	}
	return err
}

// jobsOwn lists the fields of crawler.Config that a job sets, and those that do not affect the crawl.
var jobsOwn = []string{
	"Frontier", "KeepRobots", "AtCommit", "Trace", "Fetch.Listeners", "Renderer", "RenderDir", "RenderStore", "Documents",
	"Politeness.Ledger", "Politeness.LedgerSize", "Politeness.Snapshot", "Politeness.Identity", "Politeness.Contactless",
	"Politeness.Shared", "Politeness.Name",
}

// Program returns the paths of the fields of Crawl that no key of a job file can express (functions, objects, and settings
// without a key), and the files of Items. A job that has any can be resumed only by a program that sets them again.
func (c *Config) Program() []string {
	said := map[string]bool{}
	for _, k := range keys {
		if path, ok := strings.CutPrefix(k.Field, "Crawl."); ok {
			said[path] = true
		}
	}
	for _, path := range jobsOwn {
		said[path] = true
	}
	return append(unsaid(reflect.ValueOf(&c.Crawl).Elem(), "", said), c.itemsProgram()...)
}

// unsaid returns the paths of the fields of a struct and of its groups that are set and not in said.
func unsaid(v reflect.Value, in string, said map[string]bool) (paths []string) {
	for i := range v.NumField() {
		path := in + v.Type().Field(i).Name
		switch f := v.Field(i); {
		case said[path] || f.IsZero():
		case f.Kind() == reflect.Struct && strings.HasPrefix(f.Type().PkgPath(), "github.com/amble-crawler/amble/"):
			paths = append(paths, unsaid(f, path+".", said)...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

// validate returns an error about everything in c that a job does not allow.
func (c *Config) validate() error {
	x := &c.Crawl
	if x.Frontier != nil || x.KeepRobots != nil || x.AtCommit != nil || x.Politeness.Ledger != nil {
		return refused("job: Crawl.Frontier, KeepRobots, AtCommit and Politeness.Ledger are set by the job: leave them out")
	}
	if x.Render.Renders() && x.Renderer == nil {
		return refused("job: Crawl.Render.Mode is %q without a Renderer: set Crawl.Renderer, such as that of package render/chromium", x.Render.Mode)
	}
	if x.Follow.Documents && x.Documents == nil {
		return refused("job: Crawl.Follow.Documents is set without Crawl.Documents: set a reader, such as that of package article/document")
	}
	if c.Text && c.TextReader == nil {
		return refused("job: Text is set without TextReader: set a reader, such as that of package job/export/text")
	}
	return c.checkItems()
}

// readSince reads the pages of an earlier crawl.
func readSince(path string) (crawler.History, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, VisitsName)
	}
	var f io.ReadCloser
	_, err := os.Lstat(filepath.Join(filepath.Dir(path), segmentName(VisitsName, 2)))
	if err == nil && filepath.Base(path) == VisitsName {
		f, err = streamAt(path)
	} else {
		f, err = safefile.Open(path)
	}
	if err != nil {
		return nil, &KeyError{Key: "since", Err: fmt.Errorf("%w: name a job directory or its %s, or leave since empty", err, VisitsName)}
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	past, err := crawler.ReadHistory(f, 0)
	if err != nil {
		return nil, &KeyError{Key: "since", Err: fmt.Errorf("%s: %w", path, err)}
	}
	return past, nil
}
