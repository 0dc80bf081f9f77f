package chromium

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/fetch"

	"github.com/amble-crawler/amble/render"
)

// withheld lists response headers that the browser does not get: they describe another body than its own, or would cause actions.
var withheld = []string{
	"Content-Encoding", "Content-Length", "Transfer-Encoding", "Set-Cookie", "Set-Cookie2", "Link", "Refresh", "Alt-Svc",
	"Nel", "Report-To", "Reporting-Endpoints", "Clear-Site-Data", "Strict-Transport-Security", "Speculation-Rules",
	"Accept-Ch", "Critical-Ch", "Use-As-Dictionary", "Service-Worker-Allowed", "Www-Authenticate", "Proxy-Authenticate",
	"Trailer", "Connection", "Keep-Alive", "Upgrade",
}

// document200 returns the document in the form for the browser, which shows it even if the server wants it to be downloaded.
func document200(a *render.Answer) *render.Answer {
	h := allowed(a.Header)
	h.Del("Content-Disposition")
	h.Del("Access-Control-Allow-Origin")
	return &render.Answer{Status: a.Status, Header: h, Body: a.Body}
}

// resource returns the response to a page's request in the form for the browser. Every page may read the response: it was requested without
// credentials, so CORS would protect nothing.
func resource(a *render.Answer, origin string) *render.Answer {
	h := allowed(a.Header)
	share(h, origin)
	names := []string{}
	for k := range h {
		names = append(names, k)
	}
	slices.Sort(names)
	h.Set("Access-Control-Expose-Headers", strings.Join(names, ", "))
	return &render.Answer{Status: a.Status, Header: h, Body: a.Body}
}

// preflight returns the answer to a CORS preflight request, which asks whether another origin permits a request (Fetch Standard,
// CORS-preflight fetch). The preflight request is never sent.
func preflight(e *fetch.EventRequestPaused) *render.Answer {
	h := http.Header{}
	share(h, header(e, "Origin"))
	h.Set("Access-Control-Allow-Methods", header(e, "Access-Control-Request-Method"))
	if names := header(e, "Access-Control-Request-Headers"); names != "" {
		h.Set("Access-Control-Allow-Headers", names)
	}
	h.Set("Access-Control-Allow-Private-Network", "true")
	h.Set("Access-Control-Max-Age", "86400")
	return &render.Answer{Status: http.StatusNoContent, Header: h}
}

// share adds CORS headers that allow an origin to read a response.
func share(h http.Header, origin string) {
	if origin == "" {
		h.Set("Access-Control-Allow-Origin", "*")
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
}

func allowed(h http.Header) http.Header {
	c := make(http.Header, len(h)+4)
	for k, v := range h {
		if k = http.CanonicalHeaderKey(k); !slices.Contains(withheld, k) {
			c[k] = v
		}
	}
	return c
}

// headerBlock returns a header in the browser's format: lines that end with a zero byte. It leaves out lines that are invalid.
func headerBlock(h http.Header) []byte {
	names := make([]string, 0, len(h))
	for k := range h {
		names = append(names, k)
	}
	slices.Sort(names)
	var b []byte
	for _, k := range names {
		for _, v := range h[k] {
			if line := k + ": " + v; !strings.ContainsAny(line, "\x00\r\n") && k != "" {
				b = append(append(b, line...), 0)
			}
		}
	}
	return b
}
