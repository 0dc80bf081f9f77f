package chromium_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

// app is a page that shows what its script received.
var app = files{
	"/":       `<!doctype html><p id=out></p><script src=/app.js></script>`,
	"/app.js": `fetch("/api").then(r => r.json()).then(j => out.textContent = j.v)`,
	"/api":    `{"v": "rendered"}`,
}

// chain is a page whose script imports another, and so on, n levels deep.
func chain(n int) files {
	f := files{"/": `<!doctype html><p id=out></p><script type=module>import v from "/m0.js"; const r = await fetch("/api"); out.textContent = v + (await r.json()).v + Math.random()</script>`, "/api": `{"v": "!"}`}
	for i := range n {
		f[fmt.Sprintf("/m%d.js", i)] = fmt.Sprintf(`import v from "/m%d.js"; document.body.append(%d); export default "%d" + v`, i+1, i, i)
	}
	f[fmt.Sprintf("/m%d.js", n)] = `export default "end"`
	return f
}

func TestParkedPagesAreACache(t *testing.T) {
	t.Parallel()
	none := rendertest.Configured(t, chromium.Config{Parked: -1, Tabs: 1})
	some := rendertest.Configured(t, chromium.Config{Parked: 4, Tabs: 1})
	n := long.N(3, 6)
	s := newSite(t, chain(n))
	a, b := s.page(none, "/", render.Policy{}), s.page(some, "/", render.Policy{})
	if !bytes.Contains(a.DOM, []byte("012345"[:n]+"end!0.")) || !bytes.Equal(a.DOM, b.DOM) || fmt.Sprint(a.Requests) != fmt.Sprint(b.Requests) {
		t.Errorf("without parked pages\n%s\n%v\nwith them\n%s\n%v", a.DOM, a.Requests, b.DOM, b.Requests)
	}
	if got := none.Info().Pages; got != 1+n+3 { // the page that proves that the browser works, and a page for each round
		t.Errorf("%d pages without parked pages", got)
	}
	if got := some.Info().Pages; got != 1+1 {
		t.Errorf("%d pages with parked pages", got)
	}
}

// If more pages are in progress than can be parked, the least recently used pages begin again, and all pages have the same result as alone.
func TestMorePagesThanCanBeParked(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Parked: 1, Tabs: 2})
	n := long.N(2, 3)
	s := newSite(t, chain(n))
	alone := s.page(r, "/", render.Policy{})
	var wait sync.WaitGroup
	for i := range 3 {
		wait.Go(func() {
			res := s.page(r, fmt.Sprint("/?", i), render.Policy{})
			if !bytes.Contains(res.DOM, []byte("012"[:n]+"end!")) || len(res.DOM) < len(alone.DOM)-4 {
				t.Errorf("page %d: %s", i, res.DOM)
			}
		})
	}
	wait.Wait()
	if n := r.Parked(); n > 1 {
		t.Errorf("%d pages are parked", n)
	}
}

func TestTabsDoNotMix(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 4})
	var wait sync.WaitGroup
	for i := range long.N(5, 8) {
		s := newSite(t, files{
			"/":     fmt.Sprintf(`<!doctype html><p id=out></p><script>new Worker("/w.js").onmessage = e => out.textContent = e.data + " page %d"</script>`, i),
			"/w.js": `new Worker("/w2.js").onmessage = e => postMessage(e.data)`, "/w2.js": `fetch("/api").then(r => r.json()).then(j => postMessage(j.v))`,
			"/api": fmt.Sprintf(`{"v": "answer %d"}`, i),
		})
		wait.Go(func() {
			res := s.page(r, "/", render.Policy{})
			if want := fmt.Sprintf("answer %d page %d", i, i); !strings.Contains(string(res.DOM), want) || res.Cut != "" {
				t.Errorf("no %q in %q %s %+v", want, res.Cut, res.DOM, res.Requests)
			}
			s.alone()
		})
	}
	wait.Wait()
}

func TestBrowsersAreRetired(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 1, MaxPages: 3, Parked: -1})
	s := newSite(t, app)
	seen := map[string]bool{}
	for range 3 {
		if res := s.page(r, "/", render.Policy{}); !bytes.Contains(res.DOM, []byte("rendered")) {
			t.Errorf("%s", res.DOM)
		}
		seen[fmt.Sprint(r.Processes())] = true
	}
	if i := r.Info(); i.Browsers > 1 || i.Pages != 1+3*3 {
		t.Errorf("%+v", i)
	}
	if len(seen) < 3 {
		t.Errorf("browsers %v", seen)
	}
}

func TestScreenshot(t *testing.T) {
	t.Parallel()
	r := common.get(t)
	s := newSite(t, files{"/": `<!doctype html><link rel=stylesheet href=/style.css><body>`, "/style.css": `html { background: rgb(10, 200, 30) }`})
	s.header = nil
	res := s.page(r, "/", render.Policy{Screenshot: true})
	img, err := png.Decode(bytes.NewReader(res.Screenshot))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != render.ViewportWide || b.Dy() != render.ViewportHigh {
		t.Errorf("the screenshot is %v", b)
	}
	if res.Requests[0].Refused != "" {
		t.Errorf("%+v", res.Requests)
	}
}

func TestRoundEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := common.get(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := r.Round(ctx, render.Task{
		URL: mustParse(t, "http://a.test/"), Document: render.Answer{Status: 200, Header: html, Body: []byte(app["/"])}, Time: fetched,
		Have: func(render.Want) render.Decision { cancel(); return render.Decision{} },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s := newSite(t, app)
	if res := s.page(r, "/", render.Policy{}); !bytes.Contains(res.DOM, []byte("rendered")) {
		t.Errorf("afterwards: %s", res.DOM)
	}
}

func TestClosedRenderer(t *testing.T) {
	t.Parallel()
	r := rendertest.Browser(t)
	task := render.Task{
		URL: mustParse(t, "http://a.test/"), Document: render.Answer{Status: 200, Header: html, Body: []byte(app["/"])}, Time: fetched,
	}
	if _, err := r.Round(t.Context(), task); !errors.Is(err, chromium.ErrTask) {
		t.Errorf("without Have: %v", err)
	}
	task.Have = func(render.Want) render.Decision {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		return render.Decision{}
	}
	if _, err := r.Round(t.Context(), task); !errors.Is(err, chromium.ErrClosed) {
		t.Errorf("closed in a round: %v", err)
	}
	if _, err := r.Round(t.Context(), task); !errors.Is(err, chromium.ErrClosed) {
		t.Errorf("closed before a round: %v", err)
	}
}

// A Round that ends while its page waits leaves nothing behind except, at most, the parked page.
func TestDirectoriesAreRemoved(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	if err := openUp(temp); err != nil {
		t.Fatal(err)
	}
	r := rendertest.Configured(t, chromium.Config{TempDir: temp})
	s := newSite(t, app)
	s.page(r, "/", render.Policy{})
	if dirs, _ := filepath.Glob(filepath.Join(temp, "*")); len(dirs) != 1 {
		t.Errorf("while a browser lives: %v", dirs)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if dirs, _ := filepath.Glob(filepath.Join(temp, "*")); len(dirs) != 0 {
		t.Errorf("afterwards: %v", dirs)
	}
}

// openUp lets every user enter a directory and its parents that belong to the test.
func openUp(dir string) error {
	for ; strings.HasPrefix(dir, filepath.Clean(os.TempDir())+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// The animation frames that a page observes do not depend on other pages.
func TestFramesOfOtherTabs(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Tabs: 4, Parked: -1})
	s := newSite(t, files{"/": `<!doctype html><div id=box style="position: absolute; animation: a 10s linear">.</div><style>@keyframes a { to { left: 100000px } }</style><p id=out></p><script>
		const times = []; requestAnimationFrame(function f(ts) { times.push(ts + ":" + box.offsetLeft); out.textContent = times.join(" ");
			if (times.length < 30) requestAnimationFrame(f) })</script>`})
	alone := s.page(r, "/", render.Policy{})
	var wait sync.WaitGroup
	for range long.N(5, 8) {
		wait.Go(func() {
			if res := s.page(r, "/", render.Policy{}); !bytes.Equal(res.DOM, alone.DOM) {
				t.Errorf("alone\n%.400s\namong others\n%.400s", alone.DOM, res.DOM)
			}
		})
	}
	wait.Wait()
}

// Requests that no caller may allow are refused without calling Have.
func TestRefusedWithoutBeingAsked(t *testing.T) {
	t.Parallel()
	r := common.get(t)
	asked := []string{}
	res, err := r.Round(t.Context(), render.Task{
		URL: mustParse(t, "http://a.test/"), Time: fetched, Document: render.Answer{Status: 200, Header: html, Body: []byte(`<!doctype html><p id=out></p>
			<a id=a target=_blank href=/window>a</a><a id=b ping=/ping href=/self>b</a><form id=f action=/form method=post></form><script>
			fetch("/post", {method: "POST"}); fetch("/head", {method: "HEAD"}); navigator.sendBeacon("/beacon"); a.click(); b.click(); f.submit(); location = "/gone";
			fetch("http://b.test/cross", {headers: {"X-A": "1"}}); fetch("/yes").then(() => setTimeout(() => out.textContent = "done", 1000))</script>`)},
		Have: func(w render.Want) render.Decision {
			asked = append(asked, w.Method+" "+w.URL.String())
			return render.Decision{Answer: &render.Answer{Status: 200, Header: html, Body: []byte("answered")}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(res.DOM, []byte("done")) {
		t.Errorf("%s", res.DOM)
	}
	slices.Sort(asked)
	if want := []string{"GET http://a.test/yes", "GET http://b.test/cross"}; !slices.Equal(asked, want) {
		t.Errorf("requested %q, want %q", asked, want)
	}
}

// A parked page that continues calls the Have of the next round's task.
func TestParkedPageAsksTheNextTask(t *testing.T) {
	t.Parallel()
	r := rendertest.Configured(t, chromium.Config{Parked: 1})
	task := render.Task{
		URL: mustParse(t, "http://a.test/"), Document: render.Answer{Status: 200, Header: html, Body: []byte(app["/"])}, Time: fetched,
		Have: func(render.Want) render.Decision { return render.Decision{} },
	}
	res, err := r.Round(t.Context(), task)
	if err != nil || len(res.Missing) != 1 || res.Missing[0].URL.Path() != "/app.js" || res.Missing[0].Kind != render.KindScript {
		t.Fatalf("%+v, %v", res, err)
	}
	task.Have = func(w render.Want) render.Decision {
		return render.Decision{Answer: &render.Answer{Status: 200, Header: http.Header{}, Body: []byte(app[w.URL.Path()])}}
	}
	if res, err = r.Round(t.Context(), task); err != nil || !bytes.Contains(res.DOM, []byte("rendered")) {
		t.Errorf("%+v, %v", res, err)
	}
	if n := r.Info().Pages; n != 2 {
		t.Errorf("%d pages", n)
	}
}
