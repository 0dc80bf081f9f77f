package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/mirror"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// mirrorCmd is "amble mirror".
type mirrorCmd struct {
	Targets []string `arg:"" name:"url|dir" help:"URLs of a site, then the directory of the copy (the site's name, here)."`

	view.Messages
	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// mirrorShown lists the keys whose flags appear in the help of amble mirror. The others work, too.
var mirrorShown = map[string]bool{
	"contact": true, "delay": true, "depth": true, "scope": true, "include": true, "exclude": true, "max-pages": true, "max-body": true, "allow-address": true, "quiet": true,
}

// mirrorDefaults are the help texts of flags whose defaults differ from those of a crawl.
var mirrorDefaults = map[string]string{
	"follow": "Also sitemaps, feeds, resources, nofollow; none (resources).",
	"depth":  "Links followed from a seed (none).", "max-pages": "Pages and files fetched, exactly (none).", "max-body": "Bytes of one file; longer ones are cut and flagged (256MiB).",
}

// Help returns the beginning of the command's help.
func (*mirrorCmd) Help() string {
	return `Examples:

	amble mirror --contact me@university.edu https://site.to.copy/ copy
	amble mirror copy
	amble mirror --scope prefix https://site.to.copy/docs/ docs

Copies a site to files: pages, with the images, style sheets, fonts, icons and scripts that they need, also from other
hosts. Links lead to the files; those to anything else keep their whole URLs. Open copy/index.html in a browser.

The same command goes on with a copy that was stopped or killed, and updates a whole one: each known URL is requested
again, only what has changed is sent, and only files that differ are written. With the directory alone, URLs and
settings are those of the last time. What the site has no more stays in the copy.

The names of files are valid on Linux, macOS and Windows. The copy's folder .amble has the crawls, for amble show,
verify and export, and the list left-out.txt. --help-all lists all flags.`
}

// Names in the directory mirror.OwnDir of a copy. Beside them is the directory crawls, which keyflags.LastCrawl reads.
const (
	copiedName  = "copied"       // number of the last crawl that is completely in the copy
	knownName   = "known.jsonl"  // URLs known before the last crawl
	leftOutName = "left-out.txt" // URLs that have no file in the copy
)

// Run executes the command.
func (c *mirrorCmd) Run(a *app, o *keyflags.Origins) error {
	urls, dir := c.Targets, ""
	if last := c.Targets[len(c.Targets)-1]; !strings.Contains(last, "://") {
		urls, dir = c.Targets[:len(c.Targets)-1], last
	}
	seeds, err := operator.Seeds(o, urls, "", a.in)
	if err != nil {
		if len(urls) == 0 {
			return cli.Usage("%s has no copy of a site yet: say amble mirror URL %s", dir, cli.ShellWord(dir))
		}
		return err
	}
	if dir == "" {
		dir = strings.ReplaceAll(seeds[0].Authority(), ":", "+")
	}
	cfg, err := c.config(o, seeds)
	if err != nil {
		return err
	}
	if err := checkCopy(dir); err != nil {
		return err
	}
	v := a.view(view.Flags{Messages: c.Messages})
	cfg.Note = v.Note
	restrain(v, &cfg.Crawl)
	m := &mirroring{mirrorCmd: c, app: a, view: v, dir: dir, seeds: seeds}
	return m.run(&cfg)
}

// config returns the crawl for a copy: the whole site, and the resources that its pages display.
func (c *mirrorCmd) config(o *keyflags.Origins, seeds []weburl.URL) (job.Config, error) {
	cfg, err := siteConfig(o, seeds)
	if err != nil {
		return cfg, err
	}
	x := &cfg.Crawl
	for _, d := range []struct {
		key string
		set func()
	}{
		{"depth", func() { x.Limits.Depth = crawler.Unlimited }},
		{"max-pages", func() { x.Limits.Pages = crawler.Unlimited }},
		{"max-links", func() { x.Limits.LinksPerPage = 100_000 }},
		{"max-body", func() { x.Fetch.MaxBody = 256 << 20 }},
		{"fetch-timeout", func() { x.Fetch.FetchTimeout = time.Hour }}, // large files take long; idle-timeout aborts stalled transfers
		{"resources", func() { x.Follow.Resources = true }},
		{"beyond", func() { x.Scope.Beyond = 3 }}, // a style sheet, a style sheet that it imports, and a font
		{"beyond-kinds", func() {
			x.Scope.BeyondKinds = []frontier.Kind{frontier.KindLink, frontier.KindImage, frontier.KindScript, frontier.KindMedia, frontier.KindObject, frontier.KindImport, frontier.KindStyle}
		}},
	} {
		if !o.Given(d.key) {
			d.set()
		}
	}
	cfg.Archive = true
	return cfg, nil
}

// checkCopy returns an error for a directory that has files but is not a copy.
func checkCopy(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Exit(cli.ExitOutput, err)
	}
	copied := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == mirror.OwnDir })
	return cli.Refuse(len(entries) > 0 && !copied, "directory %s is not empty and has no copy of amble mirror: name another one", dir)
}

