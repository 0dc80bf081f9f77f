package text

import (
	"context"
	"runtime"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Reader returns a reader for [job.Config.TextReader]: text.jsonl gets a line for each page that [Text] would have a row of, with both
// forms of the text. What only the whole crawl shows is missing: nothing that a site repeats is removed, and there is no duplicate_of.
// In a job without an archive, warc is "" and offset 0. documents may be nil: documents that are no web pages have no lines then.
//
// As many pages are parsed at a time as there are processors, so that memory depends on their size and not on the number of requests.
func Reader(documents Documents) job.TextReader {
	o, places := Options{Documents: documents}, make(chan struct{}, runtime.GOMAXPROCS(0))
	return func(ctx context.Context, v *crawler.Visit) (func(*sink.Record) ([]byte, error), error) {
		p := v.Page
		if v.Status() != 200 || v.Outcome == crawler.Refused || v.Outcome == crawler.OutOfScope || !p.IsHTML() && !o.isDocument(p.ContentType) {
			return nil, nil
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		a, err := o.read(ctx, p, v.URL.String(), new(skipped))
		if err != nil || a == nil {
			return nil, err
		}
		row := &Row{URL: v.URL.String()}
		row.fill(a, true)
		return row.visited, nil
	}
}

// visited returns the line of a row that was made while its page was crawled, completed from the record of the visit.
func (r *Row) visited(v *sink.Record) ([]byte, error) {
	if v.WARC != nil {
		r.WARC, r.Offset = v.WARC.File, v.WARC.Offset
	}
	r.SHA256, r.Consent, r.Terms = v.SHA256, append([]sink.Usage{}, v.Usage...), v.Terms
	return line(struct {
		*Row
		DuplicateOf *string `json:"duplicate_of,omitempty"` // is not known yet
	}{Row: r})
}
