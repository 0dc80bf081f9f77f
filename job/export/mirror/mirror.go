// Package mirror exports jobs as directories of files for a browser or a plain file server: each fetched page is a file, and
// links between pages point to these files. It is a separate package because it parses pages.
//
//	r, err := job.Read("site") // a job with an archive
//	defer r.Close()
//	_, err = export.Write(ctx, r, mirror.Kind(), "files", nil)
package mirror

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/charset"
)

// Kind returns the kind mirror: a directory with a directory for each host, in which each archived response with a status of 200
// to 299 is a file. References in HTML and CSS are relative if their target is in the mirror, and absolute URLs otherwise; all
// other bytes are as received, without content coding. A job without an archive is refused.
func Kind() export.Kind {
	return export.Kind{Name: "mirror", Doc: "files to browse, with links between them, as wget -k -p makes", Suffix: "-mirror", Dir: true, Write: func(x *export.Export) error { return write(x, nil) }}
}

// Files returns the kind files: a directory with the archived responses with a status of 200 to 299 that a filter selects. Their
// names are the same as in a mirror; their bytes are as received, without content coding. A job without an archive is refused.
func Files(f export.Filter) export.Kind {
	return export.Kind{
		Name: "files", Doc: "files as they were received, for example those of one type", Suffix: "-files", Dir: true,
		Write: func(x *export.Export) error { return write(x, &f) },
	}
}

// mirror is a mirror that is being written. It needs some 100 bytes of memory for each page; their paths are in a temporary file.
type mirror struct {
	ctx     context.Context
	sources []source       // oldest first
	read    func() error   // called for each page read
	only    *export.Filter // selects the files, which are written unchanged; nil: all files, with links rewritten
	root    *os.Root
	put     func(name string, body []byte) error // writes a file
	outcome func(v *sink.Record, k weburl.Key)   // called for each visit; may be nil
	absent  func(k weburl.Key, u weburl.URL)     // called for each reference whose target is not in the mirror; may be nil
	key     func(weburl.URL) weburl.Key
	files   map[weburl.Key]file
	moved   map[weburl.Key]weburl.Key // targets of redirects
	taken   map[uint64]bool           // paths of files (true) and directories, as hashes of their folded form
	seed    maphash.Seed
	paths   *os.File
	end     int64 // size of the file paths

	first                               string // path of the first page
	html                                int    // number of HTML pages written
	damaged, clashes, foreign, cutShort int
}

// source is a crawl whose pages are added to the mirror.
type source struct {
	visits  func() iter.Seq2[*sink.Record, error]
	archive *job.Pages
}

// file holds the location of a URL's file.
type file struct {
	at      int64 // offset of the file's path in the file of paths
	source  int   // index of the newest source that has the file's bytes
	moved   bool  // a newer source has a redirect instead
	written bool
}

func write(x *export.Export, only *export.Filter) (err error) {
	archive, err := x.Job.Pages()
	if err != nil {
		return err
	}
	if archive == nil {
		return export.Refused("job %s keeps no archive of answers: crawl with the format warc", x.Job.Dir())
	}
	defer func() { _ = archive.Close() }() // only read, so an error of closing loses nothing
	cfg, err := x.Job.Config()
	if err != nil {
		return err
	}
	m := newMirror(x.Context(), cfg.Crawl.Canonical.Key, source{x.Visits, archive})
	m.only, m.read = only, x.Read
	m.put = func(name string, body []byte) error {
		x.Wrote(int64(len(body)))
		return m.create(name, body)
	}
	if m.paths, err = os.Create(filepath.Join(x.Temp, "paths")); err != nil {
		return err
	}
	defer func() { _ = m.paths.Close() }() // a temporary file: an error of closing does no harm
	if m.root, err = os.OpenRoot(x.Path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.root.Close()) }()
	if err := m.plan(); err != nil {
		return err
	}
	if err := m.pages(); err != nil {
		return err
	}
	m.note(x.Note)
	return m.sync(x.Path)
}

func newMirror(ctx context.Context, key func(weburl.URL) weburl.Key, sources ...source) *mirror {
	return &mirror{
		ctx: ctx, sources: sources, key: key, read: ctx.Err,
		files: map[weburl.Key]file{}, moved: map[weburl.Key]weburl.Key{}, taken: map[uint64]bool{}, seed: maphash.MakeSeed(),
	}
}

