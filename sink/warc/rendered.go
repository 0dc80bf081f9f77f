package warc

import "github.com/amble-crawler/amble/sink"

const (
	typeDOM        = "text/html;charset=utf-8"
	typeScreenshot = "image/png"

	// viewOf begins the URI of a picture of a page. It is another one than the page's, so that readers do not replay the
	// picture in the page's place; other archivers of rendered pages use the same.
	viewOf = "urn:view:"

	cutDOM = "render_dom" // render.CutDOM
)

// putRendered stores the page as it was rendered: the document as a conversion of the answer (ISO 28500 section 6.8), and the
// picture as a resource (section 6.4), which may refer to nothing but what it is concurrent to. It returns the place of the
// document, or the zero span if there is none.
func (w *Writer) putRendered(c *capture) (document span) {
	if c.answer == "" || c.r == nil || c.r.Rendered == nil {
		return span{}
	}
	r := c.r.Rendered
	r.WARC = nil
	if r.DOM != nil {
		document = w.putDOM(c, r)
	}
	if r.Screenshot != nil {
		h := newHeader("resource", newID(), c.date)
		h.add("WARC-Target-URI", viewOf+c.uri)
		h.add("WARC-Warcinfo-ID", w.cur.info)
		h.add("WARC-Concurrent-To", c.answer)
		h.add("Content-Type", typeScreenshot)
		w.put(h, r.Screenshot)
	}
	return document
}

func (w *Writer) putDOM(c *capture, r *sink.Rendered) span {
	h := newHeader("conversion", newID(), c.date)
	h.add("WARC-Target-URI", c.uri)
	h.add("WARC-Warcinfo-ID", w.cur.info)
	h.add("WARC-Refers-To", c.answer)
	if r.Cut == cutDOM {
		h.add("WARC-Truncated", "length")
	}
	h.add("Content-Type", typeDOM)
	return w.put(h, r.DOM)
}
