package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const (
	contact = "https://lab.university.edu/crawl"
	seed    = "https://site.example/"
)

// collected runs the program on w and returns its exit code and what it printed.
func collected(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-corpus", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

// documents returns the output, by path.
func documents(t *testing.T, out string) map[string]document {
	t.Helper()
	m := map[string]document{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var doc document
		if err := d.Decode(&doc); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		m[strings.TrimPrefix(doc.URL, "https://site.example")] = doc
	}
	return m
}

// paths returns the paths in the corpus, in order.
func paths(m map[string]document) string {
	var list []string
	for p := range m {
		list = append(list, p)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// prose returns a text of n words that begins with its name.
func prose(name string, n int) string {
	var b strings.Builder
	b.WriteString(name)
	for i := range n - 1 {
		fmt.Fprintf(&b, " %s%d", name, i)
	}
	return b.String()
}

// page returns a page with a text of sixty words.
func page(name string) string { return "<title>" + name + "</title><p>" + prose(name, 60) }

// signals returns a site that says in every possible way that some pages are not for training.
func signals(w *crawltest.Web) {
	s := w.Site("https://site.example")
	s.Robots("User-agent: *\nContent-Signal: /signal ai-train=no\nContent-Usage: /usage train-ai=n\nContent-Usage: /welcome train-ai=y\nDisallow: /private\n").Forbids("/private")
	s.Page("/", `<a href=/plain>1</a> <a href=/private>1</a> <a href=/signal>1</a> <a href=/usage>1</a> <a href=/header>1</a> <a href=/noai>1</a> <a href=/tdm>1</a> <a href=/noarchive>1</a> <a href=/welcome>1</a> <a href=/search>1</a>`)
	s.Page("/plain", page("plain"))
	s.Page("/private", page("private"))
	s.Page("/signal", page("signal"))
	s.Page("/usage", page("usage"))
	s.Page("/header", page("header")).Header("Content-Usage", "train-ai=n")
	s.Page("/noai", `<meta name=robots content=noai>`+page("noai"))
	s.Page("/tdm", page("tdm")).Header("Tdm-Reservation", "1").Header("Tdm-Policy", "https://site.example/policy.json")
	s.Page("/noarchive", page("noarchive")).Header("X-Robots-Tag", "noarchive")
	s.Page("/welcome", page("welcome"))
	s.Page("/search", page("search")).Header("Content-Signal", "search=no")
}

// TestWhatDisallowsTheUseIsNotInTheCorpus checks the promise of the program: robots.txt can prevent the request for a
// page, and the page itself its use.
func TestWhatDisallowsTheUseIsNotInTheCorpus(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		signals(w)
		code, out, errs := collected(t.Context(), w, seed)
		if got := paths(documents(t, out)); code != exitWhole || got != "/plain /search /welcome" {
			t.Errorf("exit %d, the corpus has %s, said %s", code, got, errs)
		}
		for _, name := range []string{"private", "signal", "usage", "header", "noai", "tdm"} {
			if strings.Contains(out, name+"17") {
				t.Errorf("the text of /%s is in the output", name)
			}
		}
		if want := "left out: noarchive 1, robots_disallow 1, short 1, usage_signal 5"; !strings.Contains(errs, want) {
			t.Errorf("said %s, want %s", errs, want)
		}
		w.MustNotRequest(seed+"private", seed+"signal", seed+"usage")
	})
}

func TestOtherUsesCanBeRefused(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		signals(w)
		_, out, _ := collected(t.Context(), w, "-refuse", "search", seed)
		m := documents(t, out)
		if got := paths(m); got != "/header /noai /plain /signal /tdm /usage /welcome" {
			t.Errorf("the corpus has %s", got)
		}
		if u := m["/header"].Usage; len(u) != 1 || u[0] != (usage{"train-ai", "disallow", "header"}) {
			t.Errorf("what is said of uses is not with the text: %+v", u)
		}
		if got := m["/tdm"].TDMPolicy; got != "https://site.example/policy.json" {
			t.Errorf("policy %q", got)
		}
	})
}

const article = `<!doctype html><html lang=en-GB><head><title>Herons</title><link rel=canonical href=/birds/heron>
<meta name="DCTERMS.license" content="https://creativecommons.org/licenses/by/4.0/"></head><body>
<header><a href=/>Home</a> <a href=/x>Everything</a></header><nav>menu menu</nav>
<div class=wrap><main><div class=with-sidebar><h1>Herons</h1><div class="x main-nav">go</div><script>var x</script>
<p>A heron <em>stands</em> still &amp; waits, as <a href=/waiting>other birds</a> do.</p>
<ul><li><a href=/a>See also one</a></li><li><a href=/b>See also two</a></li></ul>
<ol><li>First it waits.</li><li>Then it <a href=/strikes>strikes</a>.</li></ol>
<img src=/h.jpg alt="a heron"><blockquote>Still.</blockquote><pre><code>heron &lt;- wait()</code></pre>
<aside>beside</aside><p hidden>hidden</p><p aria-hidden=true>hidden too</p></div></main></div>
<div id=page-footer>below</div><footer><a rel="nofollow license" href=/licence>our <b>terms</b></a></footer></body></html>`

