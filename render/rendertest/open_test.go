package rendertest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/amble-crawler/amble/render/rendertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live serves a page that polls its server and listens to events.
func live() http.Handler {
	mux := http.NewServeMux()
	polls, streams := 0, 0
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><link rel=stylesheet href=/style.css><p id=polls></p><p id=events></p><p id=clock></p><script>
			setInterval(() => fetch("/poll").then(r => r.text()).then(t => polls.textContent = t), 1000);
			new EventSource("/events").onmessage = e => events.textContent += e.data + ";";
			clock.textContent = new Date().toISOString();
		</script>`)
	})
	mux.HandleFunc("/style.css", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/css") })
	mux.HandleFunc("/poll", func(w http.ResponseWriter, _ *http.Request) { polls++; fmt.Fprint(w, polls) })
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		streams++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "retry: 2000\ndata: stream %d\n\n", streams)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the next event would arrive much later
	})
	return mux
}

func TestOpen(t *testing.T) {
	res := rendertest.Open(t, live(), "/", rendertest.View{Seconds: 3.6})
	for _, want := range []string{`<p id="polls">3</p>`, `<p id="events">stream 1;stream 2;</p>`, `<p id="clock">2026-01-01T00:00:00.0`} {
		if !strings.Contains(string(res.DOM), want) {
			t.Errorf("no %q in %s", want, res.DOM)
		}
	}
	if !strings.HasPrefix(string(res.Screenshot), "\x89PNG") {
		t.Errorf("a screenshot of %d bytes", len(res.Screenshot))
	}
}

// broken is a test that records failures instead of failing.
type broken struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (b *broken) Errorf(format string, args ...any) {
	b.errors = append(b.errors, fmt.Sprintf(format, args...))
}
func (b *broken) Error(args ...any)               { b.Errorf("%s", fmt.Sprint(args...)) }
func (b *broken) Cleanup(f func())                { b.cleanups = append(b.cleanups, f) }
func (b *broken) Failed() bool                    { return len(b.errors) > 0 }
func (b *broken) Context() context.Context        { return b.TB.Context() }
func (b *broken) Logf(format string, args ...any) { b.Errorf(format, args...) }
func (b *broken) Helper()                         {}

func TestShowSeesWhatIsWrong(t *testing.T) {
	r := rendertest.Browser(t)
	for page, want := range map[string]string{
		`<script>console.error("oh")</script>`:           "writes to its console:\nerror: oh",
		`<script>undefined.x</script>`:                   "writes to its console:\nexception: Uncaught TypeError",
		`<img src="https://elsewhere.test/x.png">`:       "requests https://elsewhere.test/x.png of another origin",
		`<script>fetch("/x", {method: "POST"})</script>`: "/x was refused: method",
	} {
		b := &broken{TB: t}
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html>"+page)
		})
		rendertest.Show(b, r, h, "/", rendertest.View{})
		for _, f := range b.cleanups {
			f()
		}
		all := strings.Join(b.errors, "\n")
		if !strings.Contains(all, want) {
			t.Errorf("%s: no %q in %q", page, want, all)
		}
		if !strings.Contains(all, "page.png") {
			t.Errorf("%s: no screenshot in %q", page, all)
		}
	}
}
