package crawler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

func rsl(attributes, contents string) string {
	return `<rsl xmlns="https://rslstandard.org/rsl"` + attributes + `>` + contents + `</rsl>`
}

const noTraining = `<content url="/"><license><prohibits type="usage">ai-train</prohibits></license></content>`

func purposes(ps ...consent.Purpose) crawler.Config {
	return crawler.Config{Politeness: politeness.Config{Purposes: ps}}
}

// allowRepeats permits repeated requests for documents.
func allowRepeats(w *crawltest.Web) {
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
}

func TestLicenseOfRobotsIsReadBeforePages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nAllow: /\n\nLicense: /license.xml\n")
		s.Page("/license.xml", rsl("", noTraining+`<content url="/free"><license><permits type="usage">all</permits></license></content>`)).Type(consent.MediaType)
		s.Page("/", links("/free"))
		s.Page("/free", links("/"))
		_, v := crawl(t, w, purposes(consent.TrainAI), s.URL("/"), s.URL("/free"))
		v.expect(t, map[string]string{s.URL("/"): "refused 0 usage_signal", s.URL("/free"): "fetched 200"})
		w.MustNotRequest(s.URL("/"))
		w.MustOrder(s.URL("/robots.txt"), s.URL(consent.TDMPath), s.URL("/license.xml"), s.URL("/free"))
		for _, path := range []string{"/license.xml", consent.TDMPath} {
			if n := w.Count(s.URL(path)); n != 1 {
				t.Errorf("%s was requested %d times", path, n)
			}
		}
		x := v.by[s.URL("/")]
		if want := "refused: train-ai is forbidden by license: prohibits usage ai-train (http://a.example/license.xml)"; x.Detail != want {
			t.Errorf("%s, want %s", x.Detail, want)
		}
		if len(x.Terms.Files) != 3 || x.Terms.Files[2].SHA256 == "" || x.Terms.Files[2].Fetched.IsZero() {
			t.Errorf("%+v", x.Terms.Files)
		}
	})
}

func TestReservationFileIsReadOnlyForPurposesItForbids(t *testing.T) {
	for _, c := range []struct {
		purpose consent.Purpose
		file    string
		status  int
		want    string
		asked   int
	}{
		{consent.TrainAI, `[{"location":"/","tdm-reservation":1}]`, 200, "refused 0 usage_signal", 1},
		{consent.AIInput, `[{"location":"/","tdm-reservation":1}]`, 200, "refused 0 usage_signal", 1},
		{consent.Research, `[{"location":"/","tdm-reservation":1}]`, 200, "fetched 200", 0},
		{consent.Search, `[{"location":"/","tdm-reservation":1}]`, 200, "fetched 200", 0},
		{consent.TrainAI, `[{"location":"/private","tdm-reservation":1}]`, 200, "fetched 200", 1},
		{consent.TrainAI, "<html>not found", 200, "fetched 200", 1},
		{consent.TrainAI, "", 404, "fetched 200", 1},
		{consent.TrainAI, "", 403, "fetched 200", 1},
		{consent.TrainAI, "", 500, "refused 0 usage_signal", 3}, // the site's reservations are unknown
	} {
		t.Run(fmt.Sprint(c.purpose, " ", c.status, " ", c.file), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Page("/", "")
				s.Page(consent.TDMPath, c.file).Status(c.status)
				_, v := crawl(t, w, purposes(c.purpose), s.URL("/"))
				if got := v.line(s.URL("/")); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				if n := w.Count(s.URL(consent.TDMPath)); n != c.asked {
					t.Errorf("requested %d times, want %d", n, c.asked)
				}
			})
		})
	}
}

