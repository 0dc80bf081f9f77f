package fetcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/amble-crawler/amble/weburl"
)

// Headers maps an origin, in the form of [weburl.URL.Origin] ("https://site.to.crawl"), to header fields that are sent only to this
// origin.
type Headers map[string]http.Header

// fields returns the header fields that are only for this request: those of Config.Headers for its origin, and those of Config.Request.
func (c *Config) fields(ctx context.Context, u weburl.URL) (http.Header, error) {
	var h http.Header
	if len(c.Headers) > 0 {
		h = c.Headers[u.Origin()]
	}
	if c.Request == nil {
		return h, nil
	}
	more, err := c.Request(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case len(more) == 0:
		return h, nil
	}
	if err := c.checkFields("Request", more); err != nil {
		return nil, err
	}
	all := make(http.Header, len(h)+len(more))
	for _, from := range []http.Header{h, more} {
		for name, values := range from {
			all[textproto.CanonicalMIMEHeaderKey(name)] = values
		}
	}
	return all, nil
}

// addFields adds to h the fields that are only for this request, and records their names, because their values may be secrets.
func (x *exchange) addFields(ctx context.Context, h http.Header) error {
	fields, err := x.f.cfg.fields(ctx, x.url)
	if err != nil {
		return err
	}
	for name, values := range fields {
		name = textproto.CanonicalMIMEHeaderKey(name)
		h[name] = slices.Clone(values)
		x.secret = append(x.secret, name)
	}
	return nil
}

// CheckField returns an error if a header field must not be set for a request: the Fetcher sets it itself, it belongs to the connection
// (RFC 9110 section 7.6.1), it would hide who makes the request or from where, or it is not valid. The error contains the name of the
// field and never its value, which may be a secret.
func CheckField(name, value string) error {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%.60q is not a valid field name", name)
	case reserved(canonical):
		return fmt.Errorf("%s is reserved: %s", canonical, whyReserved(canonical))
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of %s holds control characters", canonical)
	}
	return nil
}

func reserved(canonical string) bool { return whyReserved(canonical) != "" }

// whyReserved returns the reason why a field cannot be set, or "".
func whyReserved(canonical string) string {
	switch canonical {
	case "User-Agent", "From":
		return "Agent and Contact say who makes the request"
	case "Via", "Forwarded", "X-Real-Ip":
		return "nothing may deny where a request comes from"
	case "Host", "Accept-Encoding", "Referer", "Range", "Content-Length", "Content-Type", "Expect",
		"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range":
		return "the fetcher sets it, or must not"
	case "Signature", "Signature-Input", "Signature-Agent":
		return "Signer sets it"
	case "Connection", "Upgrade", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Proxy-Authorization",
		"Proxy-Authenticate", "Proxy-Connection", "Http2-Settings":
		return "it belongs to the connection"
	}
	if strings.HasPrefix(canonical, "X-Forwarded") {
		return "nothing may deny where a request comes from"
	}
	return ""
}

// checkFields checks the header fields of a part of the Config. from is the name of the part.
func (c *Config) checkFields(from string, h http.Header) error {
	var errs []error
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if seen[canonical] {
			errs = append(errs, fmt.Errorf("fetcher: %s: %s is set twice, in different spellings", from, canonical))
		}
		seen[canonical] = true
		for _, value := range append([]string{""}, h[name]...) {
			if err := CheckField(name, value); err != nil {
				errs = append(errs, fmt.Errorf("fetcher: %s: %w", from, err))
				break
			}
		}
		if canonical == "Cookie" && (c.Cookies || c.Jar != nil) {
			errs = append(errs, fmt.Errorf("fetcher: %s: Cookie is reserved: with Cookies, the Fetcher sets it", from))
		}
	}
	return errors.Join(errs...)
}

// checkHeader checks the fields that are sent to all sites. They must not be secrets.
func (c *Config) checkHeader() error {
	errs := []error{c.checkFields("Header", c.Header)}
	for name := range c.Header {
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); canonical {
		case "Authorization", "Cookie":
			errs = append(errs, fmt.Errorf("fetcher: Header: %s would be sent to every site: set it in Headers, for one origin", canonical))
		}
	}
	if !httpguts.ValidHeaderFieldValue(c.Accept) || !httpguts.ValidHeaderFieldValue(c.AcceptLanguage) {
		errs = append(errs, errors.New("fetcher: Accept and AcceptLanguage may not hold control characters"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkHeaders() error {
	var errs []error
	for _, origin := range slices.Sorted(maps.Keys(c.Headers)) {
		if u, err := weburl.Parse(origin); err != nil || u.Origin() != origin {
			errs = append(errs, fmt.Errorf("fetcher: Headers: %q is not an origin; write it as scheme://host[:port], without a default port or a path", origin))
			continue
		}
		errs = append(errs, c.checkFields("Headers for "+origin, c.Headers[origin]))
	}
	return errors.Join(errs...)
}
