package fetcher

import (
	"bytes"
	"net/http"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Page is the answer to one request, whole or cut. It is not safe for concurrent use while Text or
// Release is called.
type Page struct {
	URL         weburl.URL
	Addr        netip.Addr
	Status      int
	Proto       string // "HTTP/1.1", "HTTP/2.0"
	Header      http.Header
	Body        []byte // decoded, at most the limit
	ContentType string // media type without parameters, lower case, sniffed where missing or impossible
	Sniffed     bool   // ContentType came from the body
	Truncated   string // why Body is not whole: a reason code, "" when it is
	WireBytes   int64  // body bytes received, before decoding
	Permit      politeness.Permit

	Charset        string // of Body, the Encoding Standard's name in lower case; "" when not text
	CharsetFrom    string // one of the From constants: where Charset is known from
	CharsetCertain bool   // Charset was declared where declarations bind: by BOM or in the header

	KeyID string // of the key that signed the request; "" if it was not signed
	// Challenged is set if the answer requests a signature that Config.Signer can make: the URL is to be requested once
	// more, by a Permit of its own. The answer is not the site's word on the URL.
	Challenged bool

	Reused bool // the connection had served another request before; else it was opened for this one

	Encoding string // the Content-Encoding layers undone, outermost last, as in the header: "gzip", "br, gzip"
	Note     string // what was odd about the encoding: one of the Note constants, "" when nothing was
	Insecure bool   // the host is one of Config.InsecureHosts: its certificate was not verified
	Raw      *Raw   // with Config.Record

	Started   time.Time // the Permit was redeemed
	Written   time.Time // the request's first byte
	FirstByte time.Time // the answer's first byte
	Ended     time.Time // body read or given up

	text    []byte // what Text returned
	buffer  []byte // of Body, goes back to buffers
	buffers *buffers
}

// Raw is an exchange as it was on the wire, for archives. Its slices belong to the Page's owner and
// stay valid after Release.
type Raw struct {
	// Request is what was written. The value of Authorization and Cookie fields is blanked with "*":
	// archives are passed on.
	Request []byte
	// Head is the status line and header section of the final answer, with the empty line after it.
	Head []byte
	// Body is what followed, as received: transfer coding and content coding still on it.
	Body []byte
	// Cut is set when Body is not all of it: Page.Truncated says why.
	Cut bool
}

// Reply is the answer as Gate.Report takes it.
func (p *Page) Reply() politeness.Reply {
	return politeness.Reply{
		Status: p.Status, Header: p.Header, Body: p.Body,
		Truncated: p.Truncated, Challenged: p.Challenged, Written: p.Written, FirstByte: p.FirstByte, Ended: p.Ended, WireBytes: p.WireBytes,
	}
}

// Validators are what the answer gives to make a later request for the same URL conditional.
func (p *Page) Validators() Validators {
	return Validators{ETag: p.Header.Get("ETag"), LastModified: p.Header.Get("Last-Modified")}
}

// Clone is a copy of p whose Body is its own: it stays valid after p's Release. What else p refers to is shared.
func (p *Page) Clone() *Page {
	c := *p
	c.Body = bytes.Clone(p.Body)
	c.text, c.buffer, c.buffers = nil, nil, nil
	return &c
}

// Release gives Body's memory back for other pages. Body and what Text returned must not be used
// afterwards. Calling it is never necessary; a page that is kept is simply not released.
func (p *Page) Release() {
	if p.buffers != nil && p.buffer != nil {
		p.buffers.put(p.buffer)
	}
	p.Body, p.text, p.buffer = nil, nil, nil
}