// A named licence that cannot be read forbids ai-input and train-ai, and does not affect other purposes.
func TestUnreadableLicensesForbid(t *testing.T) {
	for name, build := range map[string]func(s, other *crawltest.Site) (license string){
		"missing": func(*crawltest.Site, *crawltest.Site) string { return "/no" },
		"junk": func(s, _ *crawltest.Site) string {
			s.Page("/l", "<html><p>licence")
			return "/l"
		},
		"10 MB": func(s, _ *crawltest.Site) string {
			s.Page("/l", rsl("", strings.Repeat(" ", 10<<20)+noTraining))
			return "/l"
		},
		"entities": func(s, _ *crawltest.Site) string {
			s.Page("/l", `<!DOCTYPE rsl [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>`+rsl("", `<content url="/"><license><permits type="usage">&b;</permits></license></content>`))
			return "/l"
		},
		"depth": func(s, _ *crawltest.Site) string {
			s.Page("/l", rsl("", strings.Repeat("<content>", 10_000)))
			return "/l"
		},
		"forbidden": func(s, _ *crawltest.Site) string {
			s.Page("/closed/l", rsl("", ""))
			return "/closed/l"
		},
		"forbidden by the other host": func(_, other *crawltest.Site) string {
			other.Robots("User-agent: *\nDisallow: /\n").Forbids("/")
			other.Page("/l", rsl("", ""))
			return other.URL("/l")
		},
		"redirects in a circle": func(s, _ *crawltest.Site) string {
			s.Redirect("/l", "/m")
			s.Redirect("/m", "/l")
			return "/l"
		},
		"redirects to nowhere": func(s, _ *crawltest.Site) string {
			s.Page("/l", "").Status(302)
			return "/l"
		},
		"no host":  func(*crawltest.Site, *crawltest.Site) string { return "http://gone.example/l" },
		"no crawl": func(*crawltest.Site, *crawltest.Site) string { return "ftp://a.example/l" },
		"failing": func(s, _ *crawltest.Site) string {
			s.Page("/l", "").Status(503)
			return "/l"
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []consent.Purpose{consent.TrainAI, consent.Research} {
				crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
					s, other := w.Site("http://a.example"), w.Site("http://b.example")
					license := build(s, other)
					s.Robots("User-agent: *\nDisallow: /closed\n\nLicense: " + license + "\n").Forbids("/closed")
					s.Page("/", "")
					cfg := config(w, purposes(p))
					allowRepeats(w)
					v := &visits{}
					cfg.Handler = v
					cr, err := crawler.New(cfg)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
						t.Fatal(err)
					}
					want := "refused 0 usage_signal"
					if p == consent.Research || name == "no crawl" {
						want = "fetched 200"
					}
					if got := v.line(s.URL("/")); got != want {
						t.Errorf("%s: %s (%s), want %s", p, got, v.by[s.URL("/")].Detail, want)
					}
				})
			}
		})
	}
}

func TestLicenseOnAnotherHost(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		a, b, l := w.Site("http://a.example"), w.Site("http://b.example"), w.Site("http://licenses.example")
		for _, s := range []*crawltest.Site{a, b} {
			s.Robots("User-agent: *\nAllow: /\nLicense: http://licenses.example/moved\n")
			s.Page("/", links("/1", "/2"))
			s.Page("/1", "")
			s.Page("/2", "")
		}
		l.Redirect("/moved", "/l.xml")
		l.Page("/l.xml", rsl("", `<content url="http://a.example/"><license><prohibits type="usage">all</prohibits></license></content>`))
		_, v := crawl(t, w, crawler.Config{}, a.URL("/"), b.URL("/"))
		v.expect(t, map[string]string{
			a.URL("/"): "refused 0 usage_signal", b.URL("/"): "fetched 200", b.URL("/1"): "fetched 200", b.URL("/2"): "fetched 200",
		})
		if w.Count(l.URL("/l.xml")) != 1 || w.Count(l.URL("/robots.txt")) != 1 {
			t.Error("the document is requested once for both sites")
		}
	})
}

// A page whose header or link element names a licence is requested once, but only used after the licence is read.
func TestLicenseThatAPageNames(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/l.xml", rsl("", noTraining))
		s.Page("/ordinary", "a licence for people")
		s.Page("/", links("/link", "/other", "/after"))
		s.Page("/other", `<link rel="license" href="/ordinary">`)
		s.Page("/link", `<link rel="license" type="application/rsl+xml" href="l.xml">`+links("/behind"))
		s.Page("/after", links("/behind")).Header("Link", `</l.xml>; rel="license"; type="application/rsl+xml"`)
		s.Page("/behind", "")
		_, v := crawl(t, w, purposes(consent.TrainAI), s.URL("/"))
		v.expect(t, map[string]string{
			s.URL("/"): "fetched 200", s.URL("/other"): "fetched 200",
			s.URL("/link"): "refused 200 usage_signal", s.URL("/after"): "refused 200 usage_signal",
		})
		w.MustNotRequest(s.URL("/behind"), s.URL("/ordinary"))
	})
}

