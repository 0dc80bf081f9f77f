// Package corpus exports the main texts of jobs as a corpus: parts of bounded size, as compressed JSON lines and as Parquet files, with
// the documents that a publication needs. It is a separate package because it links a library for each of these formats.
//
//	r, err := job.Read("birds") // a crawl with job.Config.Archive
//	…
//	kind := corpus.Kind(text.Options{Refuse: []string{robots.UseTrainAI}})
//	_, err = export.Write(ctx, r, kind, "birds-corpus", nil)
//	v, err := corpus.Verify("birds-corpus")
package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/job/export/text"
)

// Limits of a part, on rows and on bytes of JSON lines.
const (
	partRows  = 100_000
	partBytes = 256 << 20
)

// Kind returns the kind corpus: a directory with the files part-NNNNN.jsonl.zst and part-NNNNN.parquet, which have the same rows,
// and the documents DATASHEET.md, corpus.json, croissant.json, ro-crate-metadata.json and SHA256SUMS. The rows are the rows of
// [text.Rows] with both forms of the text; in Parquet files, consent, terms and data are JSON. A job without an archive is
// refused. The same jobs give the same parts.
func Kind(o text.Options) export.Kind {
	return export.Kind{Name: "corpus", Doc: "the texts in parts, as JSON lines and Parquet, with their papers", Suffix: "-corpus", Dir: true, Many: true, Write: func(x *export.Export) error {
		return write(x, o, partRows)
	}}
}

// corpus is a corpus that is being written.
type corpus struct {
	x       *export.Export
	rows    int // maximum rows of a part
	part    *part
	files   []file
	totals  totals
	columns *export.Table
}

// file describes one file of the corpus.
type file struct {
	Name  string
	Bytes int64
	Sum   string
}

func write(x *export.Export, o text.Options, rows int) (err error) {
	o.Text, o.Markdown = true, true
	c := &corpus{x: x, rows: rows, totals: newTotals(o.Refuse), columns: table()}
	defer func() {
		if c.part != nil { // after an error, a part is still open
			err = errors.Join(err, c.part.close())
		}
	}()
	for row, err := range text.Rows(x, o) {
		if err == nil {
			err = c.add(row)
		}
		if err != nil {
			return err
		}
	}
	if err := c.endPart(); err != nil {
		return err
	}
	return c.papers()
}

// add adds a row to the part, or to the next one if that is full.
func (c *corpus) add(row *text.Row) (err error) {
	if c.part != nil && (c.part.rows >= c.rows || c.part.bytes >= partBytes) {
		if err := c.endPart(); err != nil {
			return err
		}
	}
	if c.part == nil {
		if c.part, err = c.newPart(len(c.files) / 2); err != nil {
			return err
		}
	}
	c.totals.add(row)
	return c.part.add(row)
}

func (c *corpus) endPart() error {
	if c.part == nil {
		return nil
	}
	p := c.part
	c.part = nil
	if err := errors.Join(p.lines.Close(), p.table.Close(), p.close()); err != nil {
		return err
	}
	for _, o := range p.outputs {
		c.files = append(c.files, file{filepath.Base(o.f.Name()), o.bytes, hex.EncodeToString(o.sum.Sum(nil))})
	}
	return nil
}

// part is one part of the corpus, as JSON lines and as a Parquet file.
type part struct {
	outputs [2]*output
	lines   *zstd.Encoder
	table   *parquet.Writer
	rows    int
	bytes   int
}

