package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Values of [Page].Note. The comment of Page explains them.
const (
	noteMislabelled = "encoding_mislabelled"
	noteUnknown     = "encoding_unknown"
	noteUnlabelled  = "encoding_unlabelled"
	noteTrailing    = "encoding_trailing"
)

// minWindow is the smallest zstd window (RFC 8878 section 3.1.1.1.2).
const minWindow = 1 << 10

// kind is a content coding.
type kind int

const (
	kindGzip    kind = iota // RFC 1952
	kindZlib                // RFC 1950, the meaning of "deflate" in RFC 9110 section 8.4.1.2
	kindDeflate             // RFC 1951, which some servers send as "deflate"
	kindBrotli              // RFC 7932
	kindZstd                // RFC 8878
	kinds
)

var (
	errTooDeep     = errors.New("too many layers of Content-Encoding")
	errUnsupported = errors.New("unsupported Content-Encoding")
	errTrailing    = errors.New("bytes after the end of the stream")
)

// decoder decodes one content coding. It can be used again.
type decoder interface {
	io.Reader
	Reset(io.Reader) error
}

// layerBuffer is the size of the read-ahead of an encoded body, in bytes. Most gzip-encoded pages are shorter, and decoding a page in one
// piece takes less time.
const layerBuffer = 32 << 10

// codecs keeps decoders and their readers for use with later bodies. window must be set.
type codecs struct {
	window  uint64
	idle    [kinds]sync.Pool // pools of decoders
	readers sync.Pool        // pool of *bufio.Reader
}

func (c *codecs) decoder(k kind) (decoder, error) {
	if d, ok := c.idle[k].Get().(decoder); ok {
		return d, nil
	}
	switch k {
	case kindGzip:
		return &gzipMembers{}, nil
	case kindZlib:
		return &resettable{make: zlib.NewReader}, nil
	case kindDeflate:
		return &resettable{make: func(r io.Reader) (io.ReadCloser, error) { return flate.NewReader(r), nil }}, nil
	case kindBrotli:
		return &brotliStream{}, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(c.window))
	if err != nil {
		return nil, err
	}
	return &zstdFrames{Decoder: d}, nil
}

func (c *codecs) reader(r io.Reader) *bufio.Reader {
	if br, ok := c.readers.Get().(*bufio.Reader); ok {
		br.Reset(r)
		return br
	}
	return bufio.NewReaderSize(r, layerBuffer)
}

// layer is one coding that is being decoded.
type layer struct {
	kind kind
	dec  decoder
	in   *bufio.Reader // the stream that the layer reads
}

// decoding reads a body and decodes its codings. It must be closed.
type decoding struct {
	codecs  *codecs
	layers  []layer // the layer that reads from the wire first
	in      *bufio.Reader
	top     io.Reader
	decoded string // names of the decoded layers, as in the header
	note    string
}

// hints holds values, besides the header, that open considers.
type hints struct {
	max     int  // maximum number of layers
	sitemap bool // decompress a gzip stream even if the header does not declare it
}

// open puts a decoder over r for each coding, the last one first (RFC 9110 section 8.4). No layer may pass more than limit bytes to the
// next. open returns an error of the network or of this package. The decoding is never nil.
func (c *codecs) open(r io.Reader, codings []string, limit int, h hints) (*decoding, error) {
	d := &decoding{codecs: c, top: r}
	if len(codings) > h.max {
		return d, errTooDeep
	}
	for _, coding := range slices.Backward(codings) {
		if err := d.undo(coding, limit); err != nil {
			return d, err
		}
	}
	if h.sitemap && len(d.layers) < h.max {
		return d, d.undoUnlabelled(limit)
	}
	return d, nil
}

// peekable returns the output of the last layer as a stream that can be peeked into.
func (d *decoding) peekable(limit int) *bufio.Reader {
	if d.in == nil {
		top := d.top
		if len(d.layers) > 0 {
			top = &bounded{r: top, left: limit}
		}
		d.in = d.codecs.reader(top)
		d.top = d.in
	}
	return d.in
}

func (d *decoding) undo(coding string, limit int) error {
	k, known := kindOf(coding)
	if !known {
		d.note = noteUnknown
		return nil
	}
	if k < 0 {
		return errUnsupported
	}
	in := d.peekable(limit)
	k, ok := d.codecs.recognise(k, in)
	if !ok {
		if in.Buffered() > 0 {
			d.note = noteMislabelled
		}
		return nil
	}
	if d.decoded != "" {
		coding += ", " + d.decoded
	}
	d.decoded = coding
	return d.push(k, in)
}

// undoUnlabelled decompresses a body whose first bytes are those of a gzip file (RFC 1952 section 2.3.1), although no coding was
// declared.
func (d *decoding) undoUnlabelled(limit int) error {
	in := d.peekable(limit)
	if head, _ := in.Peek(3); !bytes.Equal(head, []byte{0x1f, 0x8b, 8}) {
		return nil
	}
	d.note = noteUnlabelled
	return d.push(kindGzip, in)
}