// The document's max-age is in days; HTTP freshness ends earlier.
func TestChangedLicenseIsObeyedAfterItsMaxAge(t *testing.T) {
	for _, c := range []struct {
		header string
		change time.Duration // time of the request for a page that only the new document forbids
		want   string
	}{
		{"", 40 * time.Hour, "fetched 200"},
		{"", 50 * time.Hour, "refused 0 usage_signal"},
		{"max-age=3600", 2 * time.Hour, "refused 0 usage_signal"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := w.Site("http://a.example")
				s.Robots("User-agent: *\nAllow: /\nLicense: /l.xml\n")
				old, changed := s.Page("/l.xml", rsl(` max-age="2"`, "")), s.Page("/l.xml", rsl("", noTraining)).At(time.Hour)
				if c.header != "" {
					old.Header("Cache-Control", c.header)
					changed.Header("Cache-Control", c.header)
				}
				s.Page("/", links("/late"))
				s.Page("/late", "")
				v := &visits{}
				cfg := config(w, purposes(consent.TrainAI))
				allowRepeats(w)
				cfg.Handler = crawler.HandlerFunc(func(ctx context.Context, x *crawler.Visit) error {
					if x.URL.PathQuery() == "/" {
						time.Sleep(c.change)
					}
					return v.Handle(ctx, x)
				})
				cr, err := crawler.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := cr.Run(t.Context(), s.URL("/")); err != nil {
					t.Fatal(err)
				}
				if got := v.line(s.URL("/late")); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		})
	}
}

// A resumed crawl uses the documents it has already read, and does not request them again.
func TestLicenseOutlivesTheProcess(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nAllow: /\nLicense: /l.xml\n")
		s.Page("/l.xml", rsl("", `<content url="/late"><license><prohibits type="usage">ai-train</prohibits></license></content>`))
		s.Page("/", links("/late"))
		s.Page("/late", "")
		j := job{t, t.TempDir()}
		ctx, kill := context.WithCancel(t.Context())
		cfg := config(w, purposes(consent.TrainAI))
		cfg.Trace = &crawler.Trace{Visited: func(*crawler.Visit) { kill() }}
		_, _ = j.run(ctx, cfg, s.URL("/"))
		if _, err := j.run(t.Context(), config(w, purposes(consent.TrainAI)), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		w.MustNotRequest(s.URL("/late"))
		if got := j.records()[s.URL("/late")]; got.Reason != politeness.ReasonUsage {
			t.Errorf("%+v", got)
		}
		for _, path := range []string{"/l.xml", consent.TDMPath} {
			if n := w.Count(s.URL(path)); n != 1 {
				t.Errorf("%s was requested %d times", path, n)
			}
		}
	})
}

// The number of documents that a host can make a crawl request is limited.
func TestDocumentsOfASiteAreBounded(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		var refs []string
		for i := range 100 {
			refs = append(refs, fmt.Sprint("/", i))
			s.Page(fmt.Sprint("/", i), "").Header("Link", fmt.Sprintf(`</l/%d>; rel=license; type="application/rsl+xml"`, i))
			s.Page(fmt.Sprint("/l/", i), rsl("", ""))
		}
		s.Page("/", links(refs...))
		_, v := crawl(t, w, purposes(consent.TrainAI), s.URL("/"))
		n := 0
		for _, u := range w.Visited("a.example") {
			if strings.Contains(u, "/l/") {
				n++
			}
		}
		if n != 63 { // and one tdmrep.json, 64 documents in all
			t.Errorf("%d documents were requested", n)
		}
		if got := v.line(s.URL("/99")); got != "refused 200 usage_signal" {
			t.Error(got)
		}
	})
}

