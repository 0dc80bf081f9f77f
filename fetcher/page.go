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
// A body is incomplete (Truncated) by one of these reasons:
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
	Body        []byte // decoded, at most the limit
	ContentType string // media type without parameters, lower case; sniffed if missing or impossible
	Sniffed     bool   // ContentType was found from the body
	Truncated   string // code of the reason why Body is incomplete, see Page; "" if it is complete
	WireBytes   int64  // body bytes received, before decoding
	Permit      politeness.Permit

	Charset        string // charset of Body: the Encoding Standard's name in lower case; "" if it is not text
	CharsetFrom    string // source of Charset, see Page
	CharsetCertain bool   // Charset was declared where declarations are binding: by BOM or in the header

	KeyID string // key that signed the request; "" if it was not signed
	// Challenged is set if the response requests a signature that Config.Signer can make: the URL must be requested again, with
	// another Permit. The response does not count as the site's response for the URL.
	Challenged bool
	// Wall names the bot wall whose challenge the response is; "" for any other response. A [Client] sets it for each Page of any
	// Fetcher. A challenge does not count as the site's response for the URL.
	Wall string

	Cached bool // the response is from a cache: nothing was requested, and the Permit was not redeemed

	Reused bool // the connection was used by an earlier request

	Encoding string // the Content-Encoding layers undone, outermost last, as in the header: "gzip", "br, gzip"
	Note     string // anomaly of the encoding, see Page; "" if there was none
	Insecure bool   // the host is one of Config.InsecureHosts: its certificate was not verified
	Raw      *Raw   // with Config.Record

	Started   time.Time // the time at which the Permit was redeemed
	Written   time.Time // the time of the request's first byte
	FirstByte time.Time // the time of the response's first byte
	Ended     time.Time // the time at which the body was read or given up

	text    []byte // the result of Text
	buffer  []byte // memory of Body, returned to buffers
	buffers *buffers
}

// Raw is an exchange as sent and received, for archives. Its slices belong to the Page's owner and stay valid after Release.
type Raw struct {
	// Request holds the bytes that were written. The values of Authorization and Cookie fields, and those of Config.Headers and
	// Config.Request, are overwritten with "*", because archives are given to others. A submitted form is left out.
	Request []byte
	// Head is the status line and header section of the final response, with the empty line after it. With Config.Cookies, the
	// values of cookies in it are overwritten with "*".
	Head []byte
	// Body holds the bytes after the head, as received, before transfer coding and content coding were undone.
	Body []byte
	// Cut is set if Body is incomplete; Page.Truncated has the reason.
	Cut bool
}

// Reply returns the response in the form that Gate.Report takes.
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

// Clone returns a copy of p that has its own Body, which stays valid after p's Release. Everything else is shared with p.
func (p *Page) Clone() *Page {
	c := *p
	c.Body = bytes.Clone(p.Body)
	c.text, c.buffer, c.buffers = nil, nil, nil
	return &c
}

// Release returns Body's memory for use by other pages. Body and the result of Text must not be used afterwards. Release is
// optional: do not call it for a page that you keep.
func (p *Page) Release() {
	if p.buffers != nil && p.buffer != nil {
		p.buffers.put(p.buffer)
	}
	p.Body, p.text, p.buffer = nil, nil, nil
}