// note reports the file to open first, and what is missing.
func (m *mirror) note(note func(format string, args ...any)) {
	if m.first != "" {
		note("the first page is %s", m.first)
	}
	for _, n := range []struct {
		n    int
		what string
	}{
		{m.damaged, "could not be read from the archive: the files are empty"},
		{m.clashes, "had no name left"},
		{m.foreign, "in a charset that is not a superset of ASCII: the links are as they were"},
		{m.cutShort, "not complete"},
	} {
		if n.n > 0 {
			note("%s %s", cli.Plural(n.n, "page"), n.what)
		}
	}
}

// isFile reports whether a visit becomes a file.
func (m *mirror) isFile(v *sink.Record) bool {
	return v.WARC != nil && v.Status >= 200 && v.Status < 300 && (m.only == nil || m.only.Match(v))
}

// plan chooses the file of each page and resolves redirects.
func (m *mirror) plan() error {
	for i := range m.sources {
		if err := m.planOf(i); err != nil {
			return err
		}
	}
	m.taken = nil
	return nil
}

func (m *mirror) planOf(source int) error {
	for v, err := range m.sources[source].visits() {
		if err != nil {
			return err
		}
		u, err := weburl.Parse(v.URL)
		if err != nil {
			continue
		}
		k := m.key(u)
		if m.outcome != nil {
			m.outcome(v, k)
		}
		switch {
		case m.isFile(v):
			if err := m.place(u, k, v.Type, source); err != nil {
				return err
			}
		case v.Final != "":
			if to, err := weburl.Parse(v.Final); err == nil {
				m.moved[k] = m.key(to)
				if f, ok := m.files[k]; ok && f.source < source {
					f.moved = true
					m.files[k] = f
				}
			}
		}
	}
	return nil
}

// place assigns a file to a URL. A file from an older crawl keeps its name, unless the new media type needs another extension.
func (m *mirror) place(u weburl.URL, k weburl.Key, mediaType string, source int) error {
	if f, known := m.files[k]; known {
		if f.source == source {
			return nil
		}
		name, err := m.path(f)
		if err != nil {
			return err
		}
		if path.Ext(name) == path.Ext(pathOf(u, mediaType, plain)) {
			f.source, f.moved = source, false
			m.files[k] = f
			return nil
		}
	}
	for p := plain; p < nowhere; p++ {
		name := pathOf(u, mediaType, p)
		if !m.take(name) {
			continue
		}
		m.files[k] = file{at: m.end, source: source}
		b := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
		m.end += int64(len(b))
		_, err := m.paths.Write(b)
		return err
	}
	m.clashes++
	return nil
}

// path returns the path of a file in the mirror.
func (m *mirror) path(f file) (string, error) {
	b := make([]byte, binary.MaxVarintLen64+2*maxPath)
	n, err := m.paths.ReadAt(b, f.at)
	size, head := binary.Uvarint(b[:n])
	if head <= 0 || uint64(n-head) < size {
		return "", fmt.Errorf("the temporary file of paths was cut off: %w", err)
	}
	return string(b[head : head+int(size)]), nil //nolint:gosec // it is less than n
}

// take reserves a path for a file. It fails if the path is taken as a file or directory, or one of its directories is a file.
func (m *mirror) take(name string) bool {
	hash := func(s string) uint64 { return maphash.String(m.seed, s) }
	name = folded(name)
	if _, there := m.taken[hash(name)]; there {
		return false
	}
	var dirs []uint64 // new directories
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		h := hash(dir)
		isFile, there := m.taken[h]
		if isFile {
			return false
		}
		if there { // a known directory: its parents are known, too
			break
		}
		dirs = append(dirs, h)
	}
	m.taken[hash(name)] = true
	for _, h := range dirs {
		m.taken[h] = false
	}
	return true
}

// maxMoves limits the redirects followed from a reference.
const maxMoves = 20

// find returns the file to which a URL leads.
func (m *mirror) find(u weburl.URL) (f file, ok bool) {
	k := m.key(u)
	for range maxMoves {
		if f, ok = m.files[k]; ok && !f.moved {
			return f, true
		}
		if k, ok = m.moved[k]; !ok {
			break
		}
	}
	return f, false
}

