package weburl

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// Parse makes a URL of absolute text, as a browser's address parser does (WHATWG URL Standard,
// basic URL parser): surrounding blanks, tabs and newlines inside, backslashes and odd host
// spellings are taken as browsers take them. The error is an *[Error].
func Parse(raw string) (URL, error) {
	w, err := whatwg.Parse(raw)
	if err != nil {
		return URL{}, fail(ReasonSyntax, raw)
	}
	return fromWHATWG(w, raw)
}

// Resolve makes the URL that a reference found in a document at u points to (WHATWG URL Standard;
// u is the base). The error is an *[Error].
func (u URL) Resolve(ref string) (URL, error) {
	if u.IsZero() {
		return Parse(ref)
	}
	w, err := whatwg.ParseRef(u.href, ref)
	if err != nil {
		return URL{}, fail(ReasonSyntax, ref)
	}
	return fromWHATWG(w, ref)
}

func fromWHATWG(w *whatwg.Url, input string) (URL, error) {
	scheme := w.Scheme()
	if scheme != "http" && scheme != "https" {
		return URL{}, fail(ReasonScheme, input)
	}
	if w.Username() != "" || w.Password() != "" {
		return URL{}, fail(ReasonCredentials, input)
	}
	href := w.Href(true)
	if len(href) > MaxLen {
		return URL{}, fail(ReasonTooLong, input)
	}
	return fromHref(href), nil
}

// fromHref cuts an already serialised URL into its parts.
func fromHref(href string) URL {
	hs := strings.Index(href, "://") + 3
	ps := len(href)
	if i := strings.IndexAny(href[hs:], "/?"); i >= 0 {
		ps = hs + i
	}
	port := ps
	if i := strings.LastIndexByte(href[hs:ps], ':'); i >= 0 && !strings.HasSuffix(href[hs:ps], "]") {
		port = hs + i
	}
	return URL{href: href, hostStart: uint16(hs), portStart: uint16(port), pathStart: uint16(ps)}
}
