package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// jsonFeed is the state of reading a JSON Feed (jsonfeed.org, version 1.1). It has the data of one item at a time.
type jsonFeed struct {
	feed
	in    jsonReader
	known bool // the version is that of a JSON Feed
}

func readJSONFeed(body []byte) *Document {
	f := jsonFeed{feed: feed{doc: new(Document)}, in: newJSONReader(body)}
	f.in.members(f.in.token(), f.member)
	f.endEntry()
	if !f.known {
		return nil
	}
	return f.doc
}

// member reads a member of the feed.
func (f *jsonFeed) member(key string) {
	switch key {
	case "version":
		text, _ := f.in.text()
		_, version, _ := strings.Cut(text, "://")
		f.known = strings.HasPrefix(version, "jsonfeed.org/version/")
	case "title":
		f.feedTitle()
	case "language":
		f.doc.Lang, _ = f.in.text()
	case "home_page_url":
		f.link(key, LinkRel, Alternate)
	case "feed_url":
		f.link(key, LinkRel, Self)
	case "next_url":
		f.link(key, LinkRel, Next)
	case "icon":
		f.link(key, Image, 0)
	case "items":
		f.in.elements(f.in.token(), f.item)
	default:
		f.in.skip(f.in.token())
	}
}

func (f *jsonFeed) feedTitle() {
	text, _ := f.in.text()
	f.setTitle(text)
}

// item reads an element of the feed's items.
func (f *jsonFeed) item(t json.Token) {
	f.newEntry()
	f.inEntry = true
	f.in.members(t, f.itemMember)
	f.endEntry()
}

func (f *jsonFeed) itemMember(key string) {
	switch key {
	case "title":
		f.feedTitle()
	case "id":
		text, at := f.in.text()
		f.guid = Link{Ref: trimRef(text), Kind: Entry, Tag: key, Offset: at}
	case "url":
		f.linked = f.link(key, Entry, 0) || f.linked
	case "external_url":
		f.link(key, LinkRel, Other)
	case "image", "banner_image":
		f.link(key, Image, 0)
	case "attachments":
		f.in.elements(f.in.token(), f.attachment)
	default:
		f.in.skip(f.in.token())
	}
}

// attachment reads an element of an item's attachments.
func (f *jsonFeed) attachment(t json.Token) {
	l := Link{Kind: Media, Tag: "attachments", Attr: "url"}
	f.in.members(t, func(key string) {
		switch key {
		case "url":
			var text string
			text, l.Offset = f.in.text()
			l.Ref = trimRef(text)
		case "mime_type":
			l.Type, _ = f.in.text()
		default:
			f.in.skip(f.in.token())
		}
	})
	f.add(l)
}

// link adds a link for the URL in a member, and reports whether there is one.
func (f *jsonFeed) link(key string, k Kind, rel Rel) bool {
	text, at := f.in.text()
	ref := trimRef(text)
	if ref == "" {
		return false
	}
	f.add(Link{Ref: ref, Kind: k, Tag: key, Rel: rel, Offset: at})
	return true
}

// jsonReader reads JSON value by value. After an error all its methods return zero values.
type jsonReader struct {
	body []byte
	dec  *json.Decoder
	err  error
}

var errJSONDepth = errors.New("extract: JSON is nested too deeply")

// maxJSONDepth limits the depth of arrays and objects, for which the Decoder needs memory.
const maxJSONDepth = 100

func newJSONReader(body []byte) jsonReader {
	r := jsonReader{body: body, dec: json.NewDecoder(bytes.NewReader(body))}
	r.dec.UseNumber()
	return r
}

func (r *jsonReader) token() json.Token {
	if r.err != nil {
		return nil
	}
	var t json.Token
	t, r.err = r.dec.Token()
	return t
}

// members reads the value that begins with t. If it is an object, take reads the value of each member.
func (r *jsonReader) members(t json.Token, take func(key string)) {
	if t != json.Delim('{') {
		r.skip(t)
		return
	}
	for {
		key, ok := r.token().(string)
		if !ok {
			return // end of the object, or an error
		}
		take(key)
	}
}

// elements reads the value that begins with t. If it is an array, take reads each element, given its first token.
func (r *jsonReader) elements(t json.Token, take func(json.Token)) {
	if t != json.Delim('[') {
		r.skip(t)
		return
	}
	for t := r.token(); r.err == nil && t != json.Delim(']'); t = r.token() {
		take(t)
	}
}

// skip reads the rest of the value that begins with t.
func (r *jsonReader) skip(t json.Token) {
	for depth := 0; r.err == nil; t = r.token() {
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return
		}
		if depth > maxJSONDepth {
			r.err = errJSONDepth
		}
	}
}

// text reads a string and returns it with its offset. Any other value, and a string that is too long, is skipped.
func (r *jsonReader) text() (s string, offset int) {
	offset = int(r.dec.InputOffset())
	for offset < len(r.body) && (isSpace(r.body[offset]) || r.body[offset] == ':') {
		offset++
	}
	t := r.token()
	s, ok := t.(string)
	if !ok {
		r.skip(t)
	}
	if len(s) > maxFeedText {
		s = ""
	}
	return s, offset
}
