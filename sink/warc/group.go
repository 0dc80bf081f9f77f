package warc

import (
	"bytes"
	"strconv"
)

// keepGroup is the maximum size of a group's buffer that is reused.
const keepGroup = 4 << 20

// group collects the compressed records of one capture, so that they are written to the file together.
type group struct {
	buf bytes.Buffer
	err error
}

func (g *group) reset() {
	if g.buf.Cap() > keepGroup {
		g.buf = bytes.Buffer{}
	}
	g.buf.Reset()
	g.err = nil
}

func (g *group) data() []byte { return g.buf.Bytes() }

// span is the place of a record in a group.
type span struct{ start, end int64 }

// put adds a record (ISO 28500 section 4) and returns its place.
func (w *Writer) put(h *header, block ...[]byte) span {
	g, size := &w.group, 0
	for _, b := range block {
		size += len(b)
	}
	h.add("WARC-Block-Digest", w.opts.Digest.of(block...))
	h.add("Content-Length", strconv.Itoa(size))
	head := h.end()
	s := span{start: int64(g.buf.Len())}
	w.members.begin(&g.buf, int64(len(head)+size+len(recordEnd)))
	w.squeeze(head)
	for _, b := range block {
		w.squeeze(b)
	}
	w.squeeze([]byte(recordEnd))
	if err := w.members.Close(); err != nil && g.err == nil {
		g.err = err
	}
	s.end = int64(g.buf.Len())
	return s
}

func (w *Writer) squeeze(p []byte) {
	if _, err := w.members.Write(p); err != nil && w.group.err == nil {
		w.group.err = err
	}
}
