package chromium_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/render"
)

// A page may read the response of another origin, because the request had no credentials. The preflight request is answered without
// asking the other origin.
func TestPreflightIsNotSent(t *testing.T) {
	t.Parallel()
	r := common.get(t)
	other := newSite(t, files{"/data": `{"v": "from elsewhere"}`, "/lib.js": `export default "module from elsewhere"`})
	s := newSite(t, files{"/": fmt.Sprintf(`<!doctype html><p id=out></p><script type=module>
		const lib = await import("%[1]s/lib.js");
		const r = await fetch("%[1]s/data", {headers: {"X-Own": "1", "Authorization": "secret"}, credentials: "include"});
		out.textContent = (await r.json()).v + ", " + lib.default + ", " + r.headers.get("cache-control")</script>`, other.server.URL)})
	s.others = []*site{other}
	res := s.twice(r, "/", render.Policy{})
	if !strings.Contains(string(res.DOM), "from elsewhere, module from elsewhere, no-store") {
		t.Errorf("%s", res.DOM)
	}
	other.alone()
	for _, q := range other.requests {
		if !strings.HasPrefix(q, "GET ") {
			t.Errorf("the other site saw %s", q)
		}
	}
}

// A page that isolates itself from other origins can use their answers, as these were requested without credentials.
func TestIsolatedPageUsesOtherOrigins(t *testing.T) {
	t.Parallel()
	r := common.get(t)
	other := newSite(t, files{"/lib.js": `out.textContent = "run " + crossOriginIsolated`})
	s := newSite(t, files{"/": fmt.Sprintf(`<!doctype html><p id=out></p><script src="%s/lib.js"></script>`, other.server.URL)})
	s.header = http.Header{"Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Embedder-Policy": {"require-corp"}}
	s.others = []*site{other}
	if res := s.twice(r, "/", render.Policy{}); !strings.Contains(string(res.DOM), "run true") {
		t.Errorf("%s %+v %v", res.DOM, res.Requests, res.Console)
	}
}
