package job_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job"
)

// TestInterimCountsVerdicts checks that the report on a crawl that was killed has the same verdicts, exclusions and costs as the crawl's
// final report.
func TestInterimCountsVerdicts(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = fmt.Fprint(w, "User-agent: *\nAllow: /\nLicense: /l.xml\n")
		case "/l.xml":
			_, _ = fmt.Fprint(w, `<rsl xmlns="https://rslstandard.org/rsl"><content url="/paid"><license><payment type="crawl"><amount currency="USD">0.25</amount></payment></license></content>`+
				`<content url="/closed"><license><prohibits type="usage">all</prohibits></license></content><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`)
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<a href=/paid/1>x</a><a href=/paid/2>x</a><a href=/closed>x</a><a href=/402>x</a><a href=/open>x</a>")
		case "/402":
			w.Header().Set("Crawler-Price", "USD 1")
			w.WriteHeader(http.StatusPaymentRequired)
		}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	c := job.Config{}
	c.Crawl.Politeness.Delay = time.Millisecond
	j, err := job.Start(dir, c, srv.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := j.Run(t.Context())
	if err != nil || j.Close() != nil {
		t.Fatal(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	in, err := r.Interim(m)
	if err != nil {
		t.Fatal(err)
	}
	got, want := fmt.Sprint(in.Report.Verdicts, in.Report.LeftOut, in.Report.Cost), fmt.Sprint(whole.Verdicts, whole.LeftOut, whole.Cost)
	if got != want || len(whole.Verdicts) != 3 || len(whole.Cost) != 2 {
		t.Errorf("%s\nat its end %s", got, want)
	}
}
