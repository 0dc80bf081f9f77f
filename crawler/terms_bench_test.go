package crawler

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// BenchmarkTermsOfSilentSites measures the check for documents about usage on a page of a site without such documents, relative to
// reading the links of a page of 20 KB. The metric is the ratio of both in one run.
func BenchmarkTermsOfSilentSites(b *testing.B) {
	var body bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&body, `<p>Some text of a page, <a href="/page/%d?x=%d">with a link</a> and more text.</p>`, i, i)
	}
	u, err := weburl.Parse("https://a.example/page/1")
	if err != nil {
		b.Fatal(err)
	}
	group := robots.Parse([]byte("User-agent: *\nDisallow: /private/\nCrawl-delay: 1\n")).For("amble")
	t := newTerms(&Config{Agent: "amble/1", Politeness: politeness.Config{Purposes: []consent.Purpose{consent.TrainAI}}})
	names := t.named(u, group, nil)
	for _, name := range names {
		t.files[name] = &document{TermsFile: sink.TermsFile{URL: name, Status: http.StatusNotFound}, known: true, Expires: time.Now().Add(24 * time.Hour)}
	}
	var terms, page time.Duration
	for b.Loop() {
		begin := time.Now()
		for range 10 {
			for range 2 { // before the request, and after the answer
				names := t.named(u, group, nil)
				if d, busy := t.missing(b.Context(), u, names); d != nil || busy {
					b.Fatal("a document is missing")
				}
				if said := t.judge(b.Context(), consent.Page{URL: u, Robots: group}, robots.Source{}, names); said != nil {
					b.Fatal("the site says something")
				}
			}
		}
		middle := time.Now()
		for range 10 {
			if doc := extract.HTML(body.Bytes(), extract.Options{}); len(doc.Links) != 200 {
				b.Fatal(len(doc.Links))
			}
		}
		terms, page = terms+middle.Sub(begin), page+time.Since(middle)
	}
	b.ReportMetric(100*float64(terms)/float64(page), "%/page")
}
