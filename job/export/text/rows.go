package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/schema"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// collection makes the rows of an export.
type collection struct {
	x        *export.Export
	o        Options
	workers  int
	archives []*job.Pages    // archives of the jobs
	created  []string        // creation time of each job
	pages    *extsort.Sorter // sorted by URL, then job
	first    []int32         // keyed by row: the first row with the same text

	final, signatures *os.File // rows without repeated blocks, as JSON lines, and the signatures of their texts

	skipped
	refused, cleaned int
}

// skipped counts pages that have no row.
type skipped struct{ unreadable, tooLarge, givenUp atomic.Int64 }

// stored is a row in a temporary file.
type stored struct {
	Row    *Row
	Source Source
	Sum    uint64   // hash of the text
	Blocks []uint64 // hashes of the text's blocks
}

// Rows returns the rows of an export, each valid until the next one. The sequence ends after an error. A job without an archive
// is an error.
func Rows(x *export.Export, o Options) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		c := &collection{x: x, o: o, workers: runtime.GOMAXPROCS(0), pages: extsort.New(x.Temp, 0)}
		err := c.open()
		defer c.close()
		for _, step := range []func() error{c.collect, c.clean, c.compare} {
			if err == nil {
				err = step()
			}
		}
		if err == nil {
			c.notes()
			err = c.read(func(r *Row) bool { return yield(r, nil) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// open opens the archives.
func (c *collection) open() error {
	for _, r := range c.x.Jobs {
		m, err := r.Manifest()
		if err != nil {
			return err
		}
		archive, err := r.Pages()
		if err != nil {
			return err
		}
		if archive == nil {
			return export.Refused("job %s keeps no archive of answers: crawl with the format warc", r.Dir())
		}
		c.archives, c.created = append(c.archives, archive), append(c.created, m.Created.UTC().Format("2006-01-02T15:04:05.000000000"))
	}
	return nil
}

func (c *collection) close() {
	for _, a := range c.archives {
		_ = a.Close() // only read, so an error of closing loses nothing
	}
	_ = c.pages.Close()                          // temporary files: errors of closing do no harm
	_, _ = c.final.Close(), c.signatures.Close() // a nil file has nothing to close
}

// visited is a visit with its job.
type visited struct {
	job   int
	visit *sink.Record
}

// collect reads the pages of all jobs.
func (c *collection) collect() error {
	for record, err := range inOrder(c.workers, c.visits(), c.page) {
		if err == nil && record != nil {
			err = c.pages.Add(record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// visits returns the visits that have a row if their page can be read.
func (c *collection) visits() iter.Seq2[visited, error] {
	return func(yield func(visited, error) bool) {
		for n, r := range c.x.Jobs {
			for v, err := range c.x.VisitsOf(r) {
				if err == nil && !c.isPage(v) {
					continue
				}
				if err == nil {
					err = c.x.Read()
				}
				if err == nil && c.refuses(v) {
					c.refused++
					continue
				}
				if !yield(visited{n, v}, err) || err != nil {
					return
				}
			}
		}
	}
}

// isPage reports whether a visit gets a row if its site does not refuse.
func (c *collection) isPage(v *sink.Record) bool {
	return v.WARC != nil && v.Status == 200 && (v.Type == "text/html" || v.Type == "application/xhtml+xml" || c.o.isDocument(v.Type))
}

// isDocument reports whether documents of a media type are read.
func (o *Options) isDocument(mediaType string) bool {
	return o.Documents != nil && o.Documents.Reads(mediaType)
}

// refuses reports whether the site refused the page to the crawl, or disallows a use of it that is in Options.Refuse.
func (c *collection) refuses(v *sink.Record) bool {
	return v.Outcome == "refused" || slices.ContainsFunc(v.Usage, func(u sink.Usage) bool {
		return u.Signal == "disallow" && slices.Contains(c.o.Refuse, u.Use)
	})
}

// page returns the row of a page as a record that sorts by URL and job. It returns nil if the page cannot be read.
func (c *collection) page(p visited) ([]byte, error) {
	v := p.visit
	s := &stored{Source: Source{Job: p.job}, Row: &Row{URL: v.URL, WARC: v.WARC.File, Offset: v.WARC.Offset, SHA256: v.SHA256, Consent: append([]sink.Usage{}, v.Usage...), Terms: v.Terms}}
	a, err := c.article(s)
	if err != nil || a == nil {
		return nil, err
	}
	c.fill(s, a)
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%016x\n", v.URL, c.created[p.job], v.WARC.File, v.WARC.Offset)
	return append([]byte(key), b...), nil
}

// article reads the article of a page and sets the fields of the row that describe the response. It returns nil if the page
// cannot be read.
func (c *collection) article(s *stored) (*article.Article, error) {
	u, err := weburl.Parse(s.Row.URL)
	if err != nil {
		c.unreadable.Add(1)
		return nil, nil //nolint:nilerr // a note counts it
	}
	page, answer, err := c.archives[s.Source.Job].ReadRecord(c.x.Context(), u, &sink.Location{File: s.Row.WARC, Offset: s.Row.Offset})
	if err != nil {
		c.unreadable.Add(1)
		return nil, c.x.Context().Err()
	}
	defer page.Release()
	s.Source.Record, s.Source.Target, s.Source.Date = answer.ID, answer.URL, answer.Date
	return c.o.read(c.x.Context(), page, s.Row.URL, &c.skipped)
}

// read returns the article of a page or document, nil if it cannot be read. The error is the error of ctx.
func (o *Options) read(ctx context.Context, page *fetcher.Page, address string, s *skipped) (*article.Article, error) {
	if o.isDocument(page.ContentType) {
		a, err := o.Documents.Article(ctx, page.Body, page.ContentType, address)
		if err != nil {
			s.givenUp.Add(1)
			return nil, ctx.Err()
		}
		return a, nil
	}
	body, err := page.Text()
	if err != nil {
		s.unreadable.Add(1)
		return nil, ctx.Err()
	}
	a, err := article.Read(body, address)
	if err != nil {
		s.tooLarge.Add(1)
		return nil, nil //nolint:nilerr // a note counts it
	}
	return a, nil
}

// fill sets the fields of a row from an article.
func (c *collection) fill(s *stored, a *article.Article) {
	s.Row.fill(a, c.o.Markdown)
	s.Sum, s.Blocks = xxh3.HashString(s.Row.Text), blocks(a)
}

// fill sets the fields of a row from an article.
func (r *Row) fill(a *article.Article, markdown bool) {
	r.Facts, r.Data, r.Text, r.Markdown = FactsOf(a), append([]*schema.Item{}, a.Data.Items...), a.Text(), ""
	if markdown {
		r.Markdown = a.Markdown()
	}
}

// rows returns the rows in order, as JSON.
func (c *collection) rows() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		row := 0
		for record, err := range c.pages.All() {
			if row++; err == nil && row%512 == 0 {
				err = c.x.Context().Err()
			}
			_, line, _ := bytes.Cut(record, []byte("\n"))
			if !yield(bytes.Clone(line), err) || err != nil {
				return
			}
		}
	}
}

func parse(row []byte) (*stored, error) {
	s := new(stored)
	return s, json.Unmarshal(row, s)
}

// rowToClean is a row and the hashes of the blocks to remove because its site repeats them.
type rowToClean struct {
	row  []byte // the row as JSON
	drop map[uint64]bool
}

// cleaned is a row as a JSON line, with its signature.
type cleaned struct {
	line      []byte
	signature signature
	changed   bool
}

// clean removes from each page the blocks that its site repeats, and writes the rows and their signatures.
func (c *collection) clean() (err error) {
	hits, err := c.repeated()
	if err != nil {
		return err
	}
	defer func() { _ = hits.Close() }() // a temporary file: an error of closing does no harm
	if c.final, err = os.Create(filepath.Join(c.x.Temp, "rows")); err != nil {
		return err
	}
	if c.signatures, err = os.Create(filepath.Join(c.x.Temp, "signatures")); err != nil {
		return err
	}
	rows, signatures := bufio.NewWriterSize(c.final, 256<<10), bufio.NewWriterSize(c.signatures, 256<<10) // Flush returns the first error
	for r, err := range inOrder(c.workers, c.toClean(hits), c.cleanRow) {
		if err != nil {
			return err
		}
		_, _ = rows.Write(r.line)
		_, _ = signatures.Write(r.signature[:])
		if r.changed {
			c.cleaned++
		}
	}
	return errors.Join(rows.Flush(), signatures.Flush())
}

// toClean returns the rows in order, each with the hashes of the blocks to remove from it, which it reads from hits.
func (c *collection) toClean(hits *extsort.Sorter) iter.Seq2[rowToClean, error] {
	return func(yield func(rowToClean, error) bool) {
		next, stop := iter.Pull2(hits.All())
		defer stop()
		hit, broken, more := next()
		row := 0
		for b, err := range c.rows() {
			r := rowToClean{b, map[uint64]bool{}}
			for ; more && broken == nil && int(binary.BigEndian.Uint32(hit)) == row; hit, broken, more = next() {
				r.drop[binary.BigEndian.Uint64(hit[4:])] = true
			}
			if err = cmp.Or(err, broken); !yield(r, err) || err != nil {
				return
			}
			row++
		}
	}
}

// cleanRow removes blocks from a row.
func (c *collection) cleanRow(r rowToClean) (out cleaned, err error) {
	s, err := parse(r.row)
	if err == nil && len(r.drop) > 0 {
		out.changed, err = c.without(s, r.drop)
	}
	if err != nil {
		return out, err
	}
	out.signature = signatureOf(s.Row.Text)
	out.line, err = json.Marshal(s)
	out.line = append(out.line, '\n')
	return out, err
}

// compare finds the rows with the same text.
func (c *collection) compare() (err error) {
	_ = c.pages.Close() // not needed any more: free its memory
	c.first, err = firstOf(c.x.Temp, c.signatures)
	return err
}

// read calls f with the final rows until it returns false.
func (c *collection) read(f func(*Row) bool) error {
	heads := map[int32]string{} // URLs of texts that have duplicates, keyed by the row of the first copy
	for row, first := range c.first {
		if int(first) != row {
			heads[first] = ""
		}
	}
	row := int32(0)
	for s, err := range inOrder(c.workers, c.lines(), parse) {
		if err != nil {
			return err
		}
		r, first := s.Row, c.first[row]
		r.Source = s.Source
		if !c.o.Text {
			r.Text = ""
		}
		if _, ok := heads[row]; ok {
			heads[row] = r.URL
		}
		if first != row {
			r.DuplicateOf = heads[first]
		}
		if !f(r) {
			return nil
		}
		row++
	}
	return nil
}

// lines returns the lines of the final rows.
func (c *collection) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		_, err := c.final.Seek(0, io.SeekStart)
		in := bufio.NewReaderSize(c.final, 256<<10)
		for range c.first {
			var line []byte
			if err == nil {
				line, err = in.ReadBytes('\n')
			}
			if err = cmp.Or(err, c.x.Context().Err()); !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// notes reports the pages that are left out.
func (c *collection) notes() {
	if n := int(c.unreadable.Load()); n > 0 {
		c.x.Note("%s could not be read from the archive", cli.Plural(n, "page"))
	}
	if n := int(c.tooLarge.Load()); n > 0 {
		c.x.Note("%s left out: the tree would be too large or too deep", cli.Plural(n, "page"))
	}
	if n := int(c.givenUp.Load()); n > 0 {
		c.x.Note("%s left out: broken, encrypted, received in part, or too costly to read", cli.Plural(n, "document"))
	}
	if c.cleaned > 0 {
		c.x.Note("%s lost blocks that their sites repeat", cli.Plural(c.cleaned, "page"))
	}
	if c.refused > 0 {
		c.x.Note("%s left out: their sites refuse such uses", cli.Plural(c.refused, "page"))
	}
}
