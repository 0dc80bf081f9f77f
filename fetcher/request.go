package fetcher

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/amble-crawler/amble/politeness"
)

// acceptEncoding lists the codings that servers may use. decode.go also decodes deflate, which is not listed, because servers disagree on
// its meaning (RFC 9110 section 8.4.1.2). By section 12.5.3 the order has no meaning, but some servers use the first coding that they
// support. The codings are in the order of the CPU time for decoding: see BenchmarkDecode.
const acceptEncoding = "zstd, gzip, br"

// request makes the request of an exchange.
func (x *exchange) request(ctx context.Context) (*http.Request, *Error) {
	target, err := requestTarget(x.url.Scheme(), x.url.Authority(), x.url.PathQuery())
	if err != nil {
		return nil, &Error{Phase: PhaseRequest, Reason: reasonURL, Err: err}
	}
	h, err := x.header(ctx)
	if err != nil {
		return nil, &Error{Phase: PhaseRequest, Reason: ReasonHeader, Err: err}
	}
	method := http.MethodGet
	if x.form != nil {
		method = http.MethodPost
	}
	return &http.Request{
		Method: method, URL: target, Host: x.url.Authority(), Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// constantHeader returns the fields that all requests of a Fetcher have. Its slices are shared and never changed.
func constantHeader(c *Config) http.Header {
	h := http.Header{"Accept": {c.Accept}, "Accept-Encoding": {acceptEncoding}}
	for name, values := range c.Header {
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name][:0:0], values...)
	}
	optional(h, "Accept-Language", c.AcceptLanguage)
	return h
}

func (x *exchange) header(ctx context.Context) (http.Header, error) {
	h := make(http.Header, len(x.f.header)+5)
	maps.Copy(h, x.f.header)
	h["User-Agent"] = []string{x.grant.UserAgent()}
	if x.purpose == politeness.Resource { // a resource need not be a document
		h["Accept"] = []string{"*/*"}
	}
	optional(h, "If-None-Match", x.validators.ETag)
	optional(h, "If-Modified-Since", x.validators.LastModified)
	if err := x.addFields(ctx, h); err != nil {
		return nil, err
	}
	if x.f.jar != nil {
		optional(h, "Cookie", x.f.jar.header(x.url.Origin(), x.url.Path(), time.Now()))
	}
	if x.form != nil {
		h["Content-Type"] = []string{"application/x-www-form-urlencoded"}
		return h, nil // without a signature: a Signer signs only GET requests
	}
	if x.f.cfg.Signer != nil { // last, because a Signer may sign all other fields
		x.keyID, x.answered = x.f.cfg.Signer.Sign(x.url, h)
		x.grant.Sign(x.keyID)
	}
	return h, nil
}

// optional sets a field if it has a value. A server may have sent the value, so it may contain anything.
func optional(h http.Header, name, value string) {
	if value != "" && httpguts.ValidHeaderFieldValue(value) {
		h[name] = []string{value}
	}
}

// requestTarget returns a URL that net/http writes as exactly pathQuery, in origin form (RFC 9112 section 3.2.1). net/http does not
// rewrite Opaque, but reads a leading "//" in it as an authority; such a path is put into RawPath, which net/http keeps if it
// agrees with Path.
func requestTarget(scheme, authority, pathQuery string) (*url.URL, error) {
	if !strings.HasPrefix(pathQuery, "/") {
		pathQuery = "/" + pathQuery
	}
	if !strings.HasPrefix(pathQuery, "//") {
		return &url.URL{Scheme: scheme, Host: authority, Opaque: pathQuery}, nil
	}
	raw, query, ask := strings.Cut(pathQuery, "?")
	path, err := url.PathUnescape(raw)
	if err != nil {
		return nil, err
	}
	u := &url.URL{Scheme: scheme, Host: authority, Path: path, RawPath: raw, RawQuery: query, ForceQuery: ask}
	if u.RequestURI() != pathQuery {
		return nil, errors.New("a path that begins with // and holds characters that must be escaped")
	}
	return u, nil
}
