package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// required is the environment variable that makes a test fail if there is no browser.
const required = "TEST_BROWSER"

// unavailable skips the test. If a browser is required, it fails the test instead.
func unavailable(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv(required) == "required" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// find returns the path of Chromium, or "" if there is none.
func find() string {
	for _, name := range [...]string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// alone reports whether the loopback interface is the only network interface.
func alone() bool {
	all, err := net.Interfaces()
	if err != nil {
		return false
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return false
		}
	}
	return true
}

// Browser is a running Chromium.
type Browser struct {
	t    *testing.T
	conn *conn
}

// View configures how a page is shown.
type View struct {
	Width, Height int  // in pixels; the default is 1200 × 900
	Dark          bool // the reader prefers dark colours
	Still         bool // the reader prefers less motion
	NoScript      bool
}

// Page is a page in a Browser.
type Page struct {
	b       *Browser
	session string
}

// Start starts a browser, which is closed when the test ends. The test must be isolated: see [Isolate].
func Start(t *testing.T) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		unavailable(t, "there is no Chromium here (Debian: apt install chromium)")
	}
	if !alone() {
		t.Fatal("browsertest: there is a network here: call Isolate first")
	}
	c, err := launch(path, t.TempDir())
	if err != nil {
		unavailable(t, "Chromium does not start: %v", err)
	}
	t.Cleanup(c.close)
	return &Browser{t, c}
}

// Open opens a URL and waits until it is loaded.
func (b *Browser) Open(url string, v View) *Page {
	b.t.Helper()
	p := b.New(v)
	p.Navigate(url)
	return p
}

// New opens an empty page.
func (b *Browser) New(v View) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b, attached.SessionID}
	for _, domain := range [...]string{"Page", "Runtime", "Log", "Network"} {
		b.call(p.session, domain+".enable", nil, nil)
	}
	b.call(p.session, "Page.setLifecycleEventsEnabled", map[string]any{"enabled": true}, nil)
	p.Show(v)
	return p
}

// Show changes how the page is shown.
func (p *Page) Show(v View) {
	p.b.t.Helper()
	if v.Width == 0 {
		v.Width, v.Height = 1200, 900
	}
	if v.Height == 0 {
		v.Height = 900
	}
	scheme, motion := "light", "no-preference"
	if v.Dark {
		scheme = "dark"
	}
	if v.Still {
		motion = "reduce"
	}
	p.b.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": v.Width < 600}, nil)
	p.b.call(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
	}}, nil)
	p.b.call(p.session, "Emulation.setScriptExecutionDisabled", map[string]any{"value": v.NoScript}, nil)
}

// Navigate goes to a URL and waits until it is loaded.
func (p *Page) Navigate(url string) {
	p.b.t.Helper()
	var res struct{ ErrorText, LoaderID string }
	p.b.call(p.session, "Page.navigate", map[string]any{"url": url}, &res)
	if res.ErrorText != "" {
		p.b.t.Fatalf("%s: %s", url, res.ErrorText)
	}
	if !p.b.conn.await(func() bool { return p.b.conn.loaded(p.session, res.LoaderID) }, patience) {
		p.b.t.Fatalf("%s was not loaded", url)
	}
}

// patience limits the time of every operation of the browser.
const patience = time.Minute

// Eval evaluates JavaScript, waits for a promise, and stores the value in res, unless res is nil.
func (p *Page) Eval(script string, res any) {
	p.b.t.Helper()
	var out struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &out)
	if e := out.ExceptionDetails; e != nil {
		p.b.t.Fatalf("%.200s: %s %s", script, e.Text, e.Exception.Description)
	}
	if res != nil {
		if err := json.Unmarshal(out.Result.Value, res); err != nil {
			p.b.t.Fatalf("%.200s: %s: %v", script, out.Result.Value, err)
		}
	}
}

// Follow evaluates JavaScript that leads to another page, such as a click, and waits until that page is loaded.
func (p *Page) Follow(script string) {
	p.b.t.Helper()
	p.b.conn.mu.Lock()
	was := p.b.conn.loads(p.session)
	p.b.conn.mu.Unlock()
	p.Eval("setTimeout(() => {"+script+"}); 0", nil)
	if !p.b.conn.await(func() bool { return p.b.conn.loads(p.session) > was }, patience) {
		p.b.t.Fatalf("%.200s leads to no page: %s", script, p.Text())
	}
}

// Until waits until a JavaScript expression is true.
func (p *Page) Until(script string) {
	p.b.t.Helper()
	p.Eval(fmt.Sprintf(`new Promise((done, fail) => {
		const end = Date.now() + %d;
		const look = () => { if (%s) done(true); else if (Date.now() > end) fail(new Error("in vain")); else setTimeout(look, 20) };
		look();
	})`, patience.Milliseconds(), script), nil)
}

// Text returns the visible text of the page.
func (p *Page) Text() (text string) {
	p.b.t.Helper()
	p.Eval("document.body.innerText", &text)
	return text
}

// Beyond returns the width of the page minus that of its window, in pixels.
func (p *Page) Beyond() (pixels int) {
	p.b.t.Helper()
	p.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &pixels)
	return pixels
}

// Console returns the page's console output so far, and the browser's log entries about it.
func (p *Page) Console() []string { return p.b.conn.console(p.session) }

// Requests returns the URLs requested by the page so far, including its own.
func (p *Page) Requests() []string { return p.b.conn.requests(p.session) }

// Screenshot writes the whole page to a PNG file.
func (p *Page) Screenshot(file string) {
	p.b.t.Helper()
	var shot struct{ Data string }
	p.b.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		p.b.t.Error(err)
	}
}

// Send sends a command of the DevTools protocol to the page, and stores the reply in res, unless res is nil.
func (p *Page) Send(method string, params map[string]any, res any) {
	p.b.t.Helper()
	p.b.call(p.session, method, params, res)
}

func (b *Browser) call(session, method string, params map[string]any, res any) {
	b.t.Helper()
	out, err := b.conn.call(session, method, params, patience)
	if err == nil && res != nil {
		err = json.Unmarshal(out, res)
	}
	if err != nil {
		b.t.Fatalf("browser: %s: %v", method, err)
	}
}