// If there is no room to keep a page while it waits for a document, the page is requested once more, but not endlessly.
func TestLargePageThatNamesADocument(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Page("/", strings.Repeat(" ", 65<<20)).Header("Link", `</l.xml>; rel=license; type="application/rsl+xml"`)
		s.Page("/l.xml", rsl("", `<content url="/"><license><permits type="usage">all</permits></license></content>`))
		c := purposes(consent.TrainAI)
		c.Fetch.MaxBody, c.Limits.Time = 70<<20, time.Minute
		v := &visits{}
		c.Handler = v
		c = config(w, c)
		w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact, AllowRepeats: true})
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Run(t.Context(), s.URL("/")); err != nil {
			t.Fatal(err)
		}
		if got, n := v.line(s.URL("/")), w.Count(s.URL("/")); got != "fetched 200" || n != 2 {
			t.Errorf("%s, after %d requests", got, n)
		}
	})
}

func TestDocumentsOfRefusedUsesMayBeRead(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nAllow: /\nContent-Usage: train-ai=n\nContent-Usage: /free train-ai=y\nLicense: /l.xml\n")
		s.Page("/l.xml", rsl("", `<content url="/free"><license><permits type="usage">all</permits></license></content>`))
		s.Page("/free", "")
		_, v := crawl(t, w, purposes(consent.TrainAI), s.URL("/free"))
		if got := v.line(s.URL("/free")); got != "fetched 200" {
			t.Error(got, v.by[s.URL("/free")].Detail)
		}
		w.MustRequest(s.URL("/l.xml"))
	})
}

// Prices that sites ask are totalled by host and currency, and nothing is paid.
func TestCostsAreSummed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("User-agent: *\nAllow: /\nLicense: /l.xml\n")
		s.Page("/l.xml", rsl("", `<content url="/rsl"><license><payment type="crawl"><amount currency="EUR">0.5</amount></payment></license><license><payment type="crawl"><amount currency="EUR">0.125</amount></payment></license></content>`))
		s.Page("/", links("/1", "/2", "/rsl1", "/rsl2"))
		s.Page("/1", "").Status(402).Header("Crawler-Price", "USD 0.01")
		s.Page("/2", "").Status(402).Header("Crawler-Price", "USD 0.005")
		s.Page("/rsl1", "")
		s.Page("/rsl2", "")
		r, _ := crawl(t, w, crawler.Config{}, s.URL("/"))
		want := []crawler.HostCost{
			{Host: "a.example:80", Currency: "EUR", Per: "crawl", Pages: 2, Amount: "0.25"},
			{Host: "a.example:80", Currency: "USD", Per: "request", Pages: 2, Amount: "0.015"},
		}
		slices.SortFunc(r.Cost, func(a, b crawler.HostCost) int { return strings.Compare(a.Currency, b.Currency) })
		if !slices.Equal(r.Cost, want) {
			t.Errorf("%+v", r.Cost)
		}
		if got := fmt.Sprint(r.Verdicts, r.LeftOut); got != "map[research unmet:4] map[a.example:80:map[licence license:2 status crawler-price:2]]" {
			t.Error(got)
		}
		sum := &crawler.Report{}
		sum.Add(r)
		sum.Add(r)
		if sum.Cost[0].Amount != "0.5" || sum.Cost[0].Pages != 4 || sum.LeftOut["a.example:80"]["licence license"] != 4 || r.Cost[0].Pages != 2 {
			t.Errorf("%+v %+v", sum.Cost, sum.LeftOut)
		}
		w.MustNotRequest(s.URL("/rsl1"), s.URL("/rsl2"))
	})
}

