package check

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// site makes a site with every kind of broken link and resource, and a second site to which the first one links.
func site(w *crawltest.Web) string {
	s, other := w.Site("https://a.example"), w.Site("https://b.example")
	s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/")
	s.Page("/", `<a href=/gone>first</a> <a href=/two>two</a> <a href=/old>old</a> <a href=/private/x>p</a> <a href=https://b.example/in>in</a>
		<a href=https://b.example/out>out</a> <a href="http://[x">bad</a> <a href=mailto:me@a.example>mail</a> <img src=http://a.example/pic.png> <img src=/nopic.png>
		<a href=https://b.example/login>login</a>`)
	s.Page("/two", `<h1 id=here>x</h1> <a href=/gone>second</a> <a href=/gone>second</a> <a href=#here>1</a> <a href=#h%65re>2</a> <a href=#top>3</a> <a href=#>4</a>
		<a href=#nowhere>5</a> <a href=/old#part>6</a> <a href=/old#nopart>7</a> <a href=/lost>lost</a> <a href=#!/route>8</a> <a href=#:~:text=x>9</a> <a href=/loop>loop</a>`)
	s.Redirect("/old", "/new")
	s.Redirect("/lost", "/gone")
	s.Redirect("/loop", "/loop")
	s.Page("/new", `<a name=part>x</a>`)
	s.Page("/gone", `<a href=/unknown>a link of an error page</a>`).Status(404)
	w.Site("http://a.example").Page("/pic.png", "x").Type("image/png")
	other.Page("/in", `<a href=/deeper>x</a> <a href=/alsogone>y</a>`)
	other.Page("/login", "x").Status(403)
	return s.URL("/")
}

// checked crawls a site with the settings of a check, and returns the result of the check.
func checked(t *testing.T, w *crawltest.Web, seed string, change func(*job.Config)) *Result {
	t.Helper()
	r, err := job.Read(crawl(t, w, seed, change))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := Job(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// crawl crawls a site with the settings of a check, and returns the directory of the job.
func crawl(t *testing.T, w *crawltest.Web, seed string, change func(*job.Config)) string {
	t.Helper()
	var c job.Config
	c.Links, c.Archive = true, true
	c.Crawl.Agent, c.Crawl.Contact = "testbot/1", "https://crawl.university.edu/"
	c.Crawl.Limits.Depth, c.Crawl.Follow.Resources, c.Crawl.Scope.Beyond = crawler.Unlimited, true, 1
	c.Crawl.Scope.Rules = []crawler.ScopeRule{{Types: []string{"text/html"}}}
	c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	if change != nil {
		change(&c)
	}
	dir := filepath.Join(t.TempDir(), "job")
	j, err := job.Create(dir, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lines describes each finding by its URL, reason and pages.
func lines(res *Result) (list []string) {
	for i := range res.Findings {
		f := &res.Findings[i]
		line := fmt.Sprintf("%d %s %s %d:", f.Level, f.URL, f.Reason, f.Status)
		for _, p := range f.Pages {
			line += fmt.Sprintf(" %s %q", strings.TrimPrefix(p.URL, "https://a.example"), p.Text)
		}
		list = append(list, line)
	}
	return list
}

func TestCheckFindsEverythingThatIsBroken(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		res := checked(t, w, site(w), nil)
		want := []string{
			`0 https://a.example/gone http_404 404: / "first" /two "second"`,
			`0 https://a.example/lost http_404 404: /two "lost"`,
			`0 https://a.example/nopic.png http_404 404: / ""`,
			`0 https://b.example/out http_404 404: / "out"`,
			`0 https://a.example/old#nopart fragment 200: /two "7"`,
			`0 https://a.example/two#nowhere fragment 200: /two "5"`,
			`0 https://a.example/loop redirect_loop 302: /two "loop"`,
			`0 http://[x url_syntax 0: / "bad"`,
			`1 https://b.example/login http_403 403: / "login"`,
			`2 https://a.example/old redirect 302: / "old" /two "6" /two "7"`,
			`2 http://a.example/pic.png mixed_content 0: / ""`,
			`3 https://a.example/private/x robots 0: / "p"`,
		}
		if got := lines(res); !slices.Equal(got, want) {
			t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if res.Pages != 2 || res.Broken() != 8 || len(res.Notes) > 0 || len(res.Unchecked) > 0 {
			t.Errorf("%+v", res)
		}
	})
}

func TestCheckReadsLinksFromArchive(t *testing.T) {
	var found [2][]string
	for i, kept := range []bool{true, false} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			found[i] = lines(checked(t, w, site(w), func(c *job.Config) { c.Links = kept }))
		})
	}
	if !slices.Equal(found[0], found[1]) {
		t.Errorf("findings from the links:\n%s\nfrom the archive:\n%s", strings.Join(found[0], "\n"), strings.Join(found[1], "\n"))
	}
}

func TestCheckSaysWhatItCannotCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*job.Config)
		holds  func(*Result) bool
	}{
		{"no links, no archive", func(c *job.Config) { c.Links, c.Archive = false, false }, func(r *Result) bool {
			return slices.Contains(lines(r), `0 https://a.example/gone http_404 404: / ""`) && len(r.Notes) == 1
		}},
		{"no archive", func(c *job.Config) { c.Archive = false }, func(r *Result) bool {
			return len(r.Notes) == 1 && strings.Contains(r.Notes[0], "fragments")
		}},
		{"no other sites", func(c *job.Config) { c.Crawl.Scope.Beyond = 0 }, func(r *Result) bool { return r.Unchecked["out_of_scope"] == 3 }},
	} {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			if res := checked(t, w, site(w), tt.change); !tt.holds(res) {
				t.Errorf("%s: %s %v %v", tt.name, strings.Join(lines(res), "\n"), res.Notes, res.Unchecked)
			}
		})
	}
}

// A job whose visits or links have lost their end must not pass for a site without broken links.
func TestCheckRefusesFilesThatLostTheirEnds(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir := crawl(t, w, site(w), nil)
		for _, name := range []string{job.LinksName, job.VisitsName} {
			if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
				t.Fatal(err)
			}
			r, err := job.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := Job(t.Context(), r); err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCheckReportsBrokenSeed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		seed := w.Site("https://a.example").URL("/missing")
		if got := lines(checked(t, w, seed, nil)); !slices.Equal(got, []string{"0 https://a.example/missing http_404 404:"}) {
			t.Error(got)
		}
	})
}

func TestFormatsAreValid(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		res := checked(t, w, site(w), nil)
		var lines, sarif, junit bytes.Buffer
		if err := errors.Join(res.WriteJSON(&lines), res.WriteSARIF(&sarif, "1.2.3"), res.WriteJUnit(&junit)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(lines.String()) {
			var f Finding
			if err := json.Unmarshal([]byte(line), &f); err != nil || f.URL == "" || f.Reason == "" || f.Pages == nil {
				t.Errorf("%v: %s", err, line)
			}
			n++
		}
		if n != len(res.Findings) {
			t.Errorf("%d lines of JSON for %d findings", n, len(res.Findings))
		}
		var log struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Locations []struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		if err := json.Unmarshal(sarif.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
			t.Fatalf("%v: %s", err, sarif.String())
		}
		errs := 0
		for _, r := range log.Runs[0].Results {
			if log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Locations[0].PhysicalLocation.ArtifactLocation.URI == "" {
				t.Errorf("%+v", r)
			}
			if r.Level == "error" {
				errs++
			}
		}
		if errs != 9 { // one more than the broken URLs, because two pages have the same link
			t.Errorf("%d errors", errs)
		}
		var suite struct {
			Tests    int   `xml:"tests,attr"`
			Failures int   `xml:"failures,attr"`
			Skipped  int   `xml:"skipped,attr"`
			Cases    []any `xml:"testcase"`
		}
		if err := xml.Unmarshal(junit.Bytes(), &suite); err != nil || suite.Failures != 8 || suite.Skipped != 4 || suite.Tests != 13 {
			t.Errorf("%v: %+v", err, suite)
		}
	})
}

func TestTextIsShortUnlessAllIsWanted(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://a.example")
		var links strings.Builder
		for i := range 40 {
			fmt.Fprintf(&links, "<a href=/p%d>x</a><a href=/gone%d>x</a>", i, i)
		}
		for i := range 40 {
			s.Page(fmt.Sprint("/p", i), links.String())
		}
		s.Page("/", links.String())
		res := checked(t, w, s.URL("/"), nil)
		var short, all strings.Builder
		if err := errors.Join(res.WriteText(&short, false), res.WriteText(&all, true)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(short.String(), "\n"); n > 48 || !strings.Contains(short.String(), "and 32 more URLs") || !strings.Contains(short.String(), "and on 38 more pages") {
			t.Errorf("%d lines:\n%s", n, short.String())
		}
		if n := strings.Count(all.String(), "    on "); n != 40*41 {
			t.Errorf("%d pages are printed", n)
		}
	})
}

// URLs of one folder, and the pages with links to them, are listed under the folder, without the part that they have in common.
func TestTextNamesFoldersOnce(t *testing.T) {
	const folder = "http://site.test/documentation/reference/manual/of/the/service/and/its/configuration/"
	res := &Result{Findings: []Finding{
		{URL: folder + "one.html", Level: Broken, Status: 404, Pages: []Page{{URL: folder + "index.html", Text: "1"}, {URL: "http://site.test/", Text: "2"}}},
		{URL: folder + "two.html", Level: Broken, Status: 404, Pages: []Page{{URL: "http://other.test/", Text: "3"}}},
		{URL: "http://site.test/a", Level: Broken, Status: 404, Pages: []Page{{URL: "http://site.test/", Text: "4"}}},
		{URL: "http://site.test/b", Level: Broken, Status: 404},
	}}
	want := "  " + folder + "\n    one.html\n      on index.html: \"1\"\n      on /: \"2\"\n    two.html\n      on http://other.test/: \"3\"\n" +
		"  http://site.test/a\n    on /: \"4\"\n  http://site.test/b\n"
	var b strings.Builder
	if err := res.WriteText(&b, false); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}
