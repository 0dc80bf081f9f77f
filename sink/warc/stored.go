package warc

import (
	"bytes"

	"github.com/amble-crawler/amble/sink"
)

// renamed is the prefix of header fields that no longer describe the body, as in the archives of Common Crawl.
const renamed = "X-Crawler-"

// storedHead returns the header section that is stored with the payload. Without chunks, the fields that frame a
// chunked body (RFC 9112 section 6) would be wrong.
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

// named reports whether a header line is a field of this name.
func named(line []byte, name string) bool {
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && bytes.EqualFold(key, []byte(name))
}
