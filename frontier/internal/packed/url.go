// Package packed encodes parts of a Request without the name of the host, which the store knows. When it decodes damaged bytes, it
// returns an error and does not panic.
package packed

import (
	"strings"

	"github.com/amble-crawler/amble/weburl"
)

// Form is the form of a stored URL. It fits in three bits.
type Form uint8

// The forms of stored URLs.
const (
	Whole     Form = iota // the whole URL
	HTTP                  // path and query; http at the host's default port
	HTTPS                 // path and query; https at the host's default port
	HTTPPort              // path and query; http at the port of the host
	HTTPSPort             // path and query; https at the port of the host
)

// Split returns the part of u that is stored in the queue of host: everything but the name of the host.
func Split(host string, u weburl.URL) (Form, string) {
	rest, ok := strings.CutPrefix(host, u.Authority())
	if !ok {
		return Whole, u.String()
	}
	switch u.Scheme() + rest {
	case "http:80":
		return HTTP, u.PathQuery()
	case "https:443":
		return HTTPS, u.PathQuery()
	case "http":
		return HTTPPort, u.PathQuery()
	case "https":
		return HTTPSPort, u.PathQuery()
	}
	return Whole, u.String()
}

// Join returns the URL of which Split returned form and text. Its errors are those of package weburl.
func Join(host string, form Form, text string) (weburl.URL, error) {
	switch form {
	case HTTP:
		text = "http://" + strings.TrimSuffix(host, ":80") + text
	case HTTPS:
		text = "https://" + strings.TrimSuffix(host, ":443") + text
	case HTTPPort:
		text = "http://" + host + text
	case HTTPSPort:
		text = "https://" + host + text
	}
	return weburl.Parse(text)
}