// mirroring makes or updates a copy of a site.
type mirroring struct {
	*mirrorCmd
	app   *app
	view  *view.View
	dir   string
	seeds []weburl.URL
}

// own returns the path of a file in the directory mirror.OwnDir of the copy.
func (m *mirroring) own(name string) string { return filepath.Join(m.dir, mirror.OwnDir, name) }

// run crawls and writes the copy.
func (m *mirroring) run(cfg *job.Config) error {
	at, n, err := m.next(cfg)
	if err != nil {
		return err
	}
	var j *job.Job
	written := false // the crawl ended in an earlier process, and only the copy is missing
	end, err := m.app.crawl(&crawlJob{
		view: m.view, cfg: cfg.Crawl, seeds: m.seeds, job: cfg, noSummary: true,
		advice: "the copy gets what was fetched so far; to go on later: " + m.again(),
		open: func(x crawler.Config) (_ opened, err error) {
			cfg.Crawl = x
			if j, err = job.Start(at, *cfg, operator.Texts(m.seeds)...); errors.Is(err, job.ErrFinished) {
				written = true
			}
			return j, err
		},
	})
	if j != nil { // keep the job locked until the copy is written
		defer func() { _ = j.Close() }()
	}
	switch {
	case written:
	case end == nil:
		return err
	case errors.Is(err, cli.ErrClosed), end.Finish == crawler.FinishError:
		return outputError(err)
	}
	done, writeErr := m.write(n)
	if writeErr != nil {
		return writeErr
	}
	if err := m.print(done, end, n); err != nil {
		return err
	}
	if written {
		return m.mark(n)
	}
	if end.Finish == crawler.FinishDone || end.Finish == crawler.FinishUnreachable {
		if err := m.mark(n); err != nil {
			return err
		}
	}
	if cut, err := cutShort(end, err); cut {
		return err
	}
	return end.noPages()
}

// again returns the command that continues or updates the copy.
func (m *mirroring) again() string { return "amble mirror " + cli.ShellWord(m.dir) }

// next returns the job directory and the number of the crawl to run. It is the last crawl if that has not ended or is not in the copy yet,
// otherwise a new one based on the earlier ones.
func (m *mirroring) next(cfg *job.Config) (at string, n int, err error) {
	cfg.Since = ""
	at, n = keyflags.LastCrawl(m.dir)
	if n > 0 {
		over, err := m.over(at, n)
		if err != nil || !over {
			if _, known := os.Stat(m.own(knownName)); known == nil {
				cfg.Since = m.own(knownName)
			}
			return at, n, err
		}
		if err := m.remember(n); err != nil {
			return "", 0, err
		}
		cfg.Since = m.own(knownName)
	}
	at = filepath.Join(filepath.Dir(at), strconv.Itoa(n+1))
	return at, n + 1, nil
}

// over reports whether crawl n has ended and its pages are in the copy. A crawl that ended by a limit is not over: when the limit is raised
// it continues, while a new crawl would not find the URLs left in its queue.
func (m *mirroring) over(at string, n int) (bool, error) {
	if !job.Holds(at) {
		return false, nil
	}
	b, err := safefile.Read(m.own(copiedName), safefile.Token)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, cli.Exit(cli.ExitOutput, err)
	}
	if strings.TrimSpace(string(b)) != strconv.Itoa(n) {
		return false, nil
	}
	r, err := job.Read(at)
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	man, err := r.Manifest()
	if err != nil {
		return false, err
	}
	return man.Finished() || man.Finish == crawler.FinishUnreachable, nil
}

