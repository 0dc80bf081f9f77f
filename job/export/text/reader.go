package text

import (
	"context"
	"runtime"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Reader returns a reader for [job.Config.TextReader]: text.jsonl gets a line, with both forms of the text, for each page of which [Text]
// would have a row. Features that need the whole crawl are missing: text that a site repeats is not removed, and there is no duplicate_of.
// In a job without an archive, warc is "" and offset is 0. If documents is nil, documents other than web pages have no lines.
//
// As many pages are parsed at a time as there are processors, so memory depends on their size and not on the number of requests.
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

// visited returns the line for a row that was made during the crawl, completed from the record of the visit.
func (r *Row) visited(v *sink.Record) ([]byte, error) {
	if v.WARC != nil {
		r.WARC, r.Offset = v.WARC.File, v.WARC.Offset
	}
	r.SHA256, r.Consent, r.Terms = v.SHA256, append([]sink.Usage{}, v.Usage...), v.Terms
	return line(struct {
		*Row
		DuplicateOf *string `json:"duplicate_of,omitempty"` // shadows the field of Row: duplicates are unknown during a crawl
	}{Row: r})
}