// Resources of a rendered page are content of their sites, too. A resource is not loaded for a purpose that a document of
// its site or its own response forbids. The page is then rendered without the resource.
func TestDocumentsCoverPageResources(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, cdn, open := w.Site("http://app.example"), w.Site("http://cdn.example"), w.Site("http://open.example")
		s.Page("/", fmt.Sprintf(shell, "fetch /data\nfetch /free\nfetch /said\nfetch /priced\nimport http://cdn.example/x.js\nimport http://open.example/x.js\ntext end"))
		s.Page("/app.js", "text app\n").Type("text/javascript")
		s.Robots("User-agent: *\nAllow: /\nLicense: /l.xml\n")
		s.Page("/l.xml", rsl("", `<content url="/data"><license><prohibits type="usage">ai-train</prohibits></license></content>`))
		s.Page("/data", "the data")
		s.Page("/free", "free")
		s.Page("/said", "said").Header("Content-Usage", "train-ai=n")
		s.Page("/priced", "priced").Status(402)
		cdn.Page(consent.TDMPath, `[{"location":"/","tdm-reservation":1}]`)
		cdn.Page("/x.js", "text of the network\n").Type("text/javascript")
		open.Page("/x.js", "text open\n").Type("text/javascript").Header("X-Robots-Tag", "noindex")
		c := rendering(&rendertest.Fake{})
		c.Politeness.Purposes = []consent.Purpose{consent.TrainAI, consent.Search}
		c.Render.Hosts = "any"
		_, v := crawl(t, w, c, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200"})
		r := v.by[s.URL("/")].Rendered
		if r == nil || r.Cut != "" {
			t.Fatalf("%+v", r)
		}
		var fates []string
		for _, f := range r.Requests {
			fates = append(fates, fmt.Sprint(f.URL, " ", f.Status, " ", f.Refused))
		}
		for _, want := range []string{
			"http://app.example/data 0 usage_signal", "http://app.example/free 200 ", "http://app.example/said 0 usage_signal",
			"http://app.example/priced 0 payment", "http://cdn.example/x.js 0 usage_signal",
		} {
			if !slices.Contains(fates, want) {
				t.Errorf("no %q in %q", want, fates)
			}
		}
		for _, text := range []string{"the data", "said", "priced", "of the network"} {
			if strings.Contains(string(r.DOM), text+"</p>") {
				t.Errorf("%q is in the document:\n%s", text, r.DOM)
			}
		}
		w.MustNotRequest(s.URL("/data"), cdn.URL("/x.js"))
		for _, u := range []string{s.URL("/l.xml"), s.URL(consent.TDMPath), cdn.URL(consent.TDMPath), open.URL(consent.TDMPath)} {
			if n := w.Count(u); n != 1 {
				t.Errorf("%s was requested %d times", u, n)
			}
		}
	})
}

// noindex forbids only indexing. A script is not indexed, so a page that may be indexed may run a script with noindex.
func TestNoindexOfPageResources(t *testing.T) {
	for purpose, want := range map[consent.Purpose]string{consent.Search: "200 ", consent.AIInput: "200 ", consent.TrainAI: "0 usage_signal"} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := w.Site("http://app.example")
			s.Page("/", fmt.Sprintf(shell, "text end"))
			s.Page("/app.js", "text app\n").Type("text/javascript").Header("X-Robots-Tag", "noindex, noml")
			c := rendering(&rendertest.Fake{})
			c.Politeness.Purposes = []consent.Purpose{purpose}
			_, v := crawl(t, w, c, s.URL("/"))
			f := v.by[s.URL("/")].Rendered.Requests[0]
			if got := fmt.Sprint(f.Status, " ", f.Refused); got != want {
				t.Errorf("%s: %s, want %s", purpose, got, want)
			}
		})
	}
}

// If a document cannot be requested because of the robots limit, the page is rendered without the resource, and still
// read.
func TestDocumentsOverTheRobotsLimit(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s, cdn := w.Site("http://app.example"), w.Site("http://cdn.example")
		s.Page("/", links("/p"))
		s.Page("/p", fmt.Sprintf(shell, "import http://cdn.example/x.js\ntext end"))
		s.Page("/app.js", "text app\n").Type("text/javascript")
		cdn.Page("/x.js", "text of the network\n").Type("text/javascript")
		c := rendering(&rendertest.Fake{})
		c.Politeness.Purposes, c.Render.Hosts = []consent.Purpose{consent.TrainAI}, "any"
		c.Limits.Robots = 1 // robots.txt files of seeds do not count, so one more file is allowed
		_, v := crawl(t, w, c, s.URL("/"))
		v.expect(t, map[string]string{s.URL("/"): "fetched 200", s.URL("/p"): "fetched 200"})
		if f := v.by[s.URL("/p")].Rendered.Requests; !slices.ContainsFunc(f, func(f render.Fate) bool { return f.Refused == crawler.ReasonRobotsBudget }) {
			t.Errorf("%+v", f)
		}
		w.MustNotRequest(cdn.URL("/x.js"))
	})
}
