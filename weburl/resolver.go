package weburl

import (
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// Resolver resolves the links of one document. It returns the key of a link before it makes a URL, so that known links, which are the
// majority, need no memory. It reuses its buffers for every link, so it is not safe for concurrent use.
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

// Reset sets another base. It keeps the buffers, and invalidates earlier Views.
func (r *Resolver) Reset(base URL) { r.base = base }

// Resolve resolves ref against the base as [URL.Resolve] does, and returns a View. When the buffers have grown to the length of the
// site's longest URLs, neither Resolve nor the View's Key allocates, except for errors, references with tabs or newlines inside, hosts
// that are neither plain ASCII names nor plain IPv4, and malformed escapes. Errors are of type *[Error].
func (r *Resolver) Resolve(ref string) (View, error) { return r.ResolveIn(nil, ref) }

// ResolveIn resolves ref against the base as [URL.ResolveIn] does, and returns a View. It allocates when Resolve or the Encoder does.
func (r *Resolver) ResolveIn(e Encoder, ref string) (View, error) {
	var reason string
	if r.text, reason = r.b.resolve(r.text[:0], &r.base, ref, e); reason != "" {
		return View{}, fail(reason, ref)
	}
	return View{r}, nil
}

// View is the URL that a [Resolver] resolved last. It is valid until the Resolver's next Resolve or Reset; its methods must not be called
// afterwards, or on a zero View. The byte slices that they return belong to the Resolver: they are read-only and valid as long as the
// View.
type View struct{ r *Resolver }

// Key returns the key under the Resolver's profile. It equals Profile.Key of the URL.
func (v View) Key() Key { return v.r.key() }

// URL returns the URL itself, which outlives the View. It allocates unless the URL is the base.
func (v View) URL() URL {
	if v.r.b.isBase {
		return v.r.base
	}
	return v.r.b.url(v.r.text)
}

// Peek returns the URL in borrowed memory, for inspection. The next Resolve or Reset overwrites its bytes, so neither the URL nor any
// string obtained from it may be kept longer.
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

// Encoder appends text to dst in the encoding of a document, up to the first character that the encoding lacks. It returns the number of
// bytes of text that it has read, which is less than len(text) if there is such a character. Text is UTF-8. ASCII is written unchanged
// unless it would change the meaning of other bytes. An Encoder is safe for concurrent use and retains neither argument. Package
// weburl/charset has the encoders of the Encoding Standard.
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
