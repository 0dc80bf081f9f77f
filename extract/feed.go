package extract

import (
	"bytes"
	"cmp"
	"net/url"
	"strings"
)

// Feed reads a feed in UTF-8: RSS 0.9x and 2.0, RSS 1.0 (RDF), Atom (RFC 4287) or JSON Feed. It returns nil for
// anything else. The links are
//
//   - the pages of the entries, of kind Entry, with the entry's title as Text: an RSS link, or the guid if there is
//     no link and the guid is an address; an Atom link with rel=alternate; the url of a JSON Feed item, or its id,
//     under the same condition as RSS's guid;
//   - enclosures, attachments and media:content, of kind Media, and images, of kind Image;
//   - the feed's own page and all other Atom links, of kind LinkRel: rel=next leads to older entries.
//
// Base, Title and Lang are those of the feed. The references of an entry that has an xml:base are resolved
// against it, as far as possible without the feed's address. Links inside an entry's content are not extracted: the
// content is HTML, so pass it to HTML. At most 10,000 links are kept; the others are counted in Dropped.
func Feed(body []byte) *Document {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimLeft(body, spaces), []byte("{")) {
		return readJSONFeed(body)
	}
	f := feed{x: newXMLReader(bytes.NewReader(body)), doc: new(Document)}
	for {
		t, err := f.x.next()
		if err != nil || !f.token(t) {
			f.endEntry()
			return f.document()
		}
	}
}

// feed is the state of reading one feed.
type feed struct {
	x      *xmlReader
	doc    *Document
	root   string // name of the root element
	prefix string // namespace prefix of the innermost open feed, channel or entry
	skip   string // name of the open element whose title and links do not belong to the feed; "" if there is none

	field  string // name of the element whose text is being collected
	at     int    // offset of the element whose text is being collected
	text   []byte
	attrOK bool // the guid is a URL

	inEntry bool
	first   int    // index of the first link of the entry
	base    string // xml:base of the entry
	title   string
	date    string
	linked  bool // the entry has a link
	guid    Link

	// For a sitemap: the last entry that was read, and whether it has not been returned yet.
	entry SitemapEntry
	ended bool
}

// document returns the links and properties, or nil if the text is not a feed.
func (f *feed) document() *Document {
	if !isFeedRoot(f.root) {
		return nil
	}
	return f.doc
}

func isFeedRoot(name string) bool { return name == "rss" || name == "RDF" || name == "feed" }

// maxFeedText limits the length of an element's text, before decoding.
const maxFeedText = 8 << 10

// token processes one token and reports whether to continue.
func (f *feed) token(t xmlToken) bool {
	switch t.kind {
	case xmlText, xmlCDATA:
		if f.field != "" && len(f.text) < maxFeedText {
			f.text = t.appendText(f.text)
		}
		return true
	case xmlEnd:
		f.endField()
		f.end(string(t.name))
		return true
	}
	f.endField()
	if f.root == "" {
		f.root = string(t.name)
		return f.begin(t)
	}
	f.start(t)
	return true
}

// begin processes the root element and reports whether the root is that of a feed.
func (f *feed) begin(t xmlToken) bool {
	f.prefix = string(t.prefix)
	if !isFeedRoot(f.root) {
		return false
	}
	if base, ok := t.attr("xml:base"); ok {
		f.doc.Base = trimRef(base)
	}
	if lang, ok := t.attr("xml:lang"); ok {
		f.doc.Lang = trimSpace(lang)
	}
	return true
}

// start processes a start tag.
func (f *feed) start(t xmlToken) {
	name := string(t.name)
	switch name {
	case "item", "entry":
		f.endEntry()
		f.beginEntry(t)
		return
	case "channel":
		f.prefix = string(t.prefix)
		return
	case "enclosure":
		f.urlAttr(t, Media, "enclosure")
		return
	case "content":
		if string(t.prefix) == "media" {
			f.urlAttr(t, Media, "media:content")
		}
		return
	case "link":
		if href, ok := t.attr("href"); ok {
			f.atomLink(t, href)
			return
		}
	}
	if t.kind == xmlStart && (string(t.prefix) == f.prefix || string(t.prefix) == "dc" && name == "date") {
		f.core(t, name)
	}
}

// core processes an element of the feed format itself, not of an extension.
func (f *feed) core(t xmlToken, name string) {
	switch name {
	case "image", "source", "textinput", "textInput", "author":
		if f.skip == "" {
			f.skip = name
		}
		return
	case "link", "title", "guid", "language", "pubDate", "updated", "modified", "date":
		if f.skip != "" {
			return
		}
	case "url":
		if f.skip != "image" {
			return
		}
	default:
		return
	}
	permalink, _ := t.attr("isPermaLink")
	f.attrOK = !equalFold(permalink, "false")
	f.field, f.at, f.text = name, t.offset, f.text[:0]
}

