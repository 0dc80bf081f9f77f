package fetcher

import (
	"bytes"
	"net/http"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Page is the response to one request, complete or truncated. It is not safe for concurrent use while Text or Release is called.
//
// A body is incomplete for one of these reasons (Truncated):
//
//	length         longer than the limit
//	unwanted       Config.Wanted refuses the type
//	encoding       the Content-Encoding is broken, unsupported or too deep
//	ratio          MaxRatio
//	slow           MinRate
//	idle_timeout   no byte within IdleTimeout
//	fetch_timeout  the whole fetch took FetchTimeout
//	cut_short      the connection ended before the message did
//
// CharsetFrom is the source of the character encoding, most reliable first:
//
//	bom       the byte order mark at the body's beginning
//	header    charset of Content-Type
//	meta      a META element
//	xml       the encoding of an XML declaration
//	utf8      nothing is declared, and the body is valid UTF-8
//	detector  guessed by the frequency of characters
//	default   no clue: windows-1252, as in browsers of most locales
//
// Note reports an irregularity of the content coding:
//
//	encoding_mislabelled  the body is not in the coding that its header names, and is kept as it is
//	encoding_unknown      the header names an unknown coding; the body is kept as it is
//	encoding_unlabelled   a compressed sitemap without Content-Encoding was decompressed
//	encoding_trailing     bytes after the end of the compressed stream were ignored
type Page struct {
	URL         weburl.URL
	Addr        netip.Addr
	Status      int
	Proto       string // "HTTP/1.1", "HTTP/2.0"
	Header      http.Header
	Body        []byte // decoded body, at most as long as the limit
	ContentType string // media type in lower case, without parameters; sniffed if the header's is missing or impossible
	Sniffed     bool   // ContentType was determined from the body
	Truncated   string // code of the reason why Body is incomplete, see Page; "" if it is complete
	WireBytes   int64  // body bytes received, before decoding
	Permit      politeness.Permit

	Charset        string // the Encoding Standard's name of Body's charset, in lower case; "" if Body is not text
	CharsetFrom    string // source of Charset, see Page
	CharsetCertain bool   // Charset is from a BOM or from the header, which are binding

	KeyID string // ID of the key that signed the request; "" if it was not signed
	// Challenged is set if the response requests a signature that Config.Signer can make: the URL must be requested again, with
	// another Permit. The response does not count as the site's response for the URL.
	Challenged bool
	// Wall is the name of the bot wall whose challenge the response is; "" for any other response. A [Client] sets it, whatever its
	// Fetcher is. A challenge does not count as the site's response for the URL.
	Wall string

	Cached bool // the response is from a cache: no request was made, and the Permit was not redeemed

	Reused bool // the connection was used by an earlier request

	Encoding string // content codings that were decoded, in the order of the header: "gzip", "br, gzip"
	Note     string // irregularity of the content coding, see Page; "" if there was none
	Insecure bool   // the host is one of Config.InsecureHosts: its certificate was not verified
	Raw      *Raw   // set with Config.Record

	Started   time.Time // when the Permit was redeemed
	Written   time.Time // when the first byte of the request was sent
	FirstByte time.Time // when the first byte of the response arrived
	Ended     time.Time // when the body was read or given up

	text    []byte // cached result of Text
	buffer  []byte // memory of Body, which Release returns to buffers
	buffers *buffers
}

// Raw is a request and its response as sent and received, for archives. Its slices belong to the owner of the Page and remain valid after
// Release.
type Raw struct {
	// Request holds the bytes that were written. The values of Authorization and Cookie fields, and those of Config.Headers and
	// Config.Request, are overwritten with "*", because archives may be published. A submitted form is left out.
	Request []byte
	// Head is the status line and header section of the final response, with the empty line after it. With Config.Cookies, the
	// values of cookies in it are overwritten with "*".
	Head []byte
	// Body holds the bytes after the head, as received, with their transfer coding and content coding.
	Body []byte
	// Cut is set if Body is incomplete; Page.Truncated has the reason.
	Cut bool
}

// Reply returns the response as Gate.Report takes it.
func (p *Page) Reply() politeness.Reply {
	return politeness.Reply{
		Status: p.Status, Header: p.Header, Body: p.Body,
		Unused: p.Cached, Truncated: p.Truncated, Challenged: p.Challenged, Wall: p.Wall, Written: p.Written, FirstByte: p.FirstByte, Ended: p.Ended, WireBytes: p.WireBytes,
	}
}

// Validators returns the validators of the response, which make a later request for the same URL conditional.
func (p *Page) Validators() Validators {
	return Validators{ETag: p.Header.Get("ETag"), LastModified: p.Header.Get("Last-Modified")}
}

// Clone returns a copy of p with a copy of Body, which remains valid after p.Release. Everything else is shared with p.
func (p *Page) Clone() *Page {
	c := *p
	c.Body = bytes.Clone(p.Body)
	c.text, c.buffer, c.buffers = nil, nil, nil
	return &c
}

// Release makes Body's memory available to other pages. Body and the result of Text must not be used afterwards. Release is optional: do
// not call it for a page that you keep.
func (p *Page) Release() {
	if p.buffers != nil && p.buffer != nil {
		p.buffers.put(p.buffer)
	}
	p.Body, p.text, p.buffer = nil, nil, nil
}
