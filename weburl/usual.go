package weburl

import (
	"bytes"
	"slices"
)

// appendUsual appends the Usual form of a URL that is in Safe normal form and whose path begins at path. The text may be a part of
// dst[:len(dst)].
func appendUsual[T string | []byte](dst []byte, safe T, path int) []byte {
	end := path
	for end < len(safe) && safe[end] != '?' {
		end++
	}
	dst = append(dst, safe[:path]...)
	start := len(dst)
	dst = appendSessionless(dst, safe[path:end])
	dst = trimIndex(dst, start)
	if end == len(safe) {
		return dst
	}
	return appendParameters(dst, safe[end+1:])
}

// appendSessionless appends a path without its session parameters. A segment that would become "." or ".." without them keeps them,
// because for the server it is no dot segment.
func appendSessionless[T string | []byte](dst []byte, path T) []byte {
	segment := len(dst)
	for i := 0; i < len(path); {
		n := 1
		for i+n < len(path) && path[i+n] != ';' && path[i+n] != '/' {
			n++
		}
		if path[i] == '/' {
			segment = len(dst) + 1
		}
		piece := path[i : i+n]
		if path[i] != ';' || !isSession(piece[1:]) || isDots(dst[segment:]) {
			dst = append(dst, piece...)
		}
		i += n
	}
	return dst
}

func isDots(segment []byte) bool {
	return string(segment) == "." || string(segment) == ".."
}

// trimIndex removes the name of an index file from the path that begins at index start of dst.
func trimIndex(dst []byte, start int) []byte {
	file := start + bytes.LastIndexByte(dst[start:], '/') + 1
	if isIndex(dst[file:]) {
		return dst[:file]
	}
	return dst
}

// parameter holds positions in a query: the start and the end of a parameter, and the end of its name.
type parameter struct{ start, name, end int }

// appendParameters appends "?" and those parameters of a query that Usual keeps.
func appendParameters[T string | []byte](dst []byte, query T) []byte {
	var space [32]parameter
	ps := space[:0]
	for i := 0; i <= len(query); {
		p := parameterAt(query, i)
		if p.end > p.start && !isNoise(query[p.start:p.end], p.name-p.start) {
			ps = append(ps, p)
		}
		i = p.end + 1
	}
	slices.SortStableFunc(ps, func(a, b parameter) int {
		return compareText(query[a.start:a.name], query[b.start:b.name])
	})
	for i, p := range ps {
		if i == 0 {
			dst = append(dst, '?')
		} else {
			dst = append(dst, '&')
		}
		dst = append(dst, query[p.start:p.end]...)
	}
	return dst
}

func parameterAt[T string | []byte](query T, i int) parameter {
	p := parameter{start: i, name: -1, end: i}
	for ; p.end < len(query) && query[p.end] != '&'; p.end++ {
		if query[p.end] == '=' && p.name < 0 {
			p.name = p.end
		}
	}
	if p.name < 0 {
		p.name = p.end
	}
	return p
}

func compareText[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}
