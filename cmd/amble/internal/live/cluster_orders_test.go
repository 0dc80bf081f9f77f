package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// TestClusterOrdersOnThePage gives orders on the page of a cluster's job and checks their effect. The page refuses orders without its
// token, from pages of other sites, by GET requests, and for a job that is over.
func TestClusterOrdersOnThePage(t *testing.T) {
	synctest.Test(t, testClusterOrdersOnThePage)
}

func testClusterOrdersOnThePage(t *testing.T) {
	e := mem.New().Connect()
	c, err := job.Settings{{Name: "contact", Values: []string{"me@university.edu"}}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Create(t.Context(), e, &work.Spec{Config: c, Seeds: []weburl.URL{u}, Shards: 2}); err != nil {
		t.Fatal(err)
	}
	page := NewCluster(ClusterConfig{
		Name: "shops", Watcher: &work.Watcher{Engine: e}, Metrics: http.NotFoundHandler(), Ready: func() error { return nil },
		Operator: &work.Operator{Engine: e, Name: "the page of n1"},
	})
	g := newGuard("127.0.0.1:4000", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000})
	h := g.protect(page.handler())
	do := func(method, path, body, header, value string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:4000"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+g.token)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if header != "" {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, x := range []struct {
		method, path, body, header, value string
		status                            int
		says                              string
	}{
		{"POST", "/pause", "", "Authorization", "", 401, "token"},
		{"POST", "/pause", "", "Sec-Fetch-Site", "cross-site", 403, ""},
		{"POST", "/drain", "", "Origin", "https://evil.test", 403, ""},
		{"GET", "/pause", "", "", "", 405, ""},
		{"POST", "/slower", "host=a.example&delay=soon", "", "", 400, "want a delay"},
		{"POST", "/slower", "host=a.example&delay=1ms", "", "", 400, "can only be lengthened"},
		{"POST", "/leave-out", "host=http://a.example/", "", "", 400, "is not a host"},
		{"POST", "/leave-out", "host=" + strings.Repeat("a", 9<<10), "", "", 400, "too large"},
	} {
		if w := do(x.method, x.path, x.body, x.header, x.value); w.Code != x.status || !strings.Contains(w.Body.String(), x.says) {
			t.Errorf("%+v: %d %s", x, w.Code, w.Body)
		}
	}
	if all, err := cluster.LoadOrders(t.Context(), e); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
	shows := func(text string) {
		t.Helper()
		if body := do("GET", "/", "", "", "").Body.String(); !strings.Contains(body, text) {
			t.Errorf("no %q: %s", text, body)
		}
	}
	order := func(path, body string) {
		t.Helper()
		if w := do("POST", path, body, "", ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	shows(`action="pause"`)
	order("/pause", "")
	shows(`action="resume"`)
	order("/leave-out", "host=b.example")
	order("/slower", "host=a.example&delay=10")
	order("/resume", "")
	shows(`action="pause"`)
	order("/drain", "")
	if body := do("GET", "/", "", "", "").Body.String(); strings.Contains(body, "<form method") || !strings.Contains(body, "stopped") {
		t.Errorf("a job that is over: %s", body)
	}
	all, err := cluster.LoadOrders(t.Context(), e)
	if err != nil || len(all) != 5 || all[2].To != "a.example 10s" || all[2].By != "the page of n1" {
		t.Errorf("%+v, %v", all, err)
	}
	if w := do("POST", "/pause", "", "", ""); w.Code != 400 || !strings.Contains(w.Body.String(), strings.TrimPrefix(cluster.ErrOver.Error(), "cluster: ")) {
		t.Errorf("an order to a job that is over: %d %s", w.Code, w.Body)
	}
	e.Cut(true)
	if w := do("POST", "/resume", "", "", ""); w.Code != 400 || w.Body.Len() == 0 {
		t.Errorf("while the engine is away: %d %s", w.Code, w.Body)
	}
}
