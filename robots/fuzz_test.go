package robots

import (
	"strings"
	"testing"
	"time"
)

var fuzzSeeds = []string{
	"User-agent: *\nDisallow: /\nAllow: /a$\n",
	"\ufeffUser-agent: bot\r\n\r\nDisallow: /a b\rAllow:/*c*d\n",
	"user agent bot\ndissallow /x\nallow /y # z\n\nuser-agent: a/1 b\nDisallow: %2f%zz\x00\n",
	"Content-Usage: /a train-ai=n, search=\"x\"\nUser-agent: *\nContent-Signal: ai-train=no\nCrawl-delay: 1e9\nRequest-rate: 1/5m 0800-0900\n",
	"User-agent:*\nDisallow:/**********a**********b\nDisallow:http://h/é\n",
	strings.Repeat("User-agent: *\nDisallow: /aaaaaaaa\n", 40),
}

// FuzzParse checks that no file causes a panic, and that lints refer to existing lines.
func FuzzParse(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s), "/a?b#c")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		rules := Parse(body, WithOrigin("https://h.example"))
		lines := len(refLines(string(body)))
		for _, l := range rules.Lints() {
			if l.Line < 0 || l.Line > lines || l.Code == "" || l.Text == "" {
				t.Errorf("%+v", l)
			}
		}
		rules.Sitemaps()
		rules.CleanParams()
		rules.Host()
		for _, d := range Dialects() {
			g := rules.In(d).For("bot")
			if d, ok := g.CrawlDelay(); d < 0 || !ok && d != 0 {
				t.Error(d)
			}
			if d, _ := g.RequestRate(); d < 0 {
				t.Error(d)
			}
			s := Explain(g.Test(path), Source{})
			if strings.ContainsAny(s, "\r\n\x00") {
				t.Errorf("%q", s)
			}
			g.Rules()
			g.Usage(path)
			if v := g.Test("/robots.txt"); !v.Allowed {
				t.Errorf("%+v", v)
			}
		}
	})
}

// FuzzVerdict compares every dialect with the slow reference parser.
func FuzzVerdict(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, "bot", "/a/b?c")
	}
	for seed := range uint64(20) {
		g := newGen(seed)
		f.Add(g.file(), g.agent(), g.path())
	}
	f.Fuzz(func(t *testing.T, body, agent, path string) {
		if agent != ProductToken(agent) || len(body) > 1<<12 || len(path) > 1<<8 {
			return
		}
		for _, l := range Parse([]byte(body)).Lints() {
			if l.Code == lintMisspelt || l.Code == lintTooMany {
				return // the reference handles valid names only
			}
		}
		compareWithReference(t, body, agent, []string{path})
	})
}

// FuzzPage checks that page directives and usage signals cause no panic and are bounded.
func FuzzPage(f *testing.F) {
	f.Add("noindex, bot: nofollow, unavailable_after: Friday, 25-Jun-10 15:00:00 PST", "none;max-snippet:3", "train-ai=n;a=1, search=(a \"b\")")
	f.Fuzz(func(t *testing.T, header, content, usage string) {
		metas := []Meta{{"robots", content}, {"bot", header}, {"tdm-reservation", content}}
		d := PageDirectives("bot", []string{header, content}, metas)
		if len(d.Terms()) > maxTerms {
			t.Error(len(d.Terms()))
		}
		PageDirectives("bot", []string{header}, metas, WithDialect(Revisited1996))
		h := map[string][]string{
			"Content-Usage": {usage, header}, "Content-Signal": {usage}, "Cache-Control": {header},
			"Expires": {content}, "Age": {usage}, "Date": {header},
		}
		u := PageUsage(nil, "/", h, metas, d)
		for _, s := range u.Statements {
			if s.Use == "" || (s.Signal == Unsaid) != (s.Value != "") || s.Signal != Unsaid && u.For(s.Use) == Unsaid {
				t.Errorf("%+v", s)
			}
		}
		if life := Freshness(h, time.Unix(0, 0)); life < MinFreshness || life > MaxFreshness {
			t.Error(life)
		}
	})
}
