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
	"slices"

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

// errEnough ends the reading of rows.
var errEnough = errors.New("no more rows are wanted")

// collection makes the rows of an export.
type collection struct {
	x        *export.Export
	o        Options
	archives []*job.Pages    // of the jobs
	created  []string        // when each job was made
	pages    *extsort.Sorter // by URL, then job
	final    *os.File        // the rows without what repeats, as JSON lines
	n        int             // rows
	first    []int32         // by row: the first one with the same text

	skipped
	refused, cleaned int
}

// skipped counts pages that have no row.
type skipped struct{ unreadable, tooLarge, givenUp int }

// stored is a row in a temporary file.
type stored struct {
	Row    *Row
	Source Source
	Sum    uint64   // of the text
	Blocks []uint64 // hashes of its blocks
}

// Rows returns the rows of an export, each valid until the next one. The sequence ends after an error, which says so if one of the
// jobs has no archive.
func Rows(x *export.Export, o Options) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		c := &collection{x: x, o: o, pages: extsort.New(x.Temp, 0)}
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
		_ = a.Close() // only read
	}
	_ = c.pages.Close() // temporary files
	if c.final != nil {
		_ = c.final.Close()
	}
}

// collect reads the pages of all jobs.
func (c *collection) collect() error {
	for n, r := range c.x.Jobs {
		for v, err := range c.x.VisitsOf(r) {
			if err == nil && c.isPage(v) {
				err = c.page(n, v)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// isPage reports whether a visit has a row, unless its site refuses.
func (c *collection) isPage(v *sink.Record) bool {
	return v.WARC != nil && v.Status == 200 && (v.Type == "text/html" || v.Type == "application/xhtml+xml" || c.o.isDocument(v.Type))
}

// isDocument reports whether answers of a media type are documents that are read.
func (o *Options) isDocument(mediaType string) bool {
	return o.Documents != nil && o.Documents.Reads(mediaType)
}

// refuses reports whether the crawl was refused a page, or the site disallows a use of it that the export is not to have.
func (c *collection) refuses(v *sink.Record) bool {
	return v.Outcome == "refused" || slices.ContainsFunc(v.Usage, func(u sink.Usage) bool {
		return u.Signal == "disallow" && slices.Contains(c.o.Refuse, u.Use)
	})
}

// page adds the row of a page.
func (c *collection) page(n int, v *sink.Record) error {
	if err := c.x.Read(); err != nil {
		return err
	}
	if c.refuses(v) {
		c.refused++
		return nil
	}
	s := &stored{Source: Source{Job: n}, Row: &Row{URL: v.URL, WARC: v.WARC.File, Offset: v.WARC.Offset, SHA256: v.SHA256, Consent: append([]sink.Usage{}, v.Usage...), Terms: v.Terms}}
	a, err := c.article(s)
	if err != nil || a == nil {
		return err
	}
	c.fill(s, a)
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%016x\n", v.URL, c.created[n], v.WARC.File, v.WARC.Offset)
	return c.pages.Add(append([]byte(key), b...))
}

// article reads the article of a page, nil if it cannot be read, and completes what the row says of the answer.
func (c *collection) article(s *stored) (*article.Article, error) {
	u, err := weburl.Parse(s.Row.URL)
	if err != nil {
		c.unreadable++
		return nil, nil //nolint:nilerr // a note counts it
	}
	page, answer, err := c.archives[s.Source.Job].ReadRecord(c.x.Context(), u, &sink.Location{File: s.Row.WARC, Offset: s.Row.Offset})
	if err != nil {
		c.unreadable++
		return nil, c.x.Context().Err()
	}
	defer page.Release()
	s.Source.Record, s.Source.Target, s.Source.Date = answer.ID, answer.URL, answer.Date
	return c.o.read(c.x.Context(), page, s.Row.URL, &c.skipped)
}

// read returns the article of a page or document, nil if it cannot be read. The error is that of ctx.
func (o *Options) read(ctx context.Context, page *fetcher.Page, address string, s *skipped) (*article.Article, error) {
	if o.isDocument(page.ContentType) {
		a, err := o.Documents.Article(ctx, page.Body, page.ContentType, address)
		if err != nil {
			s.givenUp++
			return nil, ctx.Err()
		}
		return a, nil
	}
	body, err := page.Text()
	if err != nil {
		s.unreadable++
		return nil, ctx.Err()
	}
	a, err := article.Read(body, address)
	if err != nil {
		s.tooLarge++
		return nil, nil //nolint:nilerr // a note counts it
	}
	return a, nil
}

// fill fills a row with what an article says.
func (c *collection) fill(s *stored, a *article.Article) {
	s.Row.fill(a, c.o.Markdown)
	s.Sum, s.Blocks = xxh3.HashString(s.Row.Text), blocks(a)
}

// fill fills a row with what an article says.
func (r *Row) fill(a *article.Article, markdown bool) {
	r.Facts, r.Data, r.Text, r.Markdown = FactsOf(a), append([]*schema.Item{}, a.Data.Items...), a.Text(), ""
	if markdown {
		r.Markdown = a.Markdown()
	}
}

// rows calls f with each page in order.
func (c *collection) rows(f func(row int, s *stored) error) error {
	row := 0
	for b, err := range c.pages.All() {
		if err != nil {
			return err
		}
		_, b, _ = bytes.Cut(b, []byte("\n"))
		s := new(stored)
		if err := json.Unmarshal(b, s); err != nil {
			return err
		}
		if err := f(row, s); err != nil {
			return err
		}
		if row++; row%512 == 0 && c.x.Context().Err() != nil {
			return c.x.Context().Err()
		}
	}
	return nil
}

// clean removes from each page the blocks that its site repeats, and writes the rows and what they are compared by.
func (c *collection) clean() (err error) {
	hits, err := c.repeated()
	if err != nil {
		return err
	}
	defer func() { _ = hits.Close() }() // a temporary file
	next, stop := iter.Pull2(hits.All())
	defer stop()
	if c.final, err = os.Create(filepath.Join(c.x.Temp, "rows")); err != nil {
		return err
	}
	out := bufio.NewWriterSize(c.final, 256<<10)
	b, err, more := next()
	if err := c.rows(func(row int, s *stored) error {
		drop := map[uint64]bool{}
		for ; more && err == nil && int(binary.BigEndian.Uint32(b)) == row; b, err, more = next() {
			drop[binary.BigEndian.Uint64(b[4:])] = true
		}
		if err == nil && len(drop) > 0 {
			err = c.without(s, drop)
		}
		if err != nil {
			return err
		}
		c.n++
		return json.NewEncoder(out).Encode(s)
	}); err != nil {
		return err
	}
	return errors.Join(err, out.Flush())
}

// compare finds the rows with the same text.
func (c *collection) compare() (err error) {
	_ = c.pages.Close() // gives its memory back
	c.first, err = firstOf(c.x.Temp, func(yield func(string, error) bool) {
		err := c.eachFinal(func(_ int, s *stored) error {
			if !yield(s.Row.Text, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield("", err)
		}
	})
	return err
}

// eachFinal calls f with each final row until it returns an error.
func (c *collection) eachFinal(f func(row int, s *stored) error) error {
	if _, err := c.final.Seek(0, io.SeekStart); err != nil {
		return err
	}
	d := json.NewDecoder(bufio.NewReaderSize(c.final, 256<<10))
	for row := range c.n {
		s := new(stored)
		if err := cmp.Or(d.Decode(s), c.x.Context().Err()); err != nil {
			return err
		}
		if err := f(row, s); err != nil {
			return err
		}
	}
	return nil
}

// read calls f with the final rows until it returns false.
func (c *collection) read(f func(*Row) bool) error {
	heads := map[int32]string{} // URLs of first rows that have duplicates
	for row, first := range c.first {
		if int(first) != row {
			heads[first] = ""
		}
	}
	err := c.eachFinal(func(row int, s *stored) error {
		r, first := s.Row, c.first[row]
		r.Source = s.Source
		if !c.o.Text {
			r.Text = ""
		}
		if _, ok := heads[int32(row)]; ok {
			heads[int32(row)] = r.URL
		}
		if int(first) != row {
			r.DuplicateOf = heads[first]
		}
		if !f(r) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// notes says what is left out.
func (c *collection) notes() {
	if c.unreadable > 0 {
		c.x.Note("%s could not be read from the archive", cli.Plural(c.unreadable, "page"))
	}
	if c.tooLarge > 0 {
		c.x.Note("%s left out: the tree would be too large or too deep", cli.Plural(c.tooLarge, "page"))
	}
	if c.givenUp > 0 {
		c.x.Note("%s left out: broken, encrypted, received in part, or too costly to read", cli.Plural(c.givenUp, "document"))
	}
	if c.cleaned > 0 {
		c.x.Note("%s lost blocks that their sites repeat", cli.Plural(c.cleaned, "page"))
	}
	if c.refused > 0 {
		c.x.Note("%s left out: their sites refuse such uses", cli.Plural(c.refused, "page"))
	}
}
