package warc

import (
	"strconv"
	"time"
)

// conformsTo is the standard named in every warcinfo record, as in annex B.1 of ISO 28500.
const conformsTo = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

// warcinfo adds the first record of a file, which describes the crawl (ISO 28500 section 6.2).
func (w *Writer) warcinfo(now time.Time) {
	w.cur.info = newID()
	h := newHeader("warcinfo", w.cur.info, formatDate(now))
	h.add("WARC-Filename", w.cur.name)
	h.add("Content-Type", typeFields)
	var b header
	in := &w.opts.Info
	b.opt("software", in.Software)
	b.add("format", "WARC File Format 1.1")
	b.add("conformsTo", conformsTo)
	b.opt("operator", in.Operator)
	b.opt("description", in.Description)
	b.opt("isPartOf", in.IsPartOf)
	b.opt("robots", in.Robots)
	b.opt("hostname", in.Hostname)
	b.opt("http-header-user-agent", in.UserAgent)
	w.put(h, b.b)
}

// putMetadata adds a record with more information about the capture (ISO 28500 section 6.6), if there is any.
func (w *Writer) putMetadata(c *capture) {
	block := c.metadata()
	if len(block) == 0 {
		return
	}
	main := c.answer
	if main == "" {
		main = c.request
	}
	h := w.header(c, "metadata", newID())
	h.add("WARC-Concurrent-To", main)
	h.add("WARC-Refers-To", main)
	h.add("Content-Type", typeFields)
	w.put(h, block)
}

func (c *capture) metadata() []byte {
	var b header
	x := c.x
	if c.r != nil {
		b.opt("via", uri(c.r.Via))
	}
	if !x.Started.IsZero() && !x.Ended.Before(x.Started) {
		b.add("fetchTimeMs", strconv.FormatInt(x.Ended.Sub(x.Started).Milliseconds(), 10))
	}
	b.opt("purpose", x.Purpose)
	if r := c.r; r != nil {
		b.add("depth", strconv.Itoa(r.Depth))
		for _, hop := range r.Hops {
			b.add("redirectedFrom", uri(hop))
		}
		b.opt("outcome", r.Outcome)
		b.opt("reason", r.Reason)
		if r.Attempt > 0 {
			b.add("attempt", strconv.Itoa(r.Attempt))
		}
		b.opt("sha256", r.SHA256)
	}
	b.opt("truncated", x.Truncated)
	return b.b
}
