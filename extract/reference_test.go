package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// reference parses a page like HTML, but with the tokenizer of x/net/html instead of the scanner.
func reference(body []byte, o Options) *Document {
	d := new(Document)
	c := collector{o: o.resolved()}
	c.reset(d)
	tokenize(body, &c)
	c.endText()
	return d
}

// tokenize parses a page with the tokenizer of x/net/html.
func tokenize(body []byte, c *collector) {
	z := html.NewTokenizer(bytes.NewReader(body))
	t := startTag{data: make([]value, len(c.o.DataAttrs))}
	offset, inside := 0, elOther
	for {
		z.AllowCDATA(c.foreign.cdata())
		kind := z.Next()
		t.offset = offset
		written := z.Raw()
		offset += len(written)
		switch kind {
		case html.ErrorToken:
			return
		case html.TextToken:
			tokenText(z, c, inside, written)
			inside = elOther
		case html.StartTagToken, html.SelfClosingTagToken:
			tokenStart(z, c, &t)
			t.closed = kind == html.SelfClosingTagToken
			inside = elOther
			if c.start(&t) {
				inside = t.el
			} else {
				z.NextIsNotRawText()
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			c.end(elementOf(string(name)), string(name))
			inside = elOther
		}
	}
}

func tokenText(z *html.Tokenizer, c *collector, inside element, written []byte) {
	if data, ok := bytes.CutPrefix(written, []byte("<![CDATA[")); ok && inside == elOther {
		// Otherwise the tokenizer would decode character references here, contrary to the Standard.
		data = bytes.TrimSuffix(data, []byte("]]>"))
		c.text(value{s: string(bytes.ReplaceAll(data, []byte("\x00"), []byte("\ufffd")))})
		return
	}
	text := strings.ReplaceAll(string(z.Text()), "\x00", "\ufffd")
	if inside != elOther {
		c.raw(inside, value{s: text})
		return
	}
	c.text(value{s: text})
}

func tokenStart(z *html.Tokenizer, c *collector, t *startTag) {
	t.reset()
	name, more := z.TagName()
	t.name = string(name)
	t.el = elementOf(t.name)
	for more {
		var key, val []byte
		key, val, more = z.TagAttr()
		name := string(key)
		v := value{s: string(val), big: len(val) > c.o.MaxAttr}
		if a := attributeOf(name); a != atOther {
			t.put(a, v)
		}
		for i, want := range c.o.DataAttrs {
			if want == name {
				t.putData(i, v)
			}
		}
	}
}
