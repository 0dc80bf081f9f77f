package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/job"
)

// TestThePageInABrowser opens the report of a hostile crawl from the disk, without a network, as a reader would.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	if !browsertest.Isolate(t) {
		return
	}
	dir, r := crawled(t, 20*time.Millisecond)
	written(t, r)
	file := "file://" + filepath.Join(dir, job.PageName)
	b := browsertest.Start(t)
	for _, v := range []browsertest.View{{}, {Dark: true}, {Width: 390, Height: 844}, {NoScript: true}} {
		p := b.Open(file, v)
		if lines := p.Console(); len(lines) > 0 {
			t.Errorf("%+v: the console says %v", v, lines)
		}
		if urls := p.Requests(); !slices.Equal(urls, []string{file}) {
			t.Errorf("%+v: the page requests %v", v, urls)
		}
		if n := p.Beyond(); n > 0 {
			t.Errorf("%+v: the page is %d pixels too wide", v, n)
		}
		if name := os.Getenv("TEST_SCREENSHOTS"); name != "" {
			p.Screenshot(filepath.Join(name, map[bool]string{false: "light", true: "dark"}[v.Dark]+map[bool]string{false: "", true: "-phone"}[v.Width > 0]+".png"))
		}
		if v.NoScript {
			continue
		}
		checkColours(t, p, v)
		for _, text := range p.Axe() {
			t.Errorf("%+v: %s", v, text)
		}
	}
}

// checkColours checks that the page's style is in force, and in the scheme that the reader prefers; and that what the sites
// wrote is text.
func checkColours(t *testing.T, p *browsertest.Page, v browsertest.View) {
	t.Helper()
	var background string
	p.Eval("getComputedStyle(document.body).backgroundColor", &background)
	if want := map[bool]string{false: "rgb(252, 252, 251)", true: "rgb(21, 24, 26)"}[v.Dark]; background != want {
		t.Errorf("%+v: the background is %s, want %s", v, background, want)
	}
	var scripts int
	p.Eval("document.querySelectorAll('script, img, iframe, link, object').length", &scripts)
	if scripts > 0 {
		t.Errorf("%+v: what a site wrote became %d elements", v, scripts)
	}
	if text := p.Text(); !strings.Contains(text, "✓ Polite") || !strings.Contains(text, "%22%3E%3Cscript%3E") {
		t.Errorf("%+v: the page reads %.2000s", v, text)
	}
}