// pages writes the files of all pages.
func (m *mirror) pages() error {
	for i := range m.sources {
		for v, err := range m.sources[i].visits() {
			if err != nil {
				return err
			}
			if !m.isFile(v) {
				continue
			}
			u, err := weburl.Parse(v.URL)
			if err != nil {
				continue
			}
			k := m.key(u)
			if f, ok := m.files[k]; ok && f.source == i && !f.moved && !f.written {
				f.written = true
				m.files[k] = f
				if err := errors.Join(m.page(v, u, f), m.read()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// page writes the file of one page.
func (m *mirror) page(v *sink.Record, u weburl.URL, f file) error {
	name, err := m.path(f)
	if err != nil {
		return err
	}
	p, err := m.sources[f.source].archive.Read(m.ctx, u, v.WARC)
	if err != nil {
		m.damaged++
		return m.put(name, nil)
	}
	defer p.Release()
	if p.Truncated != "" {
		m.cutShort++
	}
	body := p.Body
	if m.only != nil {
		return m.put(name, body)
	}
	if v.Type == "text/html" || v.Type == "application/xhtml+xml" {
		m.html++
	}
	switch v.Type {
	case "text/html", "application/xhtml+xml", "text/css":
		switch {
		case !superset(p.Charset):
			m.foreign++
		case v.Type == "text/css":
			body = []byte(m.rewriter(u, name, p).css(string(body), true, textOf(p.Charset)))
		default:
			if m.first == "" {
				m.first = name
			}
			body = m.rewriter(u, name, p).html(body)
		}
	}
	return m.put(name, body)
}

// superset reports whether ASCII bytes are ASCII characters in a charset wherever markup can be.
func superset(name string) bool {
	return !strings.HasPrefix(name, "utf-16") && name != "iso-2022-jp" && name != "replacement"
}

// textOf returns a function that decodes text of a page.
func textOf(name string) func([]byte) string {
	return func(b []byte) string {
		text, err := (&fetcher.Page{Charset: name, Body: b}).Text()
		if err != nil {
			return string(b)
		}
		return string(text)
	}
}

// rewriter returns the page that replaces references in a file.
func (m *mirror) rewriter(u weburl.URL, name string, p *fetcher.Page) *page {
	r := &references{m: m, base: u, from: path.Dir(name), encode: charset.Encoder(p.Charset)}
	if base := baseOf(p); base != "" {
		if b, err := u.ResolveIn(r.encode, base); err == nil {
			r.base, r.moved = b, true
		}
	}
	return &page{replace: r.replace, text: textOf(p.Charset)}
}

// baseOf returns the base URL that a page sets.
func baseOf(p *fetcher.Page) string {
	text, err := p.Text()
	if err != nil || p.ContentType == "text/css" || !bytes.Contains(bytes.ToLower(text), []byte("<base")) {
		return ""
	}
	return extract.HTML(text, extract.Options{XML: p.ContentType == "application/xhtml+xml", MaxLinks: 1}).Base
}

// references resolves the references of a page.
type references struct {
	m      *mirror
	base   weburl.URL
	moved  bool   // the page has a base element
	from   string // directory of the page's file
	encode weburl.Encoder
}

// replace returns the new text of a reference.
func (r *references) replace(ref string) (to string, here, ok bool) {
	trimmed := strings.Trim(ref, " \t\n\f\r")
	rest, fragment, marked := strings.Cut(trimmed, "#")
	if rest == "" && !r.moved {
		return "", false, false // a reference to the page itself
	}
	u, err := r.base.ResolveIn(r.encode, rest)
	if err != nil {
		return "", false, false
	}
	to = u.String()
	f, here := r.m.find(u)
	if !here && r.m.absent != nil {
		r.m.absent(r.m.key(u), u)
	}
	if here {
		name, err := r.m.path(f)
		if err != nil {
			return "", false, false
		}
		to = relative(r.from, name)
	}
	if marked {
		to += "#" + fragmentEscaper.Replace(fragment)
	}
	return to, here, true
}

var fragmentEscaper = strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "`", "%60")

// sync makes the files durable.
func (m *mirror) sync(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = m.ctx.Err()
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			return durable.Dir(name)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// create writes a file that does not exist yet.
func (m *mirror) create(name string, body []byte) error {
	name = filepath.FromSlash(name)
	if err := m.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := m.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) { // another name stands for the same file, for example with other capital letters
		m.clashes++
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Close())
}

// relative returns the reference from a directory to a file.
func relative(from, to string) string {
	a, b := strings.Split(strings.TrimPrefix(from, "."), "/"), strings.Split(to, "/")
	if a[0] == "" { // from is the root directory
		a = nil
	}
	n := 0
	for n < len(a) && n < len(b)-1 && a[n] == b[n] {
		n++
	}
	parts := make([]string, 0, len(a)+len(b))
	for range a[n:] {
		parts = append(parts, "..")
	}
	for _, s := range b[n:] {
		parts = append(parts, escapePath(s))
	}
	return strings.Join(parts, "/")
}

// escapePath escapes a name for use in a URL, in any attribute or style sheet.
func escapePath(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