// end processes an end tag.
func (f *feed) end(name string) {
	if name == f.skip {
		f.skip = ""
	}
	if name == "item" || name == "entry" {
		f.endEntry()
	}
}

// endField stores the text that was collected for an element.
func (f *feed) endField() {
	name := f.field
	f.field = ""
	if name == "" || len(f.text) > maxFeedText {
		return
	}
	text := trimSpace(string(f.text))
	switch name {
	case "title":
		f.setTitle(text)
	case "language":
		if f.doc.Lang == "" {
			f.doc.Lang = text
		}
	case "link":
		f.rssLink(trimRef(text))
	case "guid":
		if f.attrOK && f.guid.Ref == "" {
			f.guid = Link{Ref: trimRef(text), Kind: Entry, Tag: "guid", Offset: f.at}
		}
	case "url":
		f.add(Link{Ref: trimRef(text), Kind: Image, Tag: "url", Offset: f.at})
	case "pubDate", "updated", "modified", "date":
		if f.inEntry && f.date == "" {
			f.date = text[:min(len(text), maxField)]
		}
	}
}

func (f *feed) setTitle(text string) {
	text = strings.Join(strings.Fields(text), " ")
	if f.inEntry {
		if f.title == "" {
			f.title = text[:cut(text, maxText)]
		}
		return
	}
	if f.doc.Title == "" {
		f.doc.Title = text[:cut(text, defaultMaxTitle)]
	}
}

func (f *feed) rssLink(ref string) {
	l := Link{Ref: ref, Kind: LinkRel, Tag: "link", Rel: Alternate, Offset: f.at}
	if f.inEntry {
		l.Kind, l.Rel = Entry, 0
		f.linked = f.linked || ref != ""
	}
	f.add(l)
}

// atomLink processes an Atom link element, which RSS feeds contain too (RFC 4287 section 4.2.7).
func (f *feed) atomLink(t xmlToken, href string) {
	if f.skip != "" {
		return
	}
	l := Link{Ref: trimRef(href), Kind: LinkRel, Tag: "link", Attr: "href", Rel: Alternate, Offset: t.offset}
	l.Type, _ = t.attr("type")
	rel, ok := t.attr("rel")
	if ok {
		l.Rel = parseRel(rel)
	}
	switch {
	case equalFold(trimSpace(rel), "enclosure"):
		l.Kind = Media
	case f.inEntry && l.Rel&Alternate != 0:
		l.Kind = Entry
		f.linked = true
	}
	f.add(l)
}

// urlAttr adds the link in the url attribute of an element.
func (f *feed) urlAttr(t xmlToken, k Kind, tag string) {
	ref, _ := t.attr("url")
	mediaType, _ := t.attr("type")
	f.add(Link{Ref: trimRef(ref), Kind: k, Tag: tag, Attr: "url", Type: mediaType, Offset: t.offset})
}

func (f *feed) beginEntry(t xmlToken) {
	f.inEntry = t.kind == xmlStart
	f.prefix = string(t.prefix)
	f.base = ""
	if base, ok := t.attr("xml:base"); ok {
		f.base = resolve(f.doc.Base, trimRef(base))
	}
	f.newEntry()
}

// newEntry resets the state at the beginning of an entry.
func (f *feed) newEntry() {
	f.first = len(f.doc.Links)
	f.title, f.date, f.linked, f.guid, f.skip = "", "", false, Link{}, ""
}

// endEntry sets the entry's title as the text of its links.
func (f *feed) endEntry() {
	if !f.inEntry {
		return
	}
	if !f.linked && (hasPrefixFold(f.guid.Ref, "http://") || hasPrefixFold(f.guid.Ref, "https://")) {
		f.add(f.guid)
	}
	f.inEntry, f.base = false, ""
	f.entry, f.ended = SitemapEntry{LastMod: f.date, Priority: defaultPriority}, true
	for i := f.first; i < len(f.doc.Links); i++ {
		if l := &f.doc.Links[i]; l.Kind == Entry {
			l.Text = f.title
			f.entry.Loc = cmp.Or(f.entry.Loc, resolve(f.doc.Base, l.Ref))
		}
	}
}

// add keeps a link.
func (f *feed) add(l Link) {
	if l.Ref == "" {
		return
	}
	if len(f.doc.Links) >= defaultMaxLinks {
		f.doc.Dropped++
		return
	}
	l.Ref = resolve(f.base, l.Ref)
	f.doc.Links = append(f.doc.Links, l)
}

// resolve returns ref resolved against base (RFC 3986 section 5.2), or ref itself if there is no base or one of them cannot be parsed. If
// base has no host, the result has none.
func resolve(base, ref string) string {
	if base == "" {
		return ref
	}
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	u, err := b.Parse(ref)
	if err != nil {
		return ref
	}
	if u.Host == "" && !strings.HasPrefix(base, "/") && !strings.HasPrefix(ref, "/") {
		return strings.TrimPrefix(u.String(), "/") // net/url makes a relative path absolute
	}
	return u.String()
}
