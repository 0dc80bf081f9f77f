package warctest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"regexp"
	"strings"
)

var (
	statusLine  = regexp.MustCompile(`^HTTP/1\.[01] [0-9]{3}( [^\r\n]*)?\r?\n`)
	requestLine = regexp.MustCompile(`^[A-Z]+ [^ \r\n]+ HTTP/1\.1\r\n`)
	headEnd     = regexp.MustCompile(`\n\r?\n`)
)

// checkBlock checks the digests and the form of a record's block.
func (r *Record) checkBlock() error {
	var errs []error
	if d := r.Get("WARC-Block-Digest"); digest(d, r.Block) != d {
		errs = append(errs, fmt.Errorf("the block's digest is %s, not %s", digest(d, r.Block), d))
	}
	want := map[string]string{
		"warcinfo": "application/warc-fields", "metadata": "application/warc-fields",
		"request": "application/http;msgtype=request", "response": "application/http;msgtype=response", "revisit": "application/http;msgtype=response",
		"conversion": "text/html;charset=utf-8", "resource": "image/png",
	}[r.Type()]
	if got := r.Get("Content-Type"); got != want {
		errs = append(errs, fmt.Errorf("Content-Type is %q", got))
	}
	switch r.Type() {
	case "warcinfo", "metadata":
		_, err := r.fields()
		errs = append(errs, err)
	case "request":
		if head, body := r.message(); !requestLine.Match(head) || len(body) > 0 {
			errs = append(errs, fmt.Errorf("not a request: %.60q", r.Block))
		}
	case "response":
		errs = append(errs, r.checkResponse())
	case "revisit":
		head, body := r.message()
		want := "length"
		if r.Get("WARC-Profile") == notModified { // with this profile, no part of the block is left out
			want = ""
		}
		if !statusLine.Match(head) || len(body) > 0 || r.Get("WARC-Truncated") != want {
			errs = append(errs, fmt.Errorf("not a header section alone, truncated by %q", want))
		}
	}
	return errors.Join(errs...)
}

func (r *Record) checkResponse() error {
	head, body := r.message()
	if !statusLine.Match(head) {
		return fmt.Errorf("not an answer: %.60q", r.Block)
	}
	d := r.Get("WARC-Payload-Digest")
	if got := digest(d, payload(head, body)); got != d {
		return fmt.Errorf("the payload's digest is %s, not %s", got, d)
	}
	return nil
}

// message splits an HTTP message into header section and body.
func (r *Record) message() (head, body []byte) {
	at := headEnd.FindIndex(r.Block)
	if at == nil {
		return nil, r.Block
	}
	return r.Block[:at[1]], r.Block[at[1]:]
}

// payload returns the entity body. If the body is declared and valid as chunked, it is the body without chunks.
func payload(head, body []byte) []byte {
	for line := range bytes.Lines(head) {
		name, value, _ := strings.Cut(string(line), ":")
		if strings.EqualFold(name, "Transfer-Encoding") && strings.EqualFold(strings.TrimSpace(value), "chunked") {
			if plain, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body))); err == nil {
				return plain
			}
		}
	}
	return body
}

// Payload returns the payload of a response record, which is the body without transfer coding.
func (r *Record) Payload() []byte { return payload(r.message()) }

// digest returns the digest of p, with the algorithm and encoding of another digest.
func digest(like string, p []byte) string {
	if strings.HasPrefix(like, "sha256:") {
		sum := sha256.Sum256(p)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(p)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}
