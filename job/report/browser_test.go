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

// TestThePageInABrowser opens the report of a crawl of hostile sites from disk in a browser that has no network.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	if !browsertest.Isolate(t) {
		return
	}
	dir, r := crawled(t, 20*time.Millisecond)
	written(t, r)
	file := "file://" + filepath.Join(dir, job.PageName)
	b := browsertest.Start(t)
	for _, v := range []browsertest.View{{}, {Dark: true}, {Width: 390, Height: 844}, {Width: 640}, {Width: 800}, {Width: 1280}, {Width: 1440}, {NoScript: true}} {
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
		checkDrawing(t, p, v)
		for _, text := range p.Axe() {
			t.Errorf("%+v: %s", v, text)
		}
	}
}

// checkColours checks that the page's style applies in the colour scheme that the reader prefers, and that text from the sites is displayed
// as text.
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

// checkDrawing checks that pictures fit into the available width when everything is opened: no text is scaled or overlaps other text of its
// picture, and no picture extends beyond the edge.
func checkDrawing(t *testing.T, p *browsertest.Page, v browsertest.View) {
	t.Helper()
	var wrong []string
	p.Eval(`(() => {
		for (const d of document.querySelectorAll('details')) d.open = true;
		const wrong = [];
		for (const x of document.querySelectorAll('svg text')) {
			const m = x.getScreenCTM();
			if (Math.abs(m.a - 1) > 0.01 || Math.abs(m.d - 1) > 0.01) wrong.push('scaled: ' + x.textContent);
		}
		for (const svg of document.querySelectorAll('svg')) {
			const box = svg.getBoundingClientRect();
			if (box.left < 0 || box.right > innerWidth) wrong.push('beyond the edge: ' + svg.outerHTML.slice(0, 80));
			const all = [...svg.querySelectorAll('text')].map(x => x.getBoundingClientRect());
			for (let i = 1; i < all.length; i++) if (all[i].left < all[i-1].right) wrong.push('texts collide: ' + svg.textContent);
		}
		return wrong;
	})()`, &wrong)
	for _, text := range wrong {
		t.Errorf("%+v: %s", v, text)
	}
	if n := p.Beyond(); n > 0 {
		t.Errorf("%+v: with all opened, the page is %d pixels too wide", v, n)
	}
}

// TestTwentyHostsAreThreeScreens checks that hosts of the same kind are grouped in one row until it is opened, so that a report on twenty
// hosts fits on three screens of 900 pixels each.
func TestTwentyHostsAreThreeScreens(t *testing.T) {
	t.Parallel()
	if !browsertest.Isolate(t) {
		return
	}
	page, err := drawn(1000, 20).page()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), job.PageName)
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	p := browsertest.Start(t).Open("file://"+file, browsertest.View{Width: 1280})
	var height int
	if p.Eval("document.documentElement.scrollHeight", &height); height > 3*900 {
		t.Errorf("the page is %d pixels high", height)
	}
	var order []string
	p.Eval(`(() => {
		const group = document.querySelector('.group');
		group.open = true;
		document.querySelector('.by0').click();
		const top = x => x.getBoundingClientRect().top;
		return [...group.querySelectorAll('[role=rowheader]')].sort((a, b) => top(a) - top(b)).map(x => x.innerText.split(' ')[0]);
	})()`, &order)
	if len(order) < 5 || !slices.IsSorted(order) {
		t.Errorf("sorted by name: %q", order)
	}
	var shown []string
	p.Eval(`(() => {
		const list = document.querySelector('#broken').closest('details');
		list.open = true;
		list.querySelector('input.c2').click();
		return [...list.querySelectorAll('.urls tbody tr')].filter(r => r.offsetHeight > 0).map(r => r.cells[1].innerText);
	})()`, &shown)
	if len(shown) == 0 || slices.ContainsFunc(shown, func(s string) bool { return s != "500 internal server error" }) {
		t.Errorf("of the second cause: %q", shown)
	}
	if name := os.Getenv("TEST_SCREENSHOTS"); name != "" {
		p.Screenshot(filepath.Join(name, "twenty.png"))
	}
}
