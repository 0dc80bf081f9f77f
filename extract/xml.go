package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// xmlReader reads the tags and texts of XML in sequence. It has no stack, so the depth of elements and wrong end tags do not matter. Its
// one buffer does not grow with the input. It knows only the predefined entities and those of HTML. It skips document type declarations,
// so nothing in them is expanded or fetched.
type xmlReader struct {
	r   *bufio.Reader
	pos int // number of bytes read
	tag []byte
}

// xmlBuffer is the maximum length of a text or tag that is read in one piece.
const xmlBuffer = 32 << 10

func newXMLReader(r io.Reader) *xmlReader {
	return &xmlReader{r: bufio.NewReaderSize(r, xmlBuffer)}
}

// xmlKind is the type of an xmlToken.
type xmlKind uint8

const (
	xmlText  xmlKind = iota
	xmlCDATA         // text in which references are not decoded
	xmlStart
	xmlEmpty // a start tag that is also the end tag
	xmlEnd
)

// xmlToken is a tag or a piece of text. Its bytes are valid until the next token is read.
type xmlToken struct {
	kind         xmlKind
	prefix, name []byte // parts of the name of a tag
	body         []byte // attributes of a tag, or the text as written
	offset       int
}

// next reads a token. At the end of the input, even within a tag, it returns io.EOF. Otherwise errors are those of the reader.
func (x *xmlReader) next() (xmlToken, error) {
	for {
		offset := x.pos
		text, err := x.slice('<')
		if n := len(text); n > 0 && text[n-1] == '<' {
			x.unread()
			text = text[:n-1]
		}
		if len(text) > 0 {
			return xmlToken{kind: xmlText, body: text, offset: offset}, nil
		}
		if err != nil {
			return xmlToken{}, err
		}
		t, ok, err := x.markup(offset)
		if ok || err != nil {
			return t, err
		}
	}
}

// slice reads to the next delim, but at most as much as fits into the buffer.
func (x *xmlReader) slice(delim byte) ([]byte, error) {
	s, err := x.r.ReadSlice(delim)
	x.pos += len(s)
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return s, err
}

func (x *xmlReader) unread() {
	if x.r.UnreadByte() == nil {
		x.pos--
	}
}

// markup reads the item that begins with the "<" at offset. ok is false if it is neither a tag nor text.
func (x *xmlReader) markup(offset int) (t xmlToken, ok bool, err error) {
	const cdata = "<![CDATA["
	ahead, _ := x.r.Peek(len(cdata))
	switch {
	case bytes.HasPrefix(ahead, []byte("<!--")):
		return t, false, x.skipPast("<!--", "-->", nil)
	case bytes.HasPrefix(ahead, []byte(cdata)):
		x.tag = x.tag[:0]
		err = x.skipPast(cdata, "]]>", &x.tag)
		return xmlToken{kind: xmlCDATA, body: x.tag, offset: offset}, len(x.tag) > 0, err
	case bytes.HasPrefix(ahead, []byte("<?")):
		return t, false, x.skipPast("<?", "?>", nil)
	case bytes.HasPrefix(ahead, []byte("<!")):
		return t, false, x.skipDeclaration()
	}
	if len(ahead) > 1 && !beginsTag(ahead[1]) {
		n, err := x.r.Discard(1)
		x.pos += n
		x.tag = append(x.tag[:0], '<')
		return xmlToken{kind: xmlCDATA, body: x.tag, offset: offset}, true, err
	}
	if err := x.readTag(); err != nil {
		return t, false, err
	}
	t = x.parseTag()
	t.offset = offset
	return t, true, nil
}

// beginsTag reports whether c, after a "<", begins a tag.
func beginsTag(c byte) bool {
	return isLetter(c) || c == '/' || c == '_' || c == ':' || c >= utf8.RuneSelf
}

