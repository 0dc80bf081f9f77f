package challenge_test

import (
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness/challenge"
)

var pages = map[string]string{
	"Anubis": "anubis", "Cloudflare": "cloudflare", "AWS WAF": "awswaf", "DataDome": "datadome", "HUMAN": "human", "Akamai": "akamai", "Imperva": "imperva",
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEachRowHasAPage: each bot wall is recognized by its page alone, with any status except redirects, and has a source.
func TestEachRowHasAPage(t *testing.T) {
	for _, r := range challenge.Rows() {
		body := recorded(t, pages[r.Name])
		for _, status := range []int{200, 202, 403, 503} {
			for _, before := range []string{"", "<p>_PyxfI,_PyxfI"} { // text before the page that resembles the hints for which the search looks
				if got := challenge.Of(status, nil, []byte(before+body)); got != r.Name {
					t.Errorf("%s, %d: %q", r.Name, status, got)
				}
			}
		}
		if got := challenge.Of(302, nil, []byte(body)); got != "" {
			t.Errorf("%s: a redirect is taken for a challenge of %q", r.Name, got)
		}
		if r.Source == "" || r.Date == "" {
			t.Errorf("%s: no source or no date", r.Name)
		}
	}
}

// TestFormsOfChallenges covers walls that send several kinds of challenges.
func TestFormsOfChallenges(t *testing.T) {
	for body, want := range map[string]string{
		`<script id="anubis_version" type="application/json">"1"</script><script src="/.within.website/x/cmd/anubis/static/js/main.mjs?cacheBuster=1"></script>`: "Anubis",
		"<script>\n  (function () {\n    window._cf_chl_opt = {\n cvId: \"3\" } })()</script>":                                                                   "Cloudflare",
		`<script>window._cf_chl_opt={cvId: '3'};</script>`:                                                                                                       "Cloudflare",
		`<script>var dd={'rt':'c'};</script><iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=0"></iframe>`:                                      "DataDome",
		`<script id="anubis_version" type="application/json">"1"</script><img src="/.within.website/x/cmd/anubis/static/img/reject.webp"><p>No.</p>`:             "",
	} {
		if got := challenge.Of(200, nil, []byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestFieldsOfChallenges: a header field that only challenges have is enough to recognize one. Fields that ordinary pages have, too, prove
// nothing.
func TestFieldsOfChallenges(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"Cf-Mitigated", "challenge", "Cloudflare"},
		{"X-Amzn-Waf-Action", "challenge", "AWS WAF"},
		{"X-Amzn-Waf-Action", "captcha", "AWS WAF"},
		{"X-Datadome", "protected", ""},
		{"Set-Cookie", "_abck=0~-1~-1; Path=/", ""},
		{"Server", "cloudflare", ""},
		{"X-Cdn", "Incapsula", ""},
	} {
		if got := challenge.Of(200, http.Header{c.name: {c.value}}, []byte("<p>hello")); got != c.want {
			t.Errorf("%s: %s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestQuotedChallengesAreOrdinary: a page that quotes a challenge as text, in a comment, in an attribute, in data or late in a script is no
// challenge. Neither is a page that has a wall's markup because the wall protects it.
func TestQuotedChallengesAreOrdinary(t *testing.T) {
	for name, file := range pages {
		body := recorded(t, file)
		untitled := strings.ReplaceAll(body, "</title>", "") // a title would end the quotation
		for what, quoted := range map[string]string{
			"text":     "<!doctype html><title>Walls</title><pre>" + html.EscapeString(body) + "</pre>",
			"comment":  "<!doctype html><!-- " + strings.ReplaceAll(body, "-->", "") + " --><p>hello",
			"textarea": "<!doctype html><textarea>" + body + "</textarea>",
			"title":    "<!doctype html><title>" + untitled + "</title>",
			"value":    `<!doctype html><div data-source="` + html.EscapeString(body) + `">hello</div>`,
			"script":   "<!doctype html><script>var article = '" + strings.Repeat("Much has been written about walls. ", 20) + html.EscapeString(body) + "'</script>",
			"flight":   "<!doctype html><script>self.__next_f.push([1," + strconv.Quote(strings.ReplaceAll(body, "</script>", "")) + "])</script><p>hello",
			"data":     `<!doctype html><script type="application/ld+json">{"articleBody":` + strconv.Quote(strings.ReplaceAll(body, "</script>", "")) + "}</script>",
			"plain":    "The page is:\n" + body,
			"far":      "<!doctype html>" + strings.Repeat("<p>Much has been written about walls.</p>\n", 1000) + body,
		} {
			if got := challenge.Of(200, nil, []byte(quoted)); got != "" {
				t.Errorf("%s as %s is taken for a challenge of %s", name, what, got)
			}
		}
	}
	for _, ordinary := range []string{
		`<script>window._pxAppId = 'PX0'</script><p>hello`,
		`<div id="px-captcha-help">hello</div>`,
		`<script src="https://0.sdk.awswaf.com/0/challenge.js" defer></script><script>window.awsWafCookieDomainList = ['a.example']</script>`,
		`<script src="/_Incapsula_Resource?SWJIYLWA=0"></script><p>hello`,
		`<script>(function(){window['__CF$cv$params']={r:'0'}})()</script><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`,
		`<script>self.__next_f.push([1,"(function(){window._cf_chl_opt = {cvId: '3'}"])</script><p>hello`,
		`<script>self.__next_f.push([1,"var dd={'rt':'c'}"])</script><script src="https://ct.captcha-delivery.com/c.js"></script>`,
		`<script src="https://js.datadome.co/tags.js"></script><p>hello`,
	} {
		if got := challenge.Of(200, nil, []byte(ordinary)); got != "" {
			t.Errorf("%s is taken for a challenge of %s", ordinary, got)
		}
	}
}

// TestOrdinaryPagesAreNone: 5,000 generated pages that write about bot walls are not challenges, nor are the pages that come with
// Go.
func TestOrdinaryPagesAreNone(t *testing.T) {
	words := strings.Fields("anubis_challenge _cf_chl_opt awsWafCookieDomainList gokuProps captcha-delivery.com window._pxAppId px-captcha " +
		"/_sec/cp_challenge sec-if-cpt-container _Incapsula_Resource challenge.js token.awswaf.com robots crawler proof-of-work")
	for i := range 5000 {
		w := func(n int) string { return words[(i*7+n*(1+i/len(words)))%len(words)] }
		body := fmt.Sprintf("<!doctype html><html><head><title>%s</title><meta name=description content=%q></head><body><nav><a href=\"/%s\">%s</a></nav>"+
			"<h1 id=%q>%s</h1><p>%s and %s</p><pre><code>&lt;script id=\"%s\"&gt;%s&lt;/script&gt;</code></pre><script>var page = %d</script></body></html>",
			w(0), w(1), w(2), w(3), fmt.Sprint("about-", i), w(4), w(5), w(6), w(7), w(8), i)
		if got := challenge.Of(200, nil, []byte(body)); got != "" {
			t.Fatalf("taken for a challenge of %s:\n%s", got, body)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output() // runtime.GOROOT is empty with -trimpath
	if err != nil {
		t.Skipf("5000 made pages; those of GOROOT are left out: %v", err)
	}
	files := 0
	_ = filepath.WalkDir(strings.TrimSpace(string(root)), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" {
			return nil //nolint:nilerr // unreadable files are skipped
		}
		if b, err := os.ReadFile(path); err == nil {
			files++
			if got := challenge.Of(200, nil, b); got != "" {
				t.Errorf("%s is taken for a challenge of %s", path, got)
			}
		}
		return nil
	})
	t.Logf("5000 made pages, %d files of GOROOT", files)
}
