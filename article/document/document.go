// Package document reads the text and the metadata of PDF, EPUB and DOCX files, page by page.
//
//	d, err := document.Read(ctx, body, document.PDF)
//	fmt.Println(d.Title, d.Article("").Text())
//
// [Read] runs in the calling process. Files on the web may be broken or hostile: the PDF parser may need much time and memory for them,
// and a goroutine cannot be stopped from outside. Programs that read untrusted files should use [Isolated], which reads each file in a
// process with limits. EPUB and DOCX files are ZIP archives of XML; their unpacked size is limited.
//
// These are lost: pictures and text in them, formulas, footnotes of DOCX files, and line drawings. Running titles and page numbers of a PDF
// stay in its text. Paragraphs, headings and the blanks between words of a PDF are inferred from the positions of letters. The text of a
// PDF is in the order in which it is drawn, which nearly always is the reading order.
//
// Functions may be called concurrently.
package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
)

// The media types of supported documents.
const (
	PDF  = "application/pdf"
	EPUB = "application/epub+zip"
	DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
)

// Reads reports whether documents of a media type can be read. The media type must be in lower case, without parameters.
func Reads(mediaType string) bool { return mediaType == PDF || mediaType == EPUB || mediaType == DOCX }

// Type returns the media type that the first bytes of a file show, "" if it is not supported.
func Type(body []byte) string {
	head := string(body[:min(len(body), 1024)])
	switch {
	case strings.Contains(head, "%PDF-"):
		return PDF
	case !strings.HasPrefix(head, "PK\x03\x04"):
		return ""
	case strings.Contains(head, "mimetype"+EPUB):
		return EPUB
	case bytes.Contains(body, []byte("word/document.xml")):
		return DOCX
	}
	return ""
}

// Limits of a document. Content beyond them is left out, which Document.Cut describes.
const (
	maxPages = 10_000
	maxLinks = 10_000
	maxText  = 16 << 20 // total bytes of the pages
)

// Document is the text of a file with its metadata. Missing strings are "".
type Document struct {
	Title    string   `json:"title,omitempty"`
	Author   string   `json:"author,omitempty"`   // names of the authors, separated by ", "
	Language string   `json:"language,omitempty"` // declared language tag
	Modified string   `json:"modified,omitempty"` // date or time in the form of RFC 3339
	Pages    []string `json:"pages"`              // text as HTML: one per page of a PDF, per chapter of an EPUB, or one for a whole DOCX
	Links    []string `json:"links,omitempty"`    // absolute URLs of the document's links, each once
	Cut      string   `json:"cut,omitempty"`      // description of content that was left out; "" if there is none

	size int // total bytes of Pages
}

// Reader reads documents, in this process or in another one.
type Reader interface {
	Read(ctx context.Context, body []byte, mediaType string) (*Document, error)
}

// ErrNotRead is returned for a file that is not a document of the given type, is encrypted with a password, or is broken.
var ErrNotRead = errors.New("document: the file cannot be read")

