package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Names of files in a directory that [Update] writes.
const (
	OwnDir = ".amble"     // the directory for files that are not pages; callers may add files to it
	Start  = "index.html" // the file to open first

	listName = "files" // in OwnDir: the paths of all files, one per line
	newName  = "new"   // in OwnDir: the temporary name of a file that is being written
)

// Updated reports what [Update] did and what the copy lacks.
type Updated struct {
	Files, Pages int   // number of files in the copy, including Start; Pages counts HTML files
	Bytes        int64 // total size of the files
	Added        int   // new files
	Changed      int   // files whose bytes changed, including their references
	Removed      int   // files removed because their page has another file now

	Left []Left // URLs without a file, the largest group first; then URLs whose file is older than the last crawl
	// Elsewhere counts references in pages to URLs that no crawl requested, by host. They stay absolute.
	Elsewhere map[string]int
	Notes     []string // files that could not be made as intended, one sentence each
}

// Left is a group of URLs for which the last visit yielded no file.
type Left struct {
	Outcome, Reason string   // outcome and reason of the visit, as in [sink.Record]
	Status          int      // HTTP status; 0 if there was no response
	Kept            bool     // the copy keeps the files of an earlier crawl
	URLs            []string // in alphabetical order
}

// maxElsewhere limits Updated.Elsewhere.
const maxElsewhere = 10_000

// Update writes the pages of several crawls of the same sites into a directory for browsing, like [Kind]. If several crawls have a page,
// the newest version counts; a page that a newer crawl found missing or unreachable stays. Files whose bytes are unchanged are left alone,
// each other file is replaced atomically, and the next Update completes one that was killed. jobs must be in the order of their crawls.
// The file Start links to seeds. Files that no Update wrote are not touched. The error is a *job.Error, or the error of the context.
func Update(ctx context.Context, dir string, jobs []*job.Reader, seeds []weburl.URL) (_ *Updated, err error) {
	own := filepath.Join(dir, OwnDir)
	if err := os.MkdirAll(own, 0o755); err != nil {
		return nil, storage(dir, err)
	}
	m := newMirror(ctx, weburl.URL.Key)
	defer func() {
		for _, s := range m.sources {
			if s.archive != nil {
				_ = s.archive.Close() // only read, so an error of closing loses nothing
			}
		}
	}()
	for _, r := range jobs {
		committed, err := r.Committed()
		if err != nil {
			return nil, err
		}
		cfg, err := r.Config()
		if err != nil {
			return nil, err
		}
		archive, err := r.Pages()
		if err != nil {
			return nil, err
		}
		m.key = cfg.Crawl.Canonical.Key
		m.sources = append(m.sources, source{committed.Visits, archive})
	}
	if m.paths, err = os.CreateTemp(own, "paths-"); err != nil {
		return nil, storage(dir, err)
	}
	defer func() { _ = errors.Join(m.paths.Close(), os.Remove(m.paths.Name())) }() // a temporary file: errors do no harm
	if m.root, err = os.OpenRoot(dir); err != nil {
		return nil, storage(dir, err)
	}
	defer func() { err = errors.Join(err, m.root.Close()) }()
	w := &updater{mirror: m, own: own, left: map[weburl.Key]Left{}, res: &Updated{Elsewhere: map[string]int{}}}
	m.put, m.outcome, m.absent = w.put, w.outcome, w.absent
	if err := w.run(seeds); err != nil {
		return nil, storage(dir, err)
	}
	return w.res, nil
}

// updater is an Update while it runs.
type updater struct {
	*mirror
	own  string
	left map[weburl.Key]Left // group of each URL without a current file
	res  *Updated
}

func (w *updater) run(seeds []weburl.URL) error {
	w.take(Start)
	if err := w.plan(); err != nil {
		return err
	}
	if err := w.claim(); err != nil {
		return err
	}
	if err := w.pages(); err != nil {
		return err
	}
	if err := w.start(seeds); err != nil {
		return err
	}
	w.count()
	w.res.Pages = w.html
	w.note(func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !strings.HasPrefix(text, "the first page") {
			w.res.Notes = append(w.res.Notes, text)
		}
	})
	return nil
}

