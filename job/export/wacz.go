package export

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
)

// WACZ returns the kind wacz: a web archive in one file, in the format WACZ 1.1.1, which ReplayWeb.page opens. It contains the
// job's archives, one index of all responses, the list of pages, and under provenance/ the ledger, the manifest, the visits and
// every robots.txt. A job without an archive is refused.
func WACZ() Kind {
	return Kind{Name: "wacz", Doc: "a web archive in one file, for ReplayWeb.page", Suffix: ".wacz", Write: writeWACZ}
}

const (
	waczVersion = "1.1.1"
	// blockLines is the number of lines of a large index that are compressed together; maxLines is the maximum of an uncompressed index.
	blockLines = 3000
	maxLines   = 50_000
)

// resource is a file of the WACZ as listed in datapackage.json.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// wacz is a WACZ that is being written.
type wacz struct {
	x         *Export
	zip       *zip.Writer
	now       time.Time
	resources []resource
	archives  []string
	main      page
}

// page is a line of the lists of pages.
type page struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	TS    string `json:"ts"`
	Title string `json:"title,omitempty"`
}

func writeWACZ(x *Export) error {
	archives, err := x.Job.Archives()
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return refused("job %s keeps no archive of answers: crawl with the format warc", x.Job.Dir())
	}
	for _, name := range archives {
		if strings.HasSuffix(name, ".zst") {
			return refused("%s of job %s is compressed with zstd, which players of WACZ do not read: compress it with gzip (warcio recompress)", name, x.Job.Dir())
		}
	}
	o, err := x.create(x.Path)
	if err != nil {
		return err
	}
	w := &wacz{x: x, zip: zip.NewWriter(o), now: time.Now().UTC(), archives: archives}
	return o.finish(w.write())
}

func (w *wacz) write() error {
	for _, step := range []func() error{w.archive, w.index, w.pages, w.provenance, w.describe} {
		if err := step(); err != nil {
			return err
		}
	}
	return w.zip.Close()
}

// add adds a file. If store is set it is not compressed, because it is compressed already and read by ranges.
func (w *wacz) add(name string, store bool, fill func(out io.Writer) error) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.now}
	if store {
		h.Method = zip.Store
	}
	out, err := w.zip.CreateHeader(h)
	if err != nil {
		return err
	}
	sum := sha256.New()
	c := &counter{w: io.MultiWriter(out, sum)}
	if err := fill(c); err != nil {
		return err
	}
	w.resources = append(w.resources, resource{path.Base(name), name, "sha256:" + hex.EncodeToString(sum.Sum(nil)), c.n})
	return w.x.report()
}

// counter counts bytes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// copy adds a file of the job.
func (w *wacz) copy(name, as string, store bool) error {
	f, err := w.x.Job.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	return w.add(as, store, func(out io.Writer) error { return w.x.copy(out, f) })
}

// copy copies from in to out until the context ends.
func (x *Export) copy(out io.Writer, in io.Reader) error {
	for {
		switch _, err := io.CopyN(out, in, 1<<20); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := x.report(); err != nil {
			return err
		}
	}
}

func (w *wacz) archive() error {
	for _, name := range w.archives {
		if err := w.copy(name, "archive/"+path.Base(name), true); err != nil {
			return err
		}
	}
	return nil
}

