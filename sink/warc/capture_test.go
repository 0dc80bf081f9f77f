package warc

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/sink"
)

// The document of a rendered page is stored as a conversion of the response. Its screenshot is stored with it under another URI. A revisit
// of the page keeps both, and readers of the archive still get the response as the page.
func TestRenderedPage(t *testing.T) {
	first, again, bare := page("http://x.test/1", "shell"), page("http://x.test/2", "shell"), page("http://x.test/3", "static")
	first.Rendered = &sink.Rendered{Why: "app_root", DOM: []byte("<p>made by a script"), Screenshot: []byte("\x89PNG")}
	again.Rendered = &sink.Rendered{Why: "app_root", Cut: "render_dom", DOM: []byte("<p>other")}
	bare.Rendered = &sink.Rendered{Why: "app_root", Cut: "render_crashed"}
	dir := t.TempDir()
	w := open(t, dir, Options{})
	add(t, w, first, again, bare)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	rs := read(t, dir)
	if got := kinds(rs); got != "warcinfo request response metadata conversion resource request revisit metadata conversion request response metadata" {
		t.Fatal(got)
	}
	dom, picture, cut := rs[4], rs[5], rs[9]
	if string(dom.Block) != "<p>made by a script" || dom.Get("WARC-Target-URI") != "http://x.test/1" || dom.Get("WARC-Refers-To") != rs[2].ID() || dom.Get("WARC-Truncated") != "" {
		t.Errorf("%v %q", dom.Fields, dom.Block)
	}
	if string(picture.Block) != "\x89PNG" || picture.Get("WARC-Target-URI") != "urn:view:http://x.test/1" || picture.Get("WARC-Concurrent-To") != rs[2].ID() {
		t.Errorf("%v", picture.Fields)
	}
	if cut.Get("WARC-Refers-To") != rs[7].ID() || cut.Get("WARC-Truncated") != "length" {
		t.Errorf("%v", cut.Fields)
	}
	if at := first.Rendered.WARC; at == nil || at.Offset != dom.Offset || at.Offset == first.WARC.Offset || bare.Rendered.WARC != nil {
		t.Errorf("the document is at %+v, not at %d", at, dom.Offset)
	}
	a, err := OpenArchive(strings.ToLower, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if x, err := a.Find("http://x.test/1"); err != nil || string(x.Payload) != "shell" || a.Len() != 3 {
		t.Errorf("%d answers, %v", a.Len(), err)
	}
}