// remember writes the state of each URL after the first crawls, in lines like those of visits. URLs whose pages are in the copy have the
// validators for a conditional request. All others have none, so the next crawl requests them again.
func (m *mirroring) remember(crawls int) error {
	known := map[string]*sink.Record{}
	var order []string
	for n := 1; n <= crawls; n++ {
		r, err := job.Read(m.crawlDir(n))
		if err != nil {
			return err
		}
		for v, err := range r.Visits() {
			if err != nil {
				return errors.Join(err, r.Close())
			}
			k := known[v.URL]
			if k == nil {
				if v.Outcome == string(crawler.OutOfScope) {
					continue
				}
				k = &sink.Record{Schema: sink.Schema, URL: v.URL, Outcome: string(crawler.Fetched), Status: http.StatusOK}
				known[v.URL], order = k, append(order, v.URL)
			}
			k.Depth = v.Depth
			switch {
			case v.Outcome == string(crawler.NotModified), v.Outcome == string(crawler.Fetched) && v.Status == http.StatusOK && v.Truncated == "" && v.WARC != nil:
				k.ETag, k.LastModified, k.SHA256 = v.ETag, v.LastModified, v.SHA256
			case v.Outcome == string(crawler.Redirected):
				k.ETag, k.LastModified, k.SHA256 = "", "", ""
			}
		}
		if err := r.Close(); err != nil {
			return err
		}
	}
	return m.replace(knownName, func(w *bufio.Writer) error {
		for _, u := range order {
			b, err := json.Marshal(known[u])
			if err != nil {
				return err
			}
			if _, err := w.Write(append(b, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *mirroring) crawlDir(n int) string { return filepath.Join(m.own("crawls"), strconv.Itoa(n)) }

// replace writes a file in the directory mirror.OwnDir of the copy. An incomplete file is never visible.
func (m *mirroring) replace(name string, fill func(w *bufio.Writer) error) error {
	f, err := os.CreateTemp(m.own(""), "new-")
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	w := bufio.NewWriter(f)
	err = errors.Join(fill(w), w.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), m.own(name))
	}
	if err != nil {
		return cli.Exit(cli.ExitOutput, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// mark records that the pages of a finished crawl are in the copy.
func (m *mirroring) mark(n int) error {
	return m.replace(copiedName, func(w *bufio.Writer) error {
		_, err := fmt.Fprintln(w, n)
		return err
	})
}

// write updates the files of the copy from the first crawls, up to that number.
func (m *mirroring) write(crawls int) (*mirror.Updated, error) {
	var jobs []*job.Reader
	defer func() {
		for _, r := range jobs {
			_ = r.Close() // opened only for reading
		}
	}()
	for n := 1; n <= crawls; n++ {
		r, err := job.Read(m.crawlDir(n))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, r)
	}
	ctx, stop := m.app.untilSignal(context.Background())
	defer stop()
	done, err := mirror.Update(ctx, m.dir, jobs, m.seeds)
	if errors.Is(err, context.Canceled) {
		return nil, cli.Exit(endedBy(ctx), fmt.Errorf("stopped while files were written; to go on: %s", m.again()))
	}
	if err != nil {
		return nil, err
	}
	return done, m.replace(leftOutName, func(w *bufio.Writer) error {
		for i := range done.Left {
			for _, u := range done.Left[i].URLs {
				if _, err := fmt.Fprintf(w, "%s\t%s\n", leftWords(&done.Left[i]), u); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// leftWords returns the reason why a URL has no new file, in words.
func leftWords(l *mirror.Left) string {
	if l.Reason == "" && l.Status > 0 {
		return strings.TrimSpace(fmt.Sprintf("%d %s", l.Status, http.StatusText(l.Status)))
	}
	if l.Reason == "" {
		return l.Outcome
	}
	return report.ReasonText(l.Reason)
}

// Maximum numbers of groups of URLs, and of hosts, that are printed.
const (
	maxLeftGroups = 12
	maxLeftHosts  = 4
)

// print reports what the copy contains, what is missing, and what to do next.
func (m *mirroring) print(done *mirror.Updated, end *ending, n int) error {
	if m.Quiet {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s), %s", cli.Printable(m.dir), cli.Nums(done.Files, "file"), cli.Nums(done.Pages, "page"), cli.Bytes(done.Bytes))
	if n > 1 || done.Added < done.Files {
		fmt.Fprintf(&b, "; %s new, %s changed, %s as before", cli.Num(done.Added), cli.Num(done.Changed), cli.Num(done.Files-done.Added-done.Changed))
	}
	b.WriteByte('\n')
	m.printLeft(&b, done, false, "Left out:")
	m.printLeft(&b, done, true, "Not updated, and kept as they were:")
	m.printElsewhere(&b, done)
	for _, note := range done.Notes {
		fmt.Fprintf(&b, "%s\n", cli.Printable(note))
	}
	whole := end == nil || end.Finish == crawler.FinishDone
	if !whole {
		fmt.Fprintf(&b, "Not the whole site: %s left", cli.Nums(end.Left, "URL"))
		if end.Finish.Limit() {
			fmt.Fprintf(&b, ", because of the limit %s", report.LimitName(end.Finish))
		}
		b.WriteByte('\n')
	}
	if done.Files > 0 {
		fmt.Fprintf(&b, "Open in a browser: %s\n", cli.Printable(filepath.Join(m.dir, mirror.Start)))
	}
	switch {
	case whole:
		fmt.Fprintf(&b, "To update it: %s\n", m.again())
	case end.Finish == crawler.FinishMinFree:
		fmt.Fprintf(&b, "The disk is nearly full. To go on once there is room: %s\n", m.again())
	case end.Finish.Limit():
		fmt.Fprintf(&b, "To go on: %s --%s MORE\n", m.again(), report.LimitName(end.Finish))
	default:
		fmt.Fprintf(&b, "To go on: %s\n", m.again())
	}
	_, err := m.app.out.Write([]byte(b.String()))
	return outputError(err)
}

// printLeft lists the URLs that have no file, or an old one.
func (m *mirroring) printLeft(b *strings.Builder, done *mirror.Updated, kept bool, heading string) {
	groups := slices.DeleteFunc(slices.Clone(done.Left), func(l mirror.Left) bool { return l.Kept != kept })
	if len(groups) == 0 {
		return
	}
	fmt.Fprintln(b, heading)
	cut := false
	for i := range groups[:min(maxLeftGroups, len(groups))] {
		l := &groups[i]
		fmt.Fprintf(b, "  %6s  %s: %s%s\n", cli.Num(len(l.URLs)), leftWords(l), cli.Printable(l.URLs[0]), cli.AndMore(len(l.URLs)-1))
		cut = cut || len(l.URLs) > 1
	}
	if rest := len(groups) - maxLeftGroups; rest > 0 {
		fmt.Fprintf(b, "  and for %s\n", cli.Nums(rest, "other reason"))
		cut = true
	}
	if cut {
		fmt.Fprintf(b, "  all of them: %s\n", cli.Printable(m.own(leftOutName)))
	}
}

// printElsewhere prints the number of references that lead out of the copy.
func (m *mirroring) printElsewhere(b *strings.Builder, done *mirror.Updated) {
	inside := 0
	for _, s := range m.seeds {
		inside += done.Elsewhere[s.Authority()]
		delete(done.Elsewhere, s.Authority())
	}
	if inside > 0 {
		fmt.Fprintf(b, "Whole URLs in links to the site: %s, which were not requested (scope, nofollow, limits or still queued)\n", cli.Num(inside))
	}
	hosts := slices.SortedFunc(maps.Keys(done.Elsewhere), func(x, y string) int {
		if d := done.Elsewhere[y] - done.Elsewhere[x]; d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	all := 0
	for _, n := range done.Elsewhere {
		all += n
	}
	if all > 0 {
		fmt.Fprintf(b, "Whole URLs in links to other sites: %s, to %s%s\n", cli.Num(all),
			cli.Printable(strings.Join(hosts[:min(maxLeftHosts, len(hosts))], ", ")), cli.AndMore(max(0, len(hosts)-maxLeftHosts)))
	}
}
