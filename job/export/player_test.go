package export_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

const playerPage = `<!doctype html><title>Player</title><body style="margin:0;height:100vh"><script src="/ui.js"></script>
<replay-web-page source="/job.wacz" url="https://www.one.example/" replayBase="/replay/" style="height:100vh"></replay-web-page>`

// allText is a JavaScript expression for the text of a document, including its frames and shadow trees.
const allText = `(function text(n) {
	let s = n.nodeType === 3 ? n.data : "";
	if (n.shadowRoot) s += text(n.shadowRoot);
	try { if (n.contentDocument) s += text(n.contentDocument) } catch (e) {}
	for (const c of n.childNodes) s += text(c);
	return s;
})(document)`

// The web archive player ReplayWeb.page shows the home page of an exported job. This project does not contain the player's files:
// TEST_REPLAYWEB names a directory with ui.js and sw.js, for example from npm pack replaywebpage.
func TestPlayer(t *testing.T) {
	files := os.Getenv("TEST_REPLAYWEB")
	if files == "" {
		t.Skip("TEST_REPLAYWEB names no directory with ui.js and sw.js of ReplayWeb.page: npm pack replaywebpage")
	}
	if !browsertest.Isolate(t) {
		return
	}
	path := write(t, exporttest.Job(t, true), export.WACZ())
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(playerPage))
	})
	for url, name := range map[string]string{"/ui.js": filepath.Join(files, "ui.js"), "/replay/sw.js": filepath.Join(files, "sw.js"), "/job.wacz": path} {
		mux.HandleFunc(url, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, name) })
	}
	srv := httptest.NewServer(mux)
	defer srv.Close()
	p := browsertest.Start(t).Open(srv.URL, browsertest.View{})
	p.Until(allText + `.includes("Home")`)
	if out := os.Getenv("TEST_SCREENSHOT"); out != "" {
		p.Screenshot(out)
	}
}