func (c *corpus) newPart(n int) (p *part, err error) {
	p = &part{}
	for i, ending := range []string{".jsonl.zst", ".parquet"} {
		f, err := os.OpenFile(filepath.Join(c.x.Path, fmt.Sprintf("part-%05d%s", n, ending)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.outputs[i] = &output{x: c.x, f: f, sum: sha256.New()}
	}
	if p.lines, err = zstd.NewWriter(p.outputs[0], zstd.WithEncoderConcurrency(1)); err != nil { // deterministic with one goroutine
		return nil, errors.Join(err, p.close())
	}
	p.table = parquet.NewWriter(p.outputs[1], c.columns)
	return p, nil
}

func (p *part) add(row *text.Row) error {
	line, err := text.Line(row)
	if err != nil {
		return err
	}
	if _, err := p.lines.Write(line); err != nil {
		return err
	}
	p.rows++
	p.bytes += len(line)
	values, err := valuesOf(row)
	if err != nil {
		return err
	}
	return p.table.Write(values)
}

// close makes the files durable and closes them.
func (p *part) close() error {
	var errs []error
	for _, o := range p.outputs {
		if o != nil {
			errs = append(errs, o.f.Sync(), o.f.Close())
		}
	}
	return errors.Join(errs...)
}

// output is a file that is hashed as it is written.
type output struct {
	x     *export.Export
	f     *os.File
	sum   hash.Hash
	bytes int64
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n, err := io.MultiWriter(o.f, o.sum).Write(b)
	o.bytes += int64(n)
	o.x.Wrote(int64(n))
	return n, err
}

// table returns the columns of the Parquet files.
func table() *export.Table {
	return &export.Table{Name: "corpus", Columns: []export.Column{
		{Name: "url", Doc: "address of the page"},
		{Name: "title", Doc: "title of the page without the site's name"},
		{Name: "byline", Doc: "names of the authors"},
		{Name: "published", Doc: "date or time as in RFC 3339"},
		{Name: "modified", Doc: "date or time as in RFC 3339"},
		{Name: "site", Doc: "name of the site"},
		{Name: "language", Doc: "language of the text, as in BCP 47"},
		{Name: "language_confidence", Type: export.Float, Doc: "from 0 to 1; below 0.5 the language is unsure"},
		{Name: "declared_language", Doc: "language that the page states"},
		{Name: "licence", Doc: "SPDX identifier where there is one, or what the page states"},
		{Name: "words", Type: export.Int, Doc: "words of the text"},
		{Name: "text", Doc: "main text as plain text"},
		{Name: "markdown", Doc: "main text as Markdown"},
		{Name: "warc", Doc: "file of the web archive with the answer"},
		{Name: "offset", Type: export.Int, Doc: "offset of the gzip member with the answer, in bytes"},
		{Name: "sha256", Doc: "SHA-256 of the page's decoded body"},
		{Name: "duplicate_of", Doc: "URL of the first row with the same text, or nearly the same"},
		{Name: "consent", Doc: "what the site says about uses of the page, as JSON"},
		{Name: "terms", Doc: "all that it says, with the verdict for the purposes of the crawl, as JSON"},
		{Name: "data", Doc: "structured data of the page, as JSON"},
	}}
}

func valuesOf(r *text.Row) ([]export.Value, error) {
	var values []export.Value
	add := func(s ...string) {
		for _, s := range s {
			values = append(values, export.Value{Valid: true, Text: s})
		}
	}
	number := func(n int64) { values = append(values, export.Value{Valid: true, Int: n}) }
	add(r.URL, r.Title, r.Byline, r.Published, r.Modified, r.Site, r.Language)
	values = append(values, export.Value{Valid: true, Float: r.LanguageConfidence})
	add(r.DeclaredLanguage, r.Licence)
	number(int64(r.Words))
	add(r.Text, r.Markdown, r.WARC)
	number(r.Offset)
	add(r.SHA256, r.DuplicateOf)
	for _, v := range []any{r.Consent, r.Terms, r.Data} {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		add(string(b))
	}
	return values, nil
}

// totals holds sums over the rows, for the documents.
type totals struct {
	Schema     string         `json:"schema"`
	Refuse     []string       `json:"refuse"` // uses, such as train-ai: pages of sites that disallow any of these uses are left out
	Rows       int            `json:"rows"`
	Words      int            `json:"words"`
	Duplicates int            `json:"duplicates"`
	First      time.Time      `json:"first"` // times of the responses
	Last       time.Time      `json:"last"`
	Languages  map[string]int `json:"languages"`
	Licences   map[string]int `json:"licences"`
	Consent    map[string]int `json:"consent"` // number of rows by use and signal
	Verdicts   map[string]int `json:"verdicts"`

	jobs map[int]int
}

func newTotals(refuse []string) totals {
	return totals{
		Schema: "amble.corpus/1", Refuse: append([]string{}, refuse...), Languages: map[string]int{}, Licences: map[string]int{},
		Consent: map[string]int{}, Verdicts: map[string]int{}, jobs: map[int]int{},
	}
}

func (t *totals) add(r *text.Row) {
	t.Rows++
	t.Words += r.Words
	if r.DuplicateOf != "" {
		t.Duplicates++
	}
	t.Languages[r.Language]++
	t.Licences[licence(r.Licence)]++
	t.jobs[r.Source.Job]++
	var said []string
	for _, u := range r.Consent {
		if s := u.Use + " " + u.Signal; !slices.Contains(said, s) {
			said = append(said, s)
			t.Consent[s]++
		}
	}
	if r.Terms != nil {
		t.Verdicts[r.Terms.Effect]++
	} else {
		t.Verdicts["silent"]++
	}
	if d := r.Source.Date; t.First.IsZero() || d.Before(t.First) {
		t.First = d
	}
	if d := r.Source.Date; d.After(t.Last) {
		t.Last = d
	}
}
