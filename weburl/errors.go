package weburl

import (
	"errors"
	"strconv"
	"strings"
)

// Reason codes of [Error]. They are stable across versions.
const (
	ReasonSyntax      = "url_syntax"      // not valid by the WHATWG URL Standard
	ReasonScheme      = "url_scheme"      // neither http nor https
	ReasonCredentials = "url_credentials" // has user information, which is never sent
	ReasonTooLong     = "url_too_long"    // longer than MaxLen, or its host is longer than 512 bytes
)

// Error says why a text is not a URL that amble can request.
type Error struct {
	Reason string // one of the Reason constants
	Input  string // a copy of the text, user information masked, cut to 200 bytes
}

// Error returns the message with the input quoted: it is hostile text, and no control character may reach a log.
func (e *Error) Error() string { return "weburl: " + e.Reason + ": " + strconv.Quote(e.Input) }

// maxInput bounds the part of a text that an Error retains, in bytes.
const maxInput = 200

func fail(reason, input string) error {
	if input = Redact(input); len(input) > maxInput {
		input = input[:maxInput] + "…"
	}
	return &Error{Reason: reason, Input: strings.Clone(input)}
}

// ReasonOf returns the reason code of an error from this package, or "" for any other error.
func ReasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
