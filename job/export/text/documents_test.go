package text_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job/export/text"
)

// notes represents a reader for documents of a plain-text media type.
type notes struct{}

func (notes) Reads(mediaType string) bool { return mediaType == "application/notes" }

func (notes) Article(_ context.Context, body []byte, _, address string) (*article.Article, error) {
	if string(body) == "broken" {
		return nil, errors.New("broken")
	}
	return article.Whole(&html.Node{Type: html.TextNode, Data: string(body)}, address)
}

func TestRowsOfDocuments(t *testing.T) {
	dir := crawled(t, func(s *crawltest.Site) {
		s.Page("/", `<p>A heron stands at the lake, and waits until a fish is near enough.<p><a href=/a>a</a> <a href=/b>b</a>`)
		s.Page("/a", "Three pairs were seen at the lake.").Type("application/notes")
		s.Page("/b", "broken").Type("application/notes")
	})
	raw, said := exported(t, text.Text(text.Options{Documents: notes{}}), dir)
	rows := rowsOf(t, raw)
	if len(rows) != 2 || rows[1].Text != "Three pairs were seen at the lake." || len(said) != 1 || !strings.HasPrefix(said[0], "1 document left out: broken") {
		t.Errorf("%s\n%q", raw, said)
	}
	if raw, said := exported(t, text.Text(text.Options{}), dir); len(rowsOf(t, raw)) != 1 || len(said) > 0 {
		t.Errorf("%s\n%q", raw, said)
	}
}
