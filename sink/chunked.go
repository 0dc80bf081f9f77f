package sink

import "bytes"

// maxChunkDigits is the maximum number of hexadecimal digits of a chunk's size, for sizes up to 2^60-1.
const maxChunkDigits = 15

// unchunk removes the chunked transfer coding (RFC 9112 section 7.1). Lines may end in LF alone. Of an incomplete body it returns what was
// received; ok is false if the body is not chunked at all.
func unchunk(body []byte) (payload []byte, ok bool) {
	payload = make([]byte, 0, len(body))
	for len(body) > 0 {
		end := bytes.IndexByte(body, '\n')
		if end < 0 {
			return payload, sizePrefix(body)
		}
		size, ok := chunkSize(body[:end])
		if !ok {
			return nil, false
		}
		if body = body[end+1:]; size == 0 {
			return payload, true
		}
		n := min(size, uint64(len(body)))
		payload, body = append(payload, body[:n]...), body[n:]
		if body, ok = lineEnd(body); !ok {
			return nil, false
		}
	}
	return payload, true
}

// lineEnd removes a line end from the beginning of b. The line end may be incomplete at the end of b.
func lineEnd(b []byte) (rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '\r' {
		b = b[1:]
	}
	if len(b) > 0 && b[0] != '\n' {
		return nil, false
	}
	return b[min(len(b), 1):], true
}

// chunkSize parses the line that precedes a chunk: the size, white space and extensions.
func chunkSize(line []byte) (size uint64, ok bool) {
	line, _, _ = bytes.Cut(line, []byte(";"))
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 {
		return 0, false
	}
	for len(line) > 1 && line[0] == '0' {
		line = line[1:]
	}
	if len(line) > maxChunkDigits {
		return 0, false
	}
	for _, c := range line {
		d, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		size = size<<4 | uint64(d)
	}
	return size, true
}

// sizePrefix reports whether an incomplete line can be the beginning of the line that precedes a chunk.
func sizePrefix(b []byte) bool {
	if size, _, ext := bytes.Cut(b, []byte(";")); ext {
		b = size
	}
	b = bytes.TrimRight(b, " \t\r")
	for _, c := range b {
		if _, ok := hexDigit(c); !ok {
			return false
		}
	}
	return true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