func (d *decoding) push(k kind, in *bufio.Reader) error {
	dec, err := d.codecs.decoder(k)
	if err != nil {
		return err
	}
	d.layers = append(d.layers, layer{k, dec, in})
	d.top, d.in = dec, nil
	return dec.Reset(in)
}

// Read implements io.Reader.
func (d *decoding) Read(p []byte) (int, error) {
	n, err := d.top.Read(p)
	if errors.Is(err, errTrailing) {
		d.note, err = noteTrailing, io.EOF
	}
	return n, err
}

// unread returns the number of bytes of the body that were received and not decoded.
func (d *decoding) unread() int {
	if len(d.layers) == 0 {
		return 0
	}
	if g, ok := d.layers[0].dec.(*gzipMembers); ok {
		return g.unread()
	}
	return d.layers[0].in.Buffered()
}

// drain reads the body to its end, so that the connection can be used again, and reports whether it reached the end.
func (d *decoding) drain(src *source) bool {
	if len(d.layers) == 0 {
		return errors.Is(src.err, io.EOF)
	}
	n, err := d.layers[0].in.Discard(drainLimit)
	if n > 0 {
		d.note = noteTrailing
	}
	return errors.Is(err, io.EOF)
}

// close puts decoders and buffers back for later use.
func (d *decoding) close() {
	for _, l := range d.layers {
		_ = l.dec.Reset(noBytes{})
		d.codecs.idle[l.kind].Put(l.dec)
		d.codecs.release(l.in)
	}
	if d.in != nil {
		d.codecs.release(d.in)
	}
	d.layers, d.in, d.top = nil, nil, noBytes{}
}

func (c *codecs) release(br *bufio.Reader) {
	br.Reset(noBytes{})
	c.readers.Put(br)
}

// noBytes is an empty stream. Idle decoders hold it in place of the stream they read last.
type noBytes struct{}

func (noBytes) Read([]byte) (int, error) { return 0, io.EOF }
func (noBytes) ReadByte() (byte, error)  { return 0, io.EOF }

// bounded limits the bytes that a layer passes to the next one. A limit of the final output does not suffice, because the last layer may
// produce no output.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &limitError{reasonLength}
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	if errors.Is(err, errTrailing) {
		err = io.EOF
	}
	return n, err
}

// codingsOf returns the codings of the header's Content-Encoding fields, in the order in which they were applied.
func codingsOf(h http.Header) []string {
	var out []string
	for _, v := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(v, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			if name != "" && name != "identity" {
				out = append(out, name)
			}
		}
	}
	return out
}

// kindOf finds a coding by its name in the IANA registry. known is false for an unregistered name; servers send such names with
// uncompressed bodies. The kind is negative if the coding is registered but not supported.
func kindOf(coding string) (k kind, known bool) {
	switch coding {
	case "gzip", "x-gzip":
		return kindGzip, true
	case "deflate":
		return kindZlib, true
	case "br":
		return kindBrotli, true
	case "zstd":
		return kindZstd, true
	case "compress", "x-compress", "aes128gcm", "dcb", "dcz", "exi", "pack200-gzip":
		return -1, true
	}
	return 0, false
}

// recognise reports whether the stream can be in the declared coding, and which kind of deflate it is.
func (c *codecs) recognise(k kind, in *bufio.Reader) (kind, bool) {
	head, _ := in.Peek(64)
	switch k {
	case kindGzip:
		return k, len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b
	case kindZstd:
		return k, isZstd(head)
	case kindZlib:
		if len(head) >= 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 { // RFC 1950 section 2.2
			return k, true
		}
		k = kindDeflate
	}
	if len(head) == 0 {
		return k, false
	}
	if !printable(head) {
		return k, true
	}
	head, _ = in.Peek(in.Buffered())
	return k, c.decodes(k, head)
}

// isZstd recognises frames and skippable frames by their magic numbers (RFC 8878 section 3.1).
func isZstd(b []byte) bool {
	return len(b) >= 4 && (bytes.Equal(b[:4], []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		b[0]&0xf0 == 0x50 && bytes.Equal(b[1:4], []byte{0x2a, 0x4d, 0x18}))
}

// printable reports whether b looks like text, as compressed data hardly ever does.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// decodes reports whether the beginning of a stream can be decoded. It is for codings without a magic number.
func (c *codecs) decodes(k kind, head []byte) bool {
	dec, err := c.decoder(k)
	if err != nil {
		return false
	}
	defer c.idle[k].Put(dec)
	defer func() { _ = dec.Reset(noBytes{}) }()
	if err := dec.Reset(bytes.NewReader(head)); err != nil {
		return false
	}
	var out [4 << 10]byte
	_, err = io.ReadFull(dec, out[:])
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errTrailing)
}