// claim records the paths of all files, and removes files of an earlier Update whose pages have other files now. It returns an
// error if a file that Update did not write is in the way.
func (w *updater) claim() error {
	names := map[string]bool{Start: true}
	for _, f := range w.files {
		name, err := w.path(f)
		if err != nil {
			return err
		}
		names[name] = true
	}
	b, err := safefile.Read(filepath.Join(w.own, listName), safefile.Stream)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if name := strings.TrimSuffix(line, "\n"); filepath.IsLocal(filepath.FromSlash(name)) && !strings.HasPrefix(name, OwnDir) {
			before[name] = true
		}
	}
	for name := range names {
		if _, err := w.root.Lstat(filepath.FromSlash(name)); err == nil && !before[name] {
			return export.Refused("%s is in the way of the copy, and was not made by it: move it, or name another directory", filepath.FromSlash(name))
		}
	}
	all := maps.Clone(names)
	maps.Copy(all, before)
	if err := w.record(all); err != nil { // recorded first, so that the next process recognizes the files even if this one is killed
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if names[name] {
			continue
		}
		switch err := w.root.Remove(filepath.FromSlash(name)); {
		case err == nil:
			w.res.Removed++
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return w.record(names)
}

// record replaces the list of files.
func (w *updater) record(names map[string]bool) error {
	text := strings.Join(slices.Sorted(maps.Keys(names)), "\n") + "\n"
	return errors.Join(w.replace(path.Join(OwnDir, listName), []byte(text)), durable.Dir(w.own))
}

// replace replaces the contents of a file atomically.
func (w *updater) replace(name string, body []byte) error {
	temp := filepath.Join(OwnDir, newName)
	f, err := w.root.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return w.root.Rename(temp, filepath.FromSlash(name))
}

// put writes a file of the copy unless it already has these bytes.
func (w *updater) put(name string, body []byte) error {
	w.res.Files++
	w.res.Bytes += int64(len(body))
	system := filepath.FromSlash(name)
	old, err := w.root.Lstat(system)
	switch {
	case err == nil && old.Mode().IsRegular() && old.Size() == int64(len(body)):
		if b, err := w.root.ReadFile(system); err == nil && bytes.Equal(b, body) {
			return nil
		}
		w.res.Changed++
	case err == nil:
		w.res.Changed++
	default:
		w.res.Added++
		if err := w.root.MkdirAll(filepath.Dir(system), 0o755); err != nil {
			return err
		}
	}
	return w.replace(name, body)
}

// outcome records the outcome of a visit.
func (w *updater) outcome(v *sink.Record, k weburl.Key) {
	switch {
	case w.isFile(v), v.Final != "" && v.Outcome == string(crawler.Redirected), v.Outcome == string(crawler.NotModified):
		delete(w.left, k)
	default:
		w.left[k] = Left{Outcome: v.Outcome, Reason: v.Reason, Status: v.Status, URLs: []string{v.URL}}
	}
}

// absent records a reference to a URL that is not in the copy.
func (w *updater) absent(k weburl.Key, u weburl.URL) {
	if _, known := w.left[k]; known {
		return
	}
	host := u.Authority()
	if _, known := w.res.Elsewhere[host]; known || len(w.res.Elsewhere) < maxElsewhere {
		w.res.Elsewhere[host]++
	}
}

// count groups the URLs that have no file.
func (w *updater) count() {
	by := map[string]*Left{}
	for k, l := range w.left {
		_, l.Kept = w.files[k]
		group := fmt.Sprint(l.Outcome, " ", l.Reason, " ", l.Status, " ", l.Kept)
		if all := by[group]; all != nil {
			all.URLs = append(all.URLs, l.URLs...)
		} else {
			by[group] = &l
		}
	}
	for _, l := range by {
		slices.Sort(l.URLs)
		w.res.Left = append(w.res.Left, *l)
	}
	slices.SortFunc(w.res.Left, func(x, y Left) int {
		switch {
		case x.Kept && !y.Kept:
			return 1
		case y.Kept && !x.Kept:
			return -1
		}
		return cmp.Or(len(y.URLs)-len(x.URLs), cmp.Compare(x.Outcome, y.Outcome), cmp.Compare(x.Reason, y.Reason), x.Status-y.Status)
	})
}

// start writes the file that links to the first pages.
func (w *updater) start(seeds []weburl.URL) error {
	var links strings.Builder
	first := w.first
	found := 0
	for _, u := range seeds {
		f, ok := w.find(u)
		if !ok {
			continue
		}
		name, err := w.path(f)
		if err != nil {
			return err
		}
		if found++; found == 1 {
			first = name
		}
		fmt.Fprintf(&links, "<li><a href=\"%s\">%s</a>\n", html.EscapeString(relative(".", name)), html.EscapeString(u.String()))
	}
	if found == 0 && first == "" {
		return nil // the copy has no page to refer to
	}
	refresh := ""
	if found <= 1 {
		refresh = fmt.Sprintf("<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(relative(".", first)))
	}
	if found == 0 {
		fmt.Fprintf(&links, "<li><a href=\"%s\">%s</a>\n", html.EscapeString(relative(".", first)), html.EscapeString(first))
	}
	page := "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n" + refresh + "<title>Copy</title>\n<ul>\n" + links.String() + "</ul>\n"
	return w.put(Start, []byte(page))
}

// storage returns an error of writing a copy.
func storage(dir string, err error) error {
	var known *job.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return &job.Error{Kind: job.Storage, Err: fmt.Errorf("the copy in %s could not be written: %w", dir, err)}
}
