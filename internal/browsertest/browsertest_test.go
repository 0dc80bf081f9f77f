package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestABrowserSeesPagesOfItsOwnLoopbackOnly(t *testing.T) {
	if !Isolate(t) {
		return
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><style>@media (prefers-color-scheme:dark){p{color:#fff}}</style><p style="width:500px">hello</p><script>console.log("seen")</script>`)
	}))
	defer srv.Close()
	p := Start(t).Open(srv.URL, View{Width: 390, Dark: true})
	var colour string
	p.Eval(`getComputedStyle(document.querySelector("p")).color`, &colour)
	if p.Text() != "hello" || colour != "rgb(255, 255, 255)" || p.Beyond() < 100 {
		t.Errorf("%q in %s, %d pixels too wide", p.Text(), colour, p.Beyond())
	}
	if lines := p.Console(); len(lines) != 1 || !strings.Contains(lines[0], "seen") {
		t.Errorf("the console: %v", lines)
	}
	if urls := p.Requests(); len(urls) != 1 || urls[0] != srv.URL+"/" {
		t.Errorf("requests: %v", urls)
	}
}