const articleText = "# Herons\n\nA heron *stands* still & waits, as other birds do.\n\n1. First it waits.\n2. Then it strikes.\n\n> Still.\n\n```\nheron <- wait()\n```"

func TestMainTextAndItsSource(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href=/heron>h</a>`)
		s.Page("/heron", article).Header("Last-Modified", "Sat, 01 Jan 2000 00:00:00 GMT")
		dir := filepath.Join(t.TempDir(), "md")
		code, out, errs := collected(t.Context(), w, "-min-words", "5", "-md", dir, seed)
		d := documents(t, out)["/heron"]
		if code != exitWhole || d.Text != articleText {
			t.Fatalf("exit %d, said %s, text\n%s\nwant\n%s", code, errs, d.Text, articleText)
		}
		if d.Title != "Herons" || d.Lang != "en-GB" || d.Canonical != seed+"birds/heron" || d.Via != seed || d.Depth != 1 || d.Modified == "" || d.Fetched.IsZero() || len(d.SHA256) != 64 || d.Words != 21 {
			t.Errorf("%+v", d)
		}
		want := []licence{{URL: "https://creativecommons.org/licenses/by/4.0/", By: "meta"}, {URL: seed + "licence", Text: "our terms", By: "a"}}
		if !slices.Equal(d.Licence, want) {
			t.Errorf("licences %+v, want %+v", d.Licence, want)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v (%v)", files, err)
		}
		b, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
		if err != nil || !strings.HasPrefix(string(b), "---\n{\"url\":") || !strings.HasSuffix(string(b), "\n---\n\n"+articleText+"\n") {
			t.Errorf("the file is %s (%v)", b, err)
		}
	})
}

func TestNoTextTwice(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		text := prose("word", 400)
		s.Page("/", `<a href=/a>a</a> <a href=/copy>c</a> <a href=/near>n</a> <a href=/other>o</a>`)
		s.Page("/a", "<p>"+text)
		s.Page("/copy", "<p>"+text)
		s.Page("/near", "<p>"+strings.Replace(text, " word200 ", " another ", 1))
		s.Page("/other", "<p>"+prose("other", 400))
		_, out, errs := collected(t.Context(), w, seed)
		if got := paths(documents(t, out)); got != "/a /other" || !strings.Contains(errs, "nearly_same 1, same 1") {
			t.Errorf("the corpus has %s, said %s", got, errs)
		}
	})
}

func TestOneLanguage(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href=/de>1</a> <a href=/at>1</a> <a href=/en>1</a> <a href=/none>1</a> <a href=/header>1</a> <a href=/den>1</a>`)
		for name, lang := range map[string]string{"de": "de", "at": "DE-at", "en": "en", "den": "den"} {
			s.Page("/"+name, "<html lang="+lang+">"+page(name))
		}
		s.Page("/none", page("none"))
		s.Page("/header", page("header")).Header("Content-Language", "de")
		_, out, _ := collected(t.Context(), w, "-lang", "de", seed)
		if got := paths(documents(t, out)); got != "/at /de /header" {
			t.Errorf("the corpus has %s", got)
		}
	})
}

func TestPartOfTheSites(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		signals(w)
		if code, _, errs := collected(t.Context(), w, "-max-pages", "2", seed); code != exitPart || !strings.Contains(errs, "max_pages") {
			t.Errorf("exit %d, said %s", code, errs)
		}
	})
}

// TestHostilePages checks that no page takes long or makes the program fail.
func TestHostilePages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("https://site.example")
		s.Page("/", `<a href=/deep>1</a> <a href=/nested>1</a> <a href=/licences>1</a> <a href=/marks>1</a> <a href=/blocks>1</a> <a href=/plain>1</a>`)
		s.Page("/deep", strings.Repeat("<div><ul><li>", 20_000)+"text")
		s.Page("/nested", strings.Repeat("<blockquote>", 450)+strings.Repeat("x<br>", 50_000))
		s.Page("/licences", strings.Repeat("<a rel=license href=/x>x</a>", 10_000)+page("licences"))
		s.Page("/marks", strings.Repeat("*_`[#", 50_000))
		s.Page("/blocks", strings.Repeat("<p>- 1. &lt;b> \\", 20_000))
		s.Page("/plain", page("plain"))
		if code, out, errs := collected(t.Context(), w, seed); code != exitWhole || documents(t, out)["/plain"].Words != 60 {
			t.Errorf("exit %d, said %s", code, errs)
		}
	})
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                  exitWhole,
		"":                       exitUsage,
		"-max-pages 0 " + seed:   exitUsage,
		"-min-words x " + seed:   exitUsage,
		"-refuse eating " + seed: exitUsage,
		seed:                     exitFailed, // no contact
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
