package document

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/amble-crawler/amble/extract"
)

// readEPUB reads an EPUB file (EPUB 3.3): its chapters, in the order of its package document.
func (d *Document) readEPUB(ctx context.Context, body []byte) error {
	a, err := openArchive(body)
	if err != nil {
		return err
	}
	container, err := a.read("META-INF/container.xml")
	if err != nil {
		return err
	}
	var root string
	xmlTokens(container, func(t xml.Token) bool {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && root == "" {
			root = attribute(e, "full-path")
		}
		return root == ""
	})
	data, err := a.read(root)
	if err != nil {
		return err
	}
	about := texts(data, "title", "creator", "language")
	d.Title, d.Author, d.Language = first(about["title"]), strings.Join(about["creator"], ", "), first(about["language"])
	known := map[string]bool{}
	for _, name := range chapters(data) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		chapter, err := a.read(path.Join(path.Dir(root), name))
		if err != nil {
			d.Cut = "chapters that the archive does not contain, or not whole"
			continue
		}
		page, err := d.chapter(chapter, known)
		if err != nil {
			d.Cut = "chapters whose tree would be too large or too deep"
			continue
		}
		if !d.add(page) {
			break
		}
	}
	switch {
	case len(d.Pages) == 0 && d.Cut != "":
		return fmt.Errorf("%w: it has only %s", ErrNotRead, d.Cut)
	case len(d.Pages) == 0:
		return fmt.Errorf("%w: it has no chapters", ErrNotRead)
	}
	return nil
}

// chapters returns the names of the text files in a package document, in reading order.
func chapters(data []byte) (names []string) {
	files := map[string]string{} // names of files by ID
	xmlTokens(data, func(t xml.Token) bool {
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "item":
			if kind := attribute(e, "media-type"); kind == "application/xhtml+xml" || kind == "text/html" {
				files[attribute(e, "id")] = attribute(e, "href")
			}
		case e.Name.Local == "itemref":
			href, _, _ := strings.Cut(files[attribute(e, "idref")], "#")
			if name, err := url.PathUnescape(href); err == nil && name != "" && !slices.Contains(names, name) && len(names) <= maxPages {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// closed matches XML elements that are closed in their start tag, which HTML does not support.
var closed = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9:]*)((?:\s[^<>]*?)?)/>`)

// chapter returns a chapter as HTML without scripts, and records its links that lead out of the book.
func (d *Document) chapter(chapter []byte, known map[string]bool) (string, error) {
	tree, err := extract.Tree(bytes.ToValidUTF8(closed.ReplaceAll(chapter, []byte("<$1$2></$1>")), []byte("\uFFFD")))
	if err != nil {
		return "", err
	}
	body := find(tree, atom.Body)
	var drop []*html.Node
	for n := range body.Descendants() {
		if n.DataAtom == atom.Script || n.DataAtom == atom.Style || n.Type == html.CommentNode {
			drop = append(drop, n)
		}
		kept := n.Attr[:0]
		for _, a := range n.Attr {
			switch {
			case a.Key == "href" && n.DataAtom == atom.A && d.link(a.Val, known):
				kept = append(kept, a)
			case a.Key == "alt" || a.Key == "colspan" || a.Key == "rowspan" || a.Key == "start":
				kept = append(kept, a)
			}
		}
		n.Attr = kept
	}
	for _, n := range drop {
		n.Parent.RemoveChild(n)
	}
	var out bytes.Buffer
	for c := body.FirstChild; c != nil; c = c.NextSibling {
		if err := html.Render(&out, c); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}
