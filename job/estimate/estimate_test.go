package estimate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/quicktmp"
	"github.com/amble-crawler/amble/job"
)

func TestMain(m *testing.M) {
	quicktmp.Use()
	m.Run()
}

// list makes a site with a sitemap. Of every ten listed pages, one is gone, one redirects to an unlisted page, and one is forbidden.
func list(w *crawltest.Web, host string, pages int) string {
	s := w.Site(host)
	s.Robots("User-agent: *\nDisallow: /no/\nSitemap: " + s.URL("/map.xml") + "\n").Forbids("/no/*")
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range pages {
		at := fmt.Sprintf("/%d", i)
		switch i % 10 {
		case 0:
			s.Page(at, "gone").Status(404)
		case 1:
			s.Redirect(at, "/to"+at)
			s.Page("/to"+at, "<title>moved</title>")
		case 2:
			at = "/no" + at
			s.Page(at, "secret")
		default:
			s.Page(at, "<title>page</title>"+strings.Repeat("x", i))
		}
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>", s.URL(at))
	}
	s.Page("/map.xml", b.String()+"</urlset>").Type("application/xml")
	s.Page("/", "home")
	return s.URL("/")
}

// crawled crawls a sample, and returns a reader of the job.
func crawled(t *testing.T, w *crawltest.Web, n int, seeds ...string) *job.Reader {
	t.Helper()
	var c job.Config
	c.Crawl.Agent, c.Crawl.Contact = "testbot/1", "https://crawl.university.edu/"
	c.Crawl.Sample = crawler.Sample{N: n, Seed: "2026"}
	if n == 0 {
		c.Crawl.Sample = crawler.Sample{}
	}
	c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver = w.DialContext, w
	dir := filepath.Join(t.TempDir(), "job")
	j, err := job.Create(dir, c, seeds...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// If every listed page of a site is drawn, only pages without a response cause uncertainty. A redirect counts as the page that it leads
// to.
func TestCompleteListHasExactFigures(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		r := crawled(t, w, 100, list(w, "a.example", 50), list(w, "b.example", 0))
		res, err := Run(t.Context(), r, Question{Of: "fetch_status = 404"})
		if err != nil {
			t.Fatal(err)
		}
		if res.Sites != 1 || res.Frame != 50 || res.Drawn != 50 || res.Answered != 45 || res.Response != 0.9 || !res.Share {
			t.Errorf("%+v", res)
		}
		if want := []Silent{{"refused", "robots_disallow", 5}}; !reflect.DeepEqual(res.Silent, want) || len(res.Unlisted) != 1 {
			t.Errorf("silent %+v, unlisted %v", res.Silent, res.Unlisted)
		}
		g := res.Groups[0]
		if math.Abs(g.Mean-5.0/45) > 1e-9 || math.Abs(g.Listed-50) > 1e-9 || math.Abs(g.Bounds.Low-0.1) > 1e-9 || math.Abs(g.Bounds.High-0.2) > 1e-9 {
			t.Errorf("%+v, bounds %+v", g, g.Bounds)
		}

		res, err = Run(t.Context(), r, Question{Of: "bytes", By: "title"})
		if err != nil {
			t.Fatal(err)
		}
		pages := map[string]int{}
		for _, g := range res.Groups {
			if g.Value == nil {
				pages["NULL"] = g.Pages
			} else {
				pages[*g.Value] = g.Pages
			}
		}
		if want := map[string]int{"page": 35, "moved": 5, "NULL": 5}; !reflect.DeepEqual(pages, want) || res.Share {
			t.Errorf("groups %v, want %v", pages, want)
		}
	})
}

// Repeating a question about a job gives the same answer, byte for byte. The answer names the job.
func TestSameQuestionHasSameAnswer(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for i := range 12 {
			seeds = append(seeds, list(w, fmt.Sprintf("s%d.example", i), 30+20*i))
		}
		r := crawled(t, w, 20, seeds...)
		var texts [2]bytes.Buffer
		for i := range texts {
			res, err := Run(t.Context(), r, Question{Of: "title = 'page'", By: "url_protocol"})
			if err != nil {
				t.Fatal(err)
			}
			g := res.Groups[0]
			if res.Sites != 12 || g.OfAll == nil || g.OfAll.Low > g.Mean || g.OfAll.High < g.Mean || g.Of.Low > g.Mean || g.Of.High < g.Mean {
				t.Errorf("%+v, %+v", g, g.OfAll)
			}
			if err := res.WriteText(&texts[i]); err != nil {
				t.Fatal(err)
			}
		}
		text := texts[0].String()
		if text != texts[1].String() || !strings.Contains(text, "12 sites") || !strings.Contains(text, "if the seeds were drawn from them at random") {
			t.Errorf("%s\nand\n%s", text, texts[1].String())
		}
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 80 {
				t.Errorf("%d columns: %s", len([]rune(line)), line)
			}
		}
	})
}

func TestErrorsNameTheExpression(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		r := crawled(t, w, 5, list(w, "a.example", 20))
		for _, c := range []struct {
			q    Question
			by   bool
			want string
		}{
			{Question{Of: "nocolumn"}, false, "no such column: nocolumn"},
			{Question{Of: "count(*)"}, false, "misuse of aggregate"},
			{Question{Of: "title"}, false, "text and not numbers"},
			{Question{Of: "1) FROM visits; DROP TABLE visits; --"}, false, "syntax error"},
			{Question{Of: "1", By: "nobody"}, true, "no such column: nobody"},
			{Question{Of: ""}, false, "syntax error"},
		} {
			_, err := Run(t.Context(), r, c.q)
			var wrong *ExpressionError
			if !errors.As(err, &wrong) || wrong.By != c.by || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.q, err)
			}
		}
		if _, err := Run(t.Context(), r, Question{Of: "NULL"}); !errors.Is(err, errNoAnswer) {
			t.Errorf("no values: %v", err)
		}
		if _, err := Run(t.Context(), crawled(t, w, 0, list(w, "b.example", 3)), Question{Of: "1"}); !errors.Is(err, ErrNoSample) {
			t.Errorf("a job without a sample: %v", err)
		}
	})
}

// The mean of a single page has no interval, because one page does not show how much pages vary.
func TestMeanOfOnePageHasNoInterval(t *testing.T) {
	if _, in := mean([]unit{{0, 5, 300}}, false); in != nil {
		t.Errorf("the interval %+v", *in)
	}
	if _, in := mean([]unit{{0, 1, 300}}, false); in == nil || *in != (Interval{300, 300}) {
		t.Errorf("of the only page: %+v", in)
	}
}

// Only one site has pages without a response. The answered pages of this site represent them, and pages of the other site do not.
func TestAnsweredPagesRepresentUnansweredOnesOfTheirSite(t *testing.T) {
	s := &sample{sites: []site{
		{SiteDraw: crawler.SiteDraw{Site: "a", Drawn: 10, Probability: 0.1}, answered: 5, silent: 5},
		{SiteDraw: crawler.SiteDraw{Site: "b", Drawn: 10, Probability: 0.1}, answered: 10},
	}}
	for i := range 20 {
		p := drawn{site: i / 10, answered: i >= 5}
		p.value.Valid, p.value.Float64 = true, float64(1-i/10)
		s.pages = append(s.pages, p)
	}
	g := s.groups(true, nil)[0]
	if g.Mean != 0.5 || g.Listed != 200 || g.Bounds.Low != 0.25 || g.Bounds.High != 0.5 {
		t.Errorf("%+v, bounds %+v", g, g.Bounds)
	}
}
