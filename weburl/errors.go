package weburl

import (
	"errors"
	"strconv"
	"strings"
)

// Reason codes of [Error], stable across versions.
const (
	ReasonSyntax      = "url_syntax"      // not a URL by the WHATWG URL Standard
	ReasonScheme      = "url_scheme"      // neither http nor https
	ReasonCredentials = "url_credentials" // user information in the URL: never sent, so refused
	ReasonTooLong     = "url_too_long"    // longer than MaxLen, or a host longer than MaxHostLen
)

// Error says why a text is no URL that amble can request.
type Error struct {
	Reason string // one of the Reason constants
	Input  string // a copy of the text, cut to 200 octets
}

// Error quotes the input, which is hostile text: no control character reaches a log.
func (e *Error) Error() string { return "weburl: " + e.Reason + ": " + strconv.Quote(e.Input) }

// maxInput bounds what an Error keeps of a text, in octets.
const maxInput = 200

func fail(reason, input string) error {
	if len(input) > maxInput {
		input = input[:maxInput] + "…"
	}
	return &Error{Reason: reason, Input: strings.Clone(input)}
}

// ReasonOf is the reason code of an error from this package, or "" for any other error.
func ReasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
