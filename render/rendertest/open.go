// Package rendertest supports tests of rendering.
//
// [Fake] is a renderer without a browser, for simulations in virtual time. [Browser] returns one with a real browser, where that is
// installed. [Open] shows a page of a handler in a real browser, without a socket. [Finish] runs a rendering to its last round.
package rendertest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/weburl"
)

// origin is the origin of the pages that Open shows.
const origin = "https://page.invalid"

// View configures how Open shows a page.
type View struct {
	// Seconds is the virtual time for which the page runs; 0: until nothing has changed for 5 seconds.
	Seconds float64
	// Time is the page's clock at the start; zero: the beginning of 2026.
	Time time.Time
	// Messy allows the page to write to its console.
	Messy bool
}

// Open shows the page of a handler in a real browser (see [Browser]) and returns its final state, with a screenshot. The handler answers
// the page's requests directly, without a socket. The test fails if the page makes a request to another origin or writes to its console. If
// the test has failed, the screenshot is written to the test's artifact directory.
//
// Each answer is delivered as a whole. So an event stream ends when the handler first flushes it, and further events come when the page
// reconnects.
func Open(t testing.TB, h http.Handler, path string, v View) *render.Result {
	t.Helper()
	return Show(t, Browser(t), h, path, v)
}

// Show is like Open, with a renderer that already runs.
func Show(t testing.TB, r Rounder, h http.Handler, path string, v View) *render.Result {
	t.Helper()
	page, err := weburl.Parse(origin + path)
	if err != nil {
		t.Fatal(err)
	}
	document := serve(t.Context(), h, render.Want{URL: page, Method: "GET", Accept: "text/html"})
	if v.Time.IsZero() {
		v.Time = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	res, err := r.Round(t.Context(), render.Task{
		URL: page, Document: *document, Agent: "amble-test/1", Time: v.Time, Screenshot: true,
		Stop: time.Duration(v.Seconds * float64(time.Second)),
		Have: func(w render.Want) render.Decision {
			if w.URL.Origin() != origin {
				t.Errorf("%s requests %s of another origin", path, w.URL)
				return render.Decision{Refuse: render.ReasonHost}
			}
			return render.Decision{Answer: serve(t.Context(), h, w)}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, res, path, v)
	return res
}

func check(t testing.TB, res *render.Result, path string, v View) {
	t.Helper()
	if res.Cut != "" && (res.Cut != render.CutTime || v.Seconds > 0) {
		t.Errorf("%s: %s", path, res.Cut)
	}
	if len(res.Console) > 0 && !v.Messy {
		t.Errorf("%s writes to its console:\n%s", path, strings.Join(res.Console, "\n"))
	}
	for _, f := range res.Requests {
		if f.Refused != "" {
			t.Errorf("%s: %s %s was refused: %s", path, f.Kind, f.URL, f.Refused)
		}
	}
	t.Cleanup(func() {
		if t.Failed() && len(res.Screenshot) > 0 {
			file := filepath.Join(t.ArtifactDir(), "page.png")
			t.Logf("%s as it was shown: %s (%v)", path, file, os.WriteFile(file, res.Screenshot, 0o644))
		}
	})
}

// serve returns the handler's answer to a request.
func serve(ctx context.Context, h http.Handler, w render.Want) *render.Answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := httptest.NewRequestWithContext(ctx, w.Method, w.URL.PathQuery(), http.NoBody)
	q.Host = w.URL.Authority()
	q.Header.Set("Accept", w.Accept)
	rec := &recorder{ResponseRecorder: httptest.NewRecorder(), cancel: cancel}
	h.ServeHTTP(rec, q)
	res := rec.Result()
	return &render.Answer{Status: res.StatusCode, Header: res.Header, Body: rec.Body.Bytes()}
}

// recorder is a ResponseWriter that ends the request of an event stream at the first flush.
type recorder struct {
	*httptest.ResponseRecorder
	cancel func()
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {
	r.ResponseRecorder.Flush()
	if strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream") && r.Body.Len() > 0 {
		r.cancel()
	}
}

// Browser returns a renderer with a real browser, which ends with the test. If there is no browser, or it cannot be isolated, the test is
// skipped with advice. It fails instead if the environment variable TEST_BROWSER is "required", as in package internal/browsertest.
func Browser(t testing.TB) *chromium.Renderer {
	t.Helper()
	return Configured(t, chromium.Config{})
}

// Configured is like Browser, with the given configuration.
func Configured(t testing.TB, c chromium.Config) *chromium.Renderer {
	t.Helper()
	r, err := chromium.New(t.Context(), c)
	if err != nil {
		Unavailable(t, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Unavailable ends a test that got this error instead of a browser: it is skipped if there is no browser and none is required.
func Unavailable(t testing.TB, err error) {
	t.Helper()
	var e *chromium.Error
	if errors.As(err, &e) && os.Getenv("TEST_BROWSER") != "required" {
		t.Skip(err)
	}
	t.Fatal(err)
}
