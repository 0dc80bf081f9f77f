package warc

import (
	"bytes"

	"github.com/amble-crawler/amble/sink"
)

// renamed is put before the names of header fields that do not describe the body any more, as Common
// Crawl does.
const renamed = "X-Crawler-"

// storedHead is the header section as it goes with the payload. Without chunks the fields that frame
// a chunked body (RFC 9112 section 6) would mislead.
func storedHead(x *sink.Exchange) []byte {
	if !x.Chunked() {
		return x.Head
	}
	out := make([]byte, 0, len(x.Head)+2*len(renamed))
	for rest := x.Head; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		if line := rest[:end]; named(line, "Transfer-Encoding") || named(line, "Content-Length") {
			out = append(out, renamed...)
		}
		out, rest = append(out, rest[:end]...), rest[end:]
	}
	return out
}

// named reports whether a header line is a field of that name.
func named(line []byte, name string) bool {
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && bytes.EqualFold(key, []byte(name))
}
