package live_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/live"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
)

// pauseOf returns the time for which the browser pauses the crawl: by default that of ten or twenty requests, otherwise the value of
// TEST_PAUSE. TestOrders pauses a crawl for a minute, in virtual time.
func pauseOf(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TEST_PAUSE")
	if text == "" {
		return time.Duration(long.N(500, 1000)) * time.Millisecond
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// servers represents sites on loopback that count their requests.
type servers struct {
	mu    sync.Mutex
	count map[string]int
}

// serve starts a site at a loopback address and returns its host:port.
func (s *servers) serve(t *testing.T, addr string, h http.HandlerFunc) string {
	t.Helper()
	ln, err := net.Listen("tcp", addr+":18400")
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.count[r.Host]++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		h(w, r)
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	return ln.Addr().String()
}

// of returns how many requests the hosts have received.
func (s *servers) of(hosts ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hosts {
		n += s.count[h]
	}
	return n
}

// endlessly serves pages that link to each other, and to a page that robots.txt forbids.
func endlessly(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /no\"><script>console.error('rule')</script>\u202e\n")
		return
	}
	if strings.Contains(r.URL.Path, "9") {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = fmt.Fprint(w, `<title></title><script>console.error("title")</script></title><a href="/no&quot;&gt;&lt;script&gt;console.error('rule')&lt;/script&gt;&#x202e;">no</a>`)
	for i := range 10 {
		_, _ = fmt.Fprintf(w, "<a href=%s/%d>page</a>", strings.TrimSuffix(r.URL.Path, "/"), i)
	}
}

// begin begins a job with its live page.
func begin(t *testing.T, dir string, seeds ...string) (o *live.Opening, j *job.Job, ended chan error) {
	t.Helper()
	o, err := live.Open("loopback:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := job.Config{Crawl: crawler.Config{Trace: &crawler.Trace{}, Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: 5000}}}
	cfg.Crawl.Politeness.Delay = 100 * time.Millisecond
	look := plan.NewOutlook(0)
	look.Trace(cfg.Crawl.Trace)
	o.Configure(&cfg.Crawl, true)
	if j, err = job.Create(dir, cfg, seeds...); err != nil {
		t.Fatal(err)
	}
	look.Watch(j, j.Crawler().Gate())
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := r.AuditConfig()
	if err != nil {
		t.Fatal(err)
	}
	o.Serve(live.Config{
		Seeds: seeds, Agent: "amble/test", Dir: dir, Limits: cfg.Crawl.Limits, Source: r.Follow(), Crawler: j.Crawler(), Outlook: look, Control: j,
		Why: func(url string, w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n  verdict  <b>refused</b>", url)
			return err
		},
	}, rules, r.RobotsBody)
	ended = make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		_, err := j.Run(ctx)
		ended <- err
	}()
	return o, j, ended
}

// TestInABrowser watches and controls a crawl in a real browser. One of the crawl's sites cannot be crawled.
func TestInABrowser(t *testing.T) {
	if !browsertest.Isolate(t) {
		return
	}
	s := &servers{count: map[string]int{}}
	a, b := s.serve(t, "127.0.0.2", endlessly), s.serve(t, "127.0.0.3", endlessly)
	down := s.serve(t, "127.0.0.4", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	dir := filepath.Join(t.TempDir(), "job")
	o, j, ended := begin(t, dir, "http://"+a+"/", "http://"+b+"/", "http://"+down+"/")
	defer o.Close()
	browser := browsertest.Start(t)
	p := browser.Open(o.URL(), browsertest.View{Width: 1280, Height: 1000})
	awaits := func(condition, what string) {
		t.Helper()
		var said string
		p.Eval(fmt.Sprintf(`new Promise(done => {
			const end = Date.now() + 20000;
			const look = () => { if (%s) done(""); else if (Date.now() > end) done(document.body.innerText); else setTimeout(look, 50) };
			look();
		})`, condition), &said)
		if said != "" {
			t.Fatalf("the page does not say %q: %s", what, said)
		}
	}
	says := func(text string) {
		t.Helper()
		awaits(fmt.Sprintf("document.body.innerText.includes(%q)", text), text)
	}
	in := func(host, text string) {
		t.Helper()
		awaits(fmt.Sprintf("[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes(%q) && r.innerText.includes(%q))", host, text), host+": "+text)
	}
	click := func(selector string) {
		t.Helper()
		p.Eval(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
	}
	order := func(host, action string) {
		t.Helper()
		awaits(fmt.Sprintf(`[...document.querySelectorAll('tbody tr')].find(r => r.querySelector("th")?.innerText === %q)?.querySelector("details")`, host), "what to do with "+host)
		p.Eval(fmt.Sprintf(`(() => {
			const row = [...document.querySelectorAll('tbody tr')].find(r => r.querySelector("th")?.innerText === %q);
			row.querySelector("details").open = true;
			row.querySelector('form[action=%q] button').click();
		})()`, host, action), nil)
	}

	says("none too early")
	in(down, "robots.txt 503")
	says("refused")
	p.Until("document.title.includes('pages of at most 5,000')")
	p.Until("[...document.querySelectorAll('#lanes path.got')].some(x => x.getAttribute('d').length > 100)")
	if out := os.Getenv("TEST_SCREENSHOTS"); out != "" {
		p.Until("document.querySelector('#stuck').innerText.length > 0 && parseInt(document.querySelector('.tile.got strong').innerText) > 150")
		p.Screenshot(filepath.Join(out, "live.png"))
		p.Show(browsertest.View{Width: 1280, Dark: true})
		p.Screenshot(filepath.Join(out, "live-dark.png"))
		p.Show(browsertest.View{Width: 390, Height: 800})
		p.Screenshot(filepath.Join(out, "live-phone.png"))
		p.Show(browsertest.View{Width: 1280, Height: 1000})
	}

	// An input with the focus keeps its text, although the page is rebuilt every second.
	p.Eval(`document.querySelector("#url").value = "http://half"; document.querySelector("#url").focus()`, nil)
	p.Eval(`window.row = document.querySelector("tbody details"); row.open = true; row.querySelector("input[name=delay]").value = "77s"`, nil)
	was := s.of(a)
	p.Until(fmt.Sprintf("document.querySelector('#polite .answer').innerText !== %q", "") + " && performance.now() > 0")
	p.Eval(fmt.Sprintf("new Promise(done => { let n = 0; new MutationObserver(() => { if (++n >= %d) done(0) }).observe(document.querySelector('#polite'), {subtree: true, childList: true, characterData: true}) })", long.N(2, 4)), nil)
	var kept []string
	p.Eval(`[document.querySelector("#url").value, document.activeElement.id, String(document.contains(row) && row.open)]`, &kept)
	if !slices.Equal(kept, []string{"http://half", "url", "true"}) || s.of(a) == was {
		t.Errorf("after some seconds: %q", kept)
	}
	p.Eval("row.open = false", nil)

	click("#pause button")
	p.Until("document.querySelector('#state').innerText === 'paused'")
	before := s.of(a, b, down)
	says("nothing is requested until it is resumed")
	wait := func(d time.Duration) {
		p.Eval(fmt.Sprintf("new Promise(done => setTimeout(done, %d))", d.Milliseconds()), nil)
	}
	wait(time.Second / 2)
	paused := s.of(a, b, down)
	pause := pauseOf(t)
	for left := pause; left > 0; left -= time.Second {
		wait(min(left, time.Second))
	}
	if under, n := paused-before, s.of(a, b, down)-paused; under > 2 || n > 0 {
		t.Errorf("%d requests were under way, %d in the pause of %v", under, n, pause)
	}
	t.Logf("no request in a pause of %v", pause)
	click("#resume button")
	p.Until("document.querySelector('#state').innerText === 'running'")
	order(a, "slower")
	in(a, "our setting for it")
	order(b, "leave-out")
	in(b, "left out")
	left := s.of(b)
	order(a, "leave-out")
	in(a, "left out")
	says("Waiting, as it must")
	says(down + ": robots.txt could not be fetched (503), next try in")
	if n := s.of(b) - left; n > 1 {
		t.Errorf("%d requests to the host that was left out", n)
	}

	var first string
	p.Eval(`(() => {
		const say = (id, text) => { const x = document.getElementById(id); x.value = text; x.dispatchEvent(new Event('input', {bubbles: true})); };
		const rows = () => [...document.querySelectorAll('#sites tbody tr')].filter(r => r.offsetHeight > 0).sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
		say('sort', '0');
		const all = rows().map(r => r.cells[0].innerText);
		say('filter', all[2]);
		const found = rows().map(r => r.cells[0].innerText);
		say('filter', '');
		return all.join(' ') + ': ' + found.join(' ');
	})()`, &first)
	if want := fmt.Sprintf("%s %s %s: %s", a, b, down, down); first != want {
		t.Errorf("sorted by name, and the last of them looked for: %q, want %q", first, want)
	}
	for _, v := range []browsertest.View{{Width: 390, Height: 800}, {Width: 640}, {Width: 800}, {Width: 1440}, {Width: 1280, Dark: true}, {Width: 1280, Still: true}} {
		p.Show(v)
		var wrong []string
		p.Eval(`[...document.querySelectorAll('svg')].filter(x => x.getBoundingClientRect().right > innerWidth).concat([...document.querySelectorAll('svg text')].filter(x => {
			const m = x.getScreenCTM();
			return Math.abs(m.a - 1) > 0.01 || Math.abs(m.d - 1) > 0.01 || x.previousElementSibling && x.previousElementSibling.getBoundingClientRect().right > x.getBoundingClientRect().left;
		})).map(x => x.outerHTML.slice(0, 80))`, &wrong)
		for _, text := range wrong {
			t.Errorf("%+v: beyond the edge, scaled or upon another text: %s", v, text)
		}
		if n := p.Beyond(); n > 0 {
			t.Errorf("%+v: %d pixels too wide", v, n)
		}
		for _, x := range p.Axe() {
			t.Errorf("%+v: %s", v, x)
		}
	}
	p.Show(browsertest.View{})
	base, _, _ := strings.Cut(o.URL(), "?")
	var here string
	p.Eval("location.origin + location.pathname", &here)
	if !strings.HasPrefix(here, base+"s/") {
		t.Errorf("the page is at %s, want it below %ss/", here, base)
	}
	p.Navigate(here + "?url=" + url.QueryEscape("http://"+down+"/?<i>"))
	says("verdict  <b>refused</b>")
	p.Until("document.querySelector('pre').innerText.includes('/?<i>')")

	plain := browser.New(browsertest.View{NoScript: true})
	plain.Navigate(here)
	var refresh string
	plain.Send("Page.enable", nil, nil)
	plain.Eval("document.querySelector('noscript meta')?.outerHTML ?? document.querySelector('noscript').innerHTML", &refresh)
	if !strings.Contains(refresh, "refresh") {
		t.Errorf("without scripts: %q, %s", refresh, plain.Text())
	}
	for again := 0; !strings.Contains(plain.Text(), "Waiting, as it must"); again++ { // the page is redrawn only from time to time
		if again == 200 {
			t.Fatalf("without scripts: %s", plain.Text())
		}
		plain.Navigate(here)
	}

	// The answer to an order may arrive after the message that the crawl is over, which must stay visible.
	p.Eval(`(() => {
		const come = new Promise(done => { window.answered = done }), fetched = window.fetch;
		window.fetch = (...of) => { window.order = fetched(...of).finally(() => come); return window.order };
	})()`, nil)
	p.Eval(`document.querySelector("#drain").open = true`, nil)
	click("#drain button")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	o.Close()
	says("The process that served this page has ended")
	p.Eval(`answered(); order.catch(() => {}).then(() => new Promise(done => setTimeout(() => done(0))))`, nil)
	says("The process that served this page has ended")
	for _, line := range slices.Concat(p.Console(), plain.Console()) {
		if !strings.Contains(line, "ERR_CONNECTION") {
			t.Error("the console:", line)
		}
	}
	for _, to := range p.Requests() {
		if !strings.HasPrefix(to, base) && !strings.HasPrefix(to, "data:") {
			t.Error("the page has requested", to)
		}
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if v, err := r.Verify(); err != nil || len(v.Violations) > 0 || v.Damaged() > 0 {
		t.Errorf("verification: %v %+v", err, v)
	}
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, c := range m.Last().Changes {
		actions = append(actions, c.Key)
	}
	if got, want := strings.Join(actions, " "), "pause resume slower leave-out leave-out drain"; got != want {
		t.Errorf("the manifest has %s, want %s", got, want)
	}
}
