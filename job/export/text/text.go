// Package text exports the main text of the pages of one or more jobs, with metadata from the pages and the position of each page
// in the archive. It is a separate package because it parses pages and detects languages.
//
//	r, err := job.Read("site") // a job with an archive
//	defer r.Close()
//	_, err = export.Write(ctx, r, text.Text(text.Options{}), "site.jsonl", nil) // each line a Row
//
// The rows are in the order of their URLs. The same jobs give the same rows, regardless of the order of the jobs and of their
// visits. Sorting and comparing use temporary files: memory is some 16 bytes for each page, plus 128 MiB.
package text

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/article/language"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/schema"
	"github.com/amble-crawler/amble/sink"
)

// Facts holds metadata that a page states about its main text, and properties of the text itself.
type Facts struct {
	Title              string  `json:"title"`
	Byline             string  `json:"byline"`    // names of the authors, separated by ", "
	Published          string  `json:"published"` // a date or time as in RFC 3339
	Modified           string  `json:"modified"`
	Site               string  `json:"site"`
	Language           string  `json:"language"`            // language of the text, as in BCP 47
	LanguageConfidence float64 `json:"language_confidence"` // from 0 to 1; below 0.5 the language is unsure
	DeclaredLanguage   string  `json:"declared_language"`
	Licence            string  `json:"licence"` // SPDX identifier, or else as stated
	Words              int     `json:"words"`
}

// FactsOf returns the facts of an article.
func FactsOf(a *article.Article) Facts {
	guess := language.Detect(a.Text())
	return Facts{
		Title: a.Title, Byline: a.Byline, Published: a.Published, Modified: a.Modified, Site: a.Site, Language: guess.Tag,
		LanguageConfidence: float64(int(guess.Confidence*1000)) / 1000, DeclaredLanguage: a.Language, Licence: a.Licence, Words: a.Words,
	}
}

// Row is an archived HTML page with status 200.
type Row struct {
	URL string `json:"url"`
	Facts
	Text     string `json:"text,omitempty"`
	Markdown string `json:"markdown,omitempty"`
	WARC     string `json:"warc"`   // file of the archive
	Offset   int64  `json:"offset"` // offset of its gzip member in the file, in bytes
	SHA256   string `json:"sha256"` // hash of the page's decoded body

	Consent []sink.Usage   `json:"consent"` // statements of the site about uses of the page
	Terms   *sink.Terms    `json:"terms"`   // all statements about uses, with the verdict for the purposes of the crawl; null: none
	Data    []*schema.Item `json:"data"`    // structured data, as JSON-LD without a context

	// DuplicateOf is the URL of the first row with the same or nearly the same text; "" for that row itself.
	DuplicateOf string `json:"duplicate_of"`

	Source Source `json:"-"`
}

// Source identifies the response that a row was made from.
type Source struct {
	Job    int       // index in [export.Export.Jobs]
	Record string    // WARC-Record-ID
	Target string    // WARC-Target-URI, which differs from the URL if the URL is not a valid URI
	Date   time.Time // WARC-Date
}

// Options selects and configures rows. The zero value selects every page, and leaves out both forms of the text.
type Options struct {
	Text, Markdown bool
	Refuse         []string // uses, such as train-ai: pages whose site disallows any of these uses are left out

	// Documents reads documents other than web pages, such as PDF files. nil: they have no rows.
	Documents Documents
}

// Documents reads the text of documents, such as the document.Articles of package article/document. It is called concurrently.
type Documents interface {
	// Reads reports whether documents of a media type are read. mediaType is in lower case and has no parameters.
	Reads(mediaType string) bool
	// Article returns the text of a document from address. A document that returns an error is left out.
	Article(ctx context.Context, body []byte, mediaType, address string) (*article.Article, error)
}

// Text returns the kind text: a file of JSON lines with the main texts as plain text, whatever form o selects. A job without an
// archive is refused.
func Text(o Options) export.Kind {
	o.Text, o.Markdown = true, false
	return lines("text", "main text of each page with facts, as JSON lines", o)
}

// Markdown returns the kind markdown, which is like [Text] with the main text as Markdown.
func Markdown(o Options) export.Kind {
	o.Text, o.Markdown = false, true
	return lines("markdown", "the same, with the text as Markdown", o)
}

func lines(name, doc string, o Options) export.Kind {
	return export.Kind{Name: name, Doc: doc, Suffix: "." + name + ".jsonl", Many: true, Write: func(x *export.Export) error {
		return x.WriteFile(x.Path, func(w *bufio.Writer) error {
			for row, err := range Rows(x, o) {
				if err != nil {
					return err
				}
				b, err := Line(row)
				if err != nil {
					return err
				}
				if _, err := w.Write(b); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// Line returns a row as a JSON line, with its line end.
func Line(r *Row) ([]byte, error) { return line(r) }

func line(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(row)
	return b.Bytes(), err
}
