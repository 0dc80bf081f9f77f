package crawler

import (
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/charset"
)

// open prepares the linker to resolve the visit's links.
func (k *linker) open(v *Visit) {
	k.encoder = v.encoder()
	k.res.Reset(v.base())
}

// resolve resolves a link of the visit that was opened. The encoding of a page applies to references in its
// elements, not to those in CSS (CSS Values 4, section "URL processing model") or in Link header fields.
func (k *linker) resolve(l *extract.Link) (weburl.View, error) {
	if l.Tag == "" || l.Kind == extract.Style || l.Kind == extract.Import {
		return k.res.Resolve(l.Ref)
	}
	return k.res.ResolveIn(k.encoder, l.Ref)
}

// encoder returns the encoder for the queries of references on the visit's page (HTML Standard section
// 2.4.3). nil is UTF-8.
func (v *Visit) encoder() weburl.Encoder {
	if v.Page == nil || !v.Page.IsHTML() {
		return nil
	}
	return charset.Encoder(v.content().Charset)
}

// base returns the URL that the visit's links are relative to. It is zero, so that only absolute references
// have a meaning, when the document names a base that cannot be requested: a browser accepts "mailto:" as a
// base, too, and falls back to the address of the page only if the base is not a URL at all (HTML Standard
// section 4.2.3, set the frozen base URL).
func (v *Visit) base() weburl.URL {
	if v.Doc == nil || v.Doc.Base == "" {
		return v.URL
	}
	b, err := v.URL.ResolveIn(v.encoder(), v.Doc.Base)
	if weburl.ReasonOf(err) == weburl.ReasonSyntax {
		return v.URL
	}
	return b
}

// target resolves a reference that is not a link of the document as if it were one.
func (v *Visit) target(ref string) (weburl.URL, error) { return v.base().ResolveIn(v.encoder(), ref) }