// skipPast reads from the opening mark to the end of the closing mark. It stores the bytes between them in *keep, up to the size of a
// buffer.
func (x *xmlReader) skipPast(opening, closing string, keep *[]byte) error {
	n, err := x.r.Discard(len(opening))
	x.pos += n
	for matched := 0; err == nil; {
		var s []byte
		s, err = x.slice('>')
		if keep != nil {
			*keep = append(*keep, s...)
		}
		matched = matchEnd(s, closing, matched)
		if matched == len(closing) {
			if keep != nil {
				*keep = bytes.TrimSuffix(*keep, []byte(closing))
			}
			return nil
		}
		if keep != nil && len(*keep) > xmlBuffer {
			keep = nil
		}
	}
	return err
}

// matchEnd returns the number of bytes of closing at the end of s, if there were matched of them before s. A closing mark is "?>", or ">"
// after two equal bytes.
func matchEnd(s []byte, closing string, matched int) int {
	for _, c := range s {
		switch {
		case c == closing[matched]:
			matched++
		case c != closing[0]:
			matched = 0
		}
		if matched == len(closing) {
			break
		}
	}
	return matched
}

// skipDeclaration skips a document type declaration, or its part before the next "<". The declarations in its subset are skipped one by
// one.
func (x *xmlReader) skipDeclaration() error {
	n, err := x.r.Discard(1)
	x.pos += n
	for quote := byte(0); err == nil; {
		var c byte
		if c, err = x.r.ReadByte(); err != nil {
			break
		}
		x.pos++
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return nil
		case c == '<':
			x.unread()
			return nil
		}
	}
	return err
}

// readTag reads a tag, without its brackets, into x.tag. A ">" in quotes does not end the tag. Bytes that do not fit into the buffer are
// dropped.
func (x *xmlReader) readTag() error {
	n, err := x.r.Discard(1)
	x.pos += n
	x.tag = x.tag[:0]
	full := false
	for quote := byte(0); err == nil; {
		var s []byte
		s, err = x.slice('>')
		quote = quoteAfter(s, quote)
		ended := quote == 0 && len(s) > 0 && s[len(s)-1] == '>'
		if ended {
			s = s[:len(s)-1]
		}
		if full = full || len(x.tag)+len(s) > xmlBuffer; !full {
			x.tag = append(x.tag, s...)
		}
		if ended {
			return nil
		}
	}
	return err
}

// quoteAfter returns the quotation mark that is open after s, or 0. quote is the one that is open before s.
func quoteAfter(s []byte, quote byte) byte {
	for _, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		}
	}
	return quote
}

// parseTag returns x.tag as a token.
func (x *xmlReader) parseTag() xmlToken {
	t := xmlToken{kind: xmlStart}
	s := x.tag
	if len(s) > 0 && s[0] == '/' {
		t.kind, s = xmlEnd, s[1:]
	} else if len(s) > 0 && s[len(s)-1] == '/' {
		t.kind, s = xmlEmpty, s[:len(s)-1]
	}
	n := bytes.IndexAny(s, spaces)
	if n < 0 {
		n = len(s)
	}
	t.name, t.body = s[:n], s[n:]
	if i := bytes.LastIndexByte(t.name, ':'); i >= 0 {
		t.prefix, t.name = t.name[:i], t.name[i+1:]
	}
	return t
}

// attr returns the decoded value of the attribute of a start tag that has this name, including its prefix.
func (t xmlToken) attr(name string) (value string, ok bool) {
	for s := t.body; ; {
		s = bytes.TrimLeft(s, spaces)
		n := bytes.IndexByte(s, '=')
		if n < 0 {
			return "", false
		}
		key := bytes.TrimRight(s[:n], spaces)
		s = bytes.TrimLeft(s[n+1:], spaces)
		if len(s) == 0 || s[0] != '"' && s[0] != '\'' {
			return "", false
		}
		end := bytes.IndexByte(s[1:], s[0])
		if end < 0 {
			return "", false
		}
		if string(key) == name {
			return string(appendDecoded(nil, string(s[1:1+end]), true)), true
		}
		s = s[end+2:]
	}
}

// appendText appends the text of a token, decoded. References follow the strict rules of attributes, so that an
// address in which "&" is not written as "&amp;" keeps its meaning.
func (t xmlToken) appendText(dst []byte) []byte {
	if t.kind == xmlCDATA || !bytes.ContainsAny(t.body, "&\r\x00") {
		return append(dst, t.body...)
	}
	return appendDecoded(dst, string(t.body), true)
}
