package weburl

import (
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// Resolver resolves the links of one document and returns their keys before URLs are made of them, so that links
// seen before, which most are, cost no memory. It reuses its buffers for every link, so it is not safe for
// concurrent use.
//
//	r := weburl.NewResolver(page, weburl.Safe)
//	for _, ref := range links {
//		v, err := r.Resolve(ref)
//		if err != nil || seen[v.Key()] {
//			continue
//		}
//		queue = append(queue, v.URL())
//	}
type Resolver struct {
	base    URL
	profile Profile
	b       builder
	text    []byte
	scratch []byte
}

// NewResolver returns a Resolver for references in a document at base and for keys of the profile. With the zero
// URL as base, references must be absolute, as for [Parse].
func NewResolver(base URL, p Profile) *Resolver {
	return &Resolver{base: base, profile: p}
}

// Reset sets another base and keeps the buffers. It invalidates Views returned before.
func (r *Resolver) Reset(base URL) { r.base = base }

// Resolve resolves ref as [URL.Resolve] does on the base, and returns a View. Once the buffers have grown to the
// longest URLs of the site, neither Resolve nor the View's Key allocates, except for errors, references with tabs or
// newlines inside, hosts that are neither plain ASCII names nor plain IPv4, and malformed escapes. The error is an
// *[Error].
func (r *Resolver) Resolve(ref string) (View, error) { return r.ResolveIn(nil, ref) }

// ResolveIn resolves ref as [URL.ResolveIn] does on the base, and returns a View. It allocates where Resolve does,
// and where the Encoder does.
func (r *Resolver) ResolveIn(e Encoder, ref string) (View, error) {
	var reason string
	if r.text, reason = r.b.resolve(r.text[:0], &r.base, ref, e); reason != "" {
		return View{}, fail(reason, ref)
	}
	return View{r}, nil
}

// View is the URL that a [Resolver] resolved last. It is valid until the Resolver's next Resolve or Reset; its
// methods must not be called after that, nor on a zero View. The byte slices they return belong to the Resolver:
// they are read-only and valid for as long.
type View struct{ r *Resolver }

// Key returns the seen key under the Resolver's profile: the same as Profile.Key of the URL.
func (v View) Key() Key { return v.r.key() }

// URL returns the URL itself, which outlives the View. It allocates unless the URL is the base.
func (v View) URL() URL {
	if v.r.b.isBase {
		return v.r.base
	}
	return v.r.b.url(v.r.text)
}

// Peek returns the URL in borrowed memory, for inspection: neither it nor any string obtained from it may be
// kept beyond the next Resolve or Reset, which overwrite their bytes.
func (v View) Peek() URL {
	if v.r.b.isBase {
		return v.r.base
	}
	u := URL{href: unsafe.String(unsafe.SliceData(v.r.text), len(v.r.text)), marks: v.r.b.marks}
	u.marks.normal = !v.r.b.suspect || isNormal(u.href[u.marks.path:])
	return u
}

// Bytes returns the text of [URL.String].
func (v View) Bytes() []byte { return v.r.text }

// Hostname returns the text of [URL.Hostname].
func (v View) Hostname() []byte {
	m := v.r.b.marks
	h := v.r.text[m.host:m.port]
	if h[0] == '[' {
		return h[1 : len(h)-1]
	}
	return h
}

// Origin returns the text of [URL.Origin].
func (v View) Origin() []byte { return v.r.text[:v.r.b.marks.path] }

// PathQuery returns the text of [URL.PathQuery].
func (v View) PathQuery() []byte { return v.r.text[v.r.b.marks.path:] }

func (r *Resolver) key() Key {
	normal, path := r.text, int(r.b.marks.path)
	if r.profile != Exact && r.b.suspect {
		r.scratch = appendNormal(r.scratch[:0], normal, path)
		normal = r.scratch
	}
	if r.profile == Usual {
		r.scratch = appendUsual(append(r.scratch[:0], normal...), normal, path)
		normal = r.scratch[len(normal):]
	}
	return xxh3.Hash128(normal).Bytes()
}

// Encoder appends text to dst in the encoding of a document, up to the first character that the encoding lacks. It
// returns how many bytes of text it has read, which is less than len(text) if it has met such a character. Text is
// UTF-8; ASCII is written unchanged unless it would alter how other bytes are read. An Encoder is safe for
// concurrent use and retains neither argument. Package weburl/charset has the encoders of the web.
type Encoder func(dst []byte, text string) (_ []byte, n int)

// query appends a percent-encoded query in the encoding (WHATWG URL Standard, section 1.3, percent-encode after
// encoding). A character that the encoding lacks is written as its decimal character reference.
func (e Encoder) query(dst []byte, s string) []byte {
	var space [256]byte
	for {
		text, n := e(space[:0], s)
		for _, c := range text {
			if classes[c]&encodeInText != 0 {
				dst = appendEscape(dst, c)
			} else {
				dst = append(dst, c)
			}
		}
		if s = s[n:]; s == "" {
			return dst
		}
		r, n := utf8.DecodeRuneInString(s)
		dst = append(dst, "%26%23"...)
		dst = strconv.AppendInt(dst, int64(r), 10)
		dst = append(dst, "%3B"...)
		s = s[n:]
	}
}