// index adds one sorted index of all archives.
func (w *wacz) index() error {
	s := extsort.New(w.x.Temp, 0)
	defer func() { _ = s.Close() }() // a temporary file: an error of closing does no harm
	n := 0
	for _, name := range w.archives {
		f, err := w.x.Job.Open(name)
		if err != nil {
			return err
		}
		size := f.Size()
		if err := f.Close(); err != nil {
			return err
		}
		err = warc.IndexLines(filepath.Join(w.x.Job.Dir(), filepath.FromSlash(name)), size, func(line []byte) error {
			n++
			return s.Add(line)
		})
		if err != nil {
			return archiveError(err)
		}
	}
	if n > maxLines {
		return w.largeIndex(s)
	}
	return w.add("indexes/index.cdx", false, func(out io.Writer) error {
		for line, err := range s.All() {
			if err != nil {
				return err
			}
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// archiveError is damage in an archive, as opposed to an error of writing.
func archiveError(err error) error {
	var damage *warc.ArchiveError
	if errors.As(err, &damage) {
		return &job.Error{Kind: job.Storage, Err: err}
	}
	return err
}

// largeIndex adds an index in compressed blocks (ZipNum), and the list of the blocks.
func (w *wacz) largeIndex(s *extsort.Sorter) error {
	var list bytes.Buffer
	list.WriteString(`!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}` + "\n")
	err := w.add("indexes/index.cdx.gz", true, func(out io.Writer) error {
		var block bytes.Buffer
		z, first, lines, offset := gzip.NewWriter(&block), "", 0, 0
		end := func() error {
			if lines == 0 {
				return nil
			}
			if err := z.Close(); err != nil {
				return err
			}
			sum := sha256.Sum256(block.Bytes())
			fmt.Fprintf(&list, "%s {\"offset\": %d, \"length\": %d, \"digest\": \"sha256:%x\", \"filename\": \"index.cdx.gz\"}\n", first, offset, block.Len(), sum)
			offset += block.Len()
			_, err := out.Write(block.Bytes())
			block.Reset()
			z.Reset(&block)
			lines = 0
			return err
		}
		for line, err := range s.All() {
			if err != nil {
				return err
			}
			if lines == 0 {
				first, _, _ = strings.Cut(string(line), " {")
			}
			if _, err := z.Write(line); err != nil {
				return err
			}
			if lines++; lines == blockLines {
				if err := end(); err != nil {
					return err
				}
			}
		}
		return end()
	})
	if err != nil {
		return err
	}
	return w.add("indexes/index.idx", false, func(out io.Writer) error {
		_, err := out.Write(list.Bytes())
		return err
	})
}

// pages adds two lists of pages: the seeds, and the other pages.
func (w *wacz) pages() error {
	a, err := w.x.Job.OpenArchive()
	if err != nil {
		return archiveError(err)
	}
	defer func() { _ = a.Close() }() // only read, so an error of closing loses nothing
	for _, l := range []struct {
		name, title string
		depth       func(int) bool
	}{
		{"pages", "Pages with which the crawl began", func(d int) bool { return d == 0 }},
		{"extraPages", "Pages that were found", func(d int) bool { return d > 0 }},
	} {
		err := w.add("pages/"+l.name+".jsonl", false, func(out io.Writer) error {
			if _, err := fmt.Fprintf(out, "{\"format\": \"json-pages-1.0\", \"id\": %q, \"title\": %q}\n", l.name, l.title); err != nil {
				return err
			}
			return w.list(out, a, l.depth)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// list writes the pages whose depth is selected by depth.
func (w *wacz) list(out io.Writer, a *warc.Archive, depth func(int) bool) error {
	n := 0
	for v, err := range w.x.Visits() {
		if err != nil {
			return err
		}
		if !isPage(v) || !depth(v.Depth) {
			continue
		}
		x, err := a.At(v.WARC.File, v.WARC.Offset)
		if err != nil {
			return archiveError(err)
		}
		n++
		p := page{ID: fmt.Sprintf("%s-%d", map[bool]string{true: "seed", false: "page"}[v.Depth == 0], n), URL: v.URL, TS: x.Date.UTC().Format("2006-01-02T15:04:05.000Z"), Title: v.Title}
		if w.main.URL == "" && v.Depth == 0 {
			w.main = p
		}
		b, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// isPage reports whether a visit is a page that a person would open.
func isPage(v *sink.Record) bool {
	return v.WARC != nil && v.Outcome == "fetched" && v.Status < 400 && (v.Type == "text/html" || v.Type == "application/xhtml+xml")
}

// provenance adds the files that document the origin of the archive.
func (w *wacz) provenance() error {
	for _, name := range []string{"manifest.json", "job.yaml", job.VisitsName, job.LedgerName, robotsName} {
		if err := w.copy(name, "provenance/"+name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	known := map[string]bool{}
	for r, err := range robots(w.x) {
		if err != nil {
			return err
		}
		if r.Bytes == 0 || known[r.SHA256] {
			continue
		}
		known[r.SHA256] = true
		name := "robots/" + r.SHA256 + ".txt"
		if err := w.copy(name, "provenance/"+name, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// describe adds datapackage.json, and its hash.
func (w *wacz) describe() error {
	m, err := w.x.Job.Manifest()
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(struct {
		Profile   string     `json:"profile"`
		Version   string     `json:"wacz_version"`
		Title     string     `json:"title"`
		Software  string     `json:"software"`
		Created   string     `json:"created"`
		MainURL   string     `json:"mainPageUrl,omitempty"`
		MainDate  string     `json:"mainPageDate,omitempty"`
		Resources []resource `json:"resources"`
	}{"data-package", waczVersion, "Crawl of " + strings.Join(m.Seeds[:min(3, len(m.Seeds))], ", "), m.Last().Software, w.now.Format(time.RFC3339), w.main.URL, w.main.TS, w.resources}, "", "  ")
	if err != nil {
		return err
	}
	err = w.add("datapackage.json", false, func(out io.Writer) error {
		_, err := out.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	return w.add("datapackage-digest.json", false, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "{\n  \"path\": \"datapackage.json\",\n  \"hash\": \"sha256:%x\"\n}\n", sha256.Sum256(b))
		return err
	})
}
