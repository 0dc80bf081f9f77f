package crawler_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
)

// addressLists reads documents of a type that have one URL per line.
type addressLists struct{}

func (addressLists) Reads(mediaType string) bool { return mediaType == "application/lines" }

func (addressLists) Extract(p *fetcher.Page) (*extract.Document, error) {
	doc := &extract.Document{}
	for ref := range bytes.FieldsSeq(p.Body) {
		doc.Links = append(doc.Links, extract.Link{Ref: string(ref)})
	}
	return doc, nil
}

func TestLinksInDocumentsAreFollowed(t *testing.T) {
	for name, follow := range map[string]bool{"with documents": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", links("/list"))
				s.Page("/list", "http://a.example/1\nhttp://b.example/\n/2\n/3\n/4").Type("application/lines")
				s.Page("/1", "")
				s.Page("/2", "").Type("application/other")
				c := crawler.Config{Follow: crawler.Follow{Documents: follow}, Documents: addressLists{}, Limits: crawler.Limits{LinksPerPage: 3}}
				_, v := crawl(t, w, c, s.URL("/"))
				want := map[string]string{s.URL("/"): "fetched 200", s.URL("/list"): "fetched 200"}
				if follow {
					want[s.URL("/1")], want[s.URL("/2")] = "fetched 200", "fetched 200"
					if d := v.by[s.URL("/list")].Doc; len(d.Links) != 3 || d.Dropped != 2 {
						t.Errorf("%d links, %d dropped", len(d.Links), d.Dropped)
					}
				}
				v.expect(t, want)
			})
		})
	}
}

func TestDocumentsNeedAReader(t *testing.T) {
	_, err := crawler.New(crawler.Config{Contact: "me@university.edu", Follow: crawler.Follow{Documents: true}})
	if err == nil || !strings.Contains(err.Error(), "Follow.Documents is set without Documents") {
		t.Errorf("error %v", err)
	}
}
