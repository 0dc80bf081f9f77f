// Package text exports the main text of the pages of one or more jobs, with what the pages say about it and where its bytes are in the
// archive. It is a separate package because it parses pages and knows languages.
//
//	r, err := job.Read("site") // a job with an archive
//	defer r.Close()
//	_, err = export.Write(ctx, r, text.Text(text.Options{}), "site.jsonl", nil) // each line a Row
//
// The rows are in the order of their URLs. The same jobs give the same rows, in whatever order they are named and their pages were
// visited. What has to be sorted and compared is in temporary files: memory is some 16 bytes for each page, besides 128 MiB.
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

// Facts holds what a page says about its main text, and what the text itself says.
type Facts struct {
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
}

// FactsOf returns the facts of an article.
func FactsOf(a *article.Article) Facts {
	guess := language.Detect(a.Text())
	return Facts{
		Title: a.Title, Byline: a.Byline, Published: a.Published, Modified: a.Modified, Site: a.Site, Language: guess.Tag,
		LanguageConfidence: float64(int(guess.Confidence*1000)) / 1000, DeclaredLanguage: a.Language, Licence: a.Licence, Words: a.Words,
	}
}

// Row is a page of HTML that was answered with 200 and is in an archive.
type Row struct {
	URL string `json:"url"`
	Facts
	Text     string `json:"text,omitempty"`
	Markdown string `json:"markdown,omitempty"`
	WARC     string `json:"warc"`   // file of the archive
	Offset   int64  `json:"offset"` // of the gzip member in it, in bytes
	SHA256   string `json:"sha256"` // of the page's decoded body

	Consent []sink.Usage   `json:"consent"` // what the site says about uses of the page
	Terms   *sink.Terms    `json:"terms"`   // all that it says, with the verdict for the purposes of the crawl; null: nothing
	Data    []*schema.Item `json:"data"`    // structured data, as JSON-LD without a context

	// DuplicateOf is the URL of the first row with the same text, or nearly the same; "" for that row.
	DuplicateOf string `json:"duplicate_of"`

	Source Source `json:"-"`
}

// Source names the answer that a row was made from.
type Source struct {
	Job    int       // index in [export.Export.Jobs]
	Record string    // WARC-Record-ID
	Target string    // WARC-Target-URI, which differs from the URL where that is no valid URI
	Date   time.Time // WARC-Date
}

// Options selects and forms rows. The zero value takes every page, and leaves out both forms of the text.
type Options struct {
	Text, Markdown bool
	Refuse         []string // uses, such as train-ai: pages whose site disallows one of them are left out

	// Documents reads documents that are no web pages, such as PDF files. nil: they have no rows.
	Documents Documents
}

// Documents reads the text of documents, such as the document.Articles of package article/document. It is called concurrently.
type Documents interface {
	// Reads reports whether documents of a media type are read, which is without parameters and in lower case.
	Reads(mediaType string) bool
	// Article returns the text of a document from an address. A document that cannot be read is left out.
	Article(ctx context.Context, body []byte, mediaType, address string) (*article.Article, error)
}

// Text returns the kind text: a file of JSON lines with the main texts as plain text, whichever form o names. A job without an archive is refused.
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

// Line returns a row as a line of JSON, with its end.
func Line(r *Row) ([]byte, error) { return line(r) }

func line(row any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(row)
	return b.Bytes(), err
}
