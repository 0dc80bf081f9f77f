// Package text exports the main text of a job's pages, with what the pages say about it and where its bytes are in the archive. It is
// a separate package because it parses pages and knows languages.
//
// Reading order: text.go.
package text

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/article/language"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/replay"
	"github.com/amble-crawler/amble/schema"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Row is a line of the file: a page of HTML that was answered with 200.
type Row struct {
	URL                string  `json:"url"`
	Title              string  `json:"title"`
	Byline             string  `json:"byline"`    // names of the authors, with ", " between them
	Published          string  `json:"published"` // a date or time as in RFC 3339
	Modified           string  `json:"modified"`
	Site               string  `json:"site"`
	Language           string  `json:"language"`            // of the text, as in BCP 47
	LanguageConfidence float64 `json:"language_confidence"` // from 0 to 1; below 0.5 it is unsure
	DeclaredLanguage   string  `json:"declared_language"`
	Licence            string  `json:"licence"` // SPDX identifier, or else as it is stated
	Words              int     `json:"words"`
	Text               string  `json:"text,omitempty"`
	Markdown           string  `json:"markdown,omitempty"`
	WARC               string  `json:"warc"`   // file of the archive
	Offset             int64   `json:"offset"` // of the gzip member in it, in bytes
	SHA256             string  `json:"sha256"` // of the page's decoded body

	Consent []sink.Usage   `json:"consent"` // what the site says about uses of the page
	Terms   *sink.Terms    `json:"terms"`   // all that it says, with the verdict for the purposes of the crawl; null: nothing
	Data    []*schema.Item `json:"data"`    // structured data, as JSON-LD without a context

	// DuplicateOf is the first URL, in alphabetical order, of those with the same text; "" for that URL.
	DuplicateOf string `json:"duplicate_of"`
}

// Text returns the kind text: a file of JSON lines, one for each page of HTML in the archive that was answered with 200, in the order
// of the visits, with the main text as plain text. A job without an archive is refused.
func Text() export.Kind {
	return export.Kind{Name: "text", Doc: "main text of each page with facts, as JSON lines", Suffix: ".text.jsonl", Write: func(x *export.Export) error {
		return write(x, func(r *Row, a *article.Article) { r.Text = a.Text() })
	}}
}

// Markdown returns the kind markdown, which is like [Text] with the main text as Markdown.
func Markdown() export.Kind {
	return export.Kind{Name: "markdown", Doc: "the same, with the text as Markdown", Suffix: ".markdown.jsonl", Write: func(x *export.Export) error {
		return write(x, func(r *Row, a *article.Article) { r.Markdown = a.Markdown() })
	}}
}

// digest identifies a text.
type digest [16]byte

// writer writes rows to a temporary file first, because the first URL of equal texts is only known at the end. It keeps some 100
// bytes in memory for each page.
type writer struct {
	archive    *replay.Pages
	first      map[digest]string // URL
	rows       *bufio.Writer     // of the temporary file: digest and line
	unreadable int
	tooLarge   int
}

func write(x *export.Export, fill func(*Row, *article.Article)) (err error) {
	archive, err := replay.OpenPages(x.Job)
	if err != nil {
		return err
	}
	if archive == nil {
		return export.Refused("job %s keeps no archive of answers: crawl with the format warc", x.Job.Dir())
	}
	defer func() { _ = archive.Close() }() // only read
	temp, err := os.Create(filepath.Join(x.Temp, "rows"))
	if err != nil {
		return err
	}
	defer func() { _ = temp.Close() }() // a temporary file
	w := &writer{archive: archive, first: map[digest]string{}, rows: bufio.NewWriter(temp)}
	for v, err := range x.Visits() {
		if err == nil && isPage(v) {
			err = w.page(x, v, fill)
		}
		if err != nil {
			return err
		}
	}
	if err := w.rows.Flush(); err != nil {
		return err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if w.unreadable > 0 {
		x.Note("%s could not be read from the archive", cli.Plural(w.unreadable, "page"))
	}
	if w.tooLarge > 0 {
		x.Note("%s left out: the tree would be too large or too deep", cli.Plural(w.tooLarge, "page"))
	}
	return w.finish(x, temp)
}

// isPage reports whether a visit has a row.
func isPage(v *sink.Record) bool {
	return v.WARC != nil && v.Status == 200 && (v.Type == "text/html" || v.Type == "application/xhtml+xml")
}

// page writes the row of a page.
func (w *writer) page(x *export.Export, v *sink.Record, fill func(*Row, *article.Article)) error {
	if err := x.Read(); err != nil {
		return err
	}
	body, err := w.body(x, v)
	if err == nil {
		return w.article(v, body, fill)
	}
	w.unreadable++
	return x.Context().Err()
}

// body returns a page in UTF-8.
func (w *writer) body(x *export.Export, v *sink.Record) ([]byte, error) {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return nil, err
	}
	page, err := w.archive.Read(x.Context(), u, v.WARC)
	if err != nil {
		return nil, err
	}
	return page.Text()
}

func (w *writer) article(v *sink.Record, body []byte, fill func(*Row, *article.Article)) error {
	a, err := article.Read(body, v.URL)
	if err != nil {
		w.tooLarge++
		return nil //nolint:nilerr // a note counts it
	}
	text := a.Text()
	guess := language.Detect(text)
	r := Row{
		URL: v.URL, Title: a.Title, Byline: a.Byline, Published: a.Published, Modified: a.Modified, Site: a.Site,
		Language: guess.Tag, LanguageConfidence: float64(int(guess.Confidence*1000)) / 1000, DeclaredLanguage: a.Language, Licence: a.Licence, Words: a.Words,
		WARC: v.WARC.File, Offset: v.WARC.Offset, SHA256: v.SHA256, Consent: append([]sink.Usage{}, v.Usage...), Terms: v.Terms, Data: append([]*schema.Item{}, a.Data.Items...),
	}
	fill(&r, a)
	var sum digest
	if text != "" {
		whole := sha256.Sum256([]byte(text))
		copy(sum[:], whole[:])
		if first, ok := w.first[sum]; !ok || v.URL < first {
			w.first[sum] = v.URL
		}
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err = w.rows.Write(append(sum[:], line.Bytes()...))
	return err
}

// finish copies the rows to the export, with the URLs of which they are duplicates.
func (w *writer) finish(x *export.Export, temp io.Reader) (err error) {
	f, err := os.OpenFile(x.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, out := bufio.NewReader(temp), bufio.NewWriter(f)
	for {
		var sum digest
		if _, err := io.ReadFull(in, sum[:]); errors.Is(err, io.EOF) {
			return errors.Join(out.Flush(), f.Sync())
		} else if err != nil {
			return err
		}
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		if line, err = w.named(line, w.first[sum]); err != nil {
			return err
		}
		x.Wrote(int64(len(line)))
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
}

// named returns a line with the URL of which it is a duplicate, which is its last field and empty so far.
func (w *writer) named(line []byte, first string) ([]byte, error) {
	var own struct{ URL string }
	if first == "" {
		return line, nil
	}
	if err := json.Unmarshal(line, &own); err != nil || own.URL == first {
		return line, err
	}
	name, err := json.Marshal(first)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(line, []byte("\"\"}\n")), name...), "}\n"...), nil
}