// Read reads a document of a media type in this process, without the limits of [Isolated]: see the package comment. It checks the context
// periodically. The error is [ErrNotRead] or the context's.
func Read(ctx context.Context, body []byte, mediaType string) (d *Document, err error) {
	defer func() {
		if x := recover(); x != nil {
			d, err = nil, fmt.Errorf("%w: the parser panicked: %v at %s", ErrNotRead, x, firstFrame(debug.Stack()))
		}
	}()
	d = &Document{}
	switch mediaType {
	case PDF:
		err = d.readPDF(ctx, body)
	case EPUB:
		err = d.readEPUB(ctx, body)
	case DOCX:
		err = d.readDOCX(ctx, body)
	default:
		err = fmt.Errorf("%w: %q is not the type of a PDF, EPUB or DOCX file", ErrNotRead, mediaType)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// firstFrame returns the source location of a panic.
func firstFrame(stack []byte) string {
	_, after, _ := strings.Cut(string(stack), "panic(")
	lines := strings.SplitN(after, "\n", 5)
	if len(lines) < 4 {
		return "an unknown place"
	}
	place, _, _ := strings.Cut(strings.TrimSpace(lines[3]), " ")
	return place
}

// add adds a page, and reports whether the document has room for it.
func (d *Document) add(page string) (ok bool) {
	switch {
	case len(d.Pages) >= maxPages:
		d.Cut = fmt.Sprintf("pages after the first %d", maxPages)
	case d.size+len(page) > maxText:
		d.Cut = fmt.Sprintf("text after the first %d MiB", maxText>>20)
	default:
		d.Pages, d.size = append(d.Pages, page), d.size+len(page)
		return true
	}
	return false
}

// link adds a URL, unless it is known or is no web address.
func (d *Document) link(address string, known map[string]bool) bool {
	address = strings.TrimSpace(address)
	scheme, _, _ := strings.Cut(strings.ToLower(address), "://")
	if scheme != "http" && scheme != "https" || strings.ContainsAny(address, "\r\n\x00") {
		return false
	}
	switch {
	case known[address]:
	case len(d.Links) >= maxLinks:
		d.Cut = fmt.Sprintf("links after the first %d", maxLinks)
	default:
		known[address] = true
		d.Links = append(d.Links, address)
	}
	return true
}

// Article returns the text of all pages, in order, as an article. address is the URL of the document; it may be "". The error is from
// [article.Whole].
func (d *Document) Article(address string) (*article.Article, error) {
	root := &html.Node{Type: html.ElementNode, DataAtom: atom.Main, Data: "main"}
	for _, page := range d.Pages {
		tree, err := extract.Tree([]byte(page))
		if err != nil {
			return nil, err
		}
		body := find(tree, atom.Body)
		section := &html.Node{Type: html.ElementNode, DataAtom: atom.Section, Data: "section"}
		for c := body.FirstChild; c != nil; c = body.FirstChild {
			body.RemoveChild(c)
			section.AppendChild(c)
		}
		root.AppendChild(section)
	}
	a, err := article.Whole(root, address)
	if err != nil {
		return nil, err
	}
	a.Title, a.Byline, a.Modified, a.Language = d.Title, d.Author, d.Modified, d.Language
	return a, nil
}

// find returns the first element of a kind in a tree; the whole tree if there is none.
func find(tree *html.Node, a atom.Atom) *html.Node {
	for n := range tree.Descendants() {
		if n.DataAtom == a {
			return n
		}
	}
	return tree
}

// Articles reads the texts of documents for an export: see text.Options.
type Articles struct {
	Reader Reader // for example, an Isolated
}

// Reads reports whether documents of a media type can be read.
func (Articles) Reads(mediaType string) bool { return Reads(mediaType) }

// Article returns the text of a document; address is its URL.
func (a Articles) Article(ctx context.Context, body []byte, mediaType, address string) (*article.Article, error) {
	d, err := a.Reader.Read(ctx, body, mediaType)
	if err != nil {
		return nil, err
	}
	return d.Article(address)
}

// Links finds the links of documents for a crawl: see crawler.Config.Documents.
type Links struct {
	Reader Reader // for example, an Isolated
}

// Reads reports whether documents of a media type can be read.
func (Links) Reads(mediaType string) bool { return Reads(mediaType) }

// Extract returns the title and the links of a document. It returns neither if the document cannot be read, or was not received completely.
func (l Links) Extract(p *fetcher.Page) (*extract.Document, error) {
	if p.Truncated != "" {
		return nil, nil
	}
	d, err := l.Reader.Read(context.Background(), p.Body, p.ContentType)
	if err != nil {
		return nil, nil //nolint:nilerr // the page was fetched all the same
	}
	doc := &extract.Document{Title: d.Title, Lang: d.Language}
	for _, ref := range d.Links {
		doc.Links = append(doc.Links, extract.Link{Ref: ref, Kind: extract.Anchor})
	}
	return doc, nil
}
