package robots

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// gen generates files from a grammar: mostly what site owners write, with mistakes mixed in.
type gen struct {
	*rand.Rand
}

func newGen(seed uint64) *gen { return &gen{rand.New(rand.NewPCG(seed, 9309))} }

func (g *gen) one(in int) bool { return g.IntN(in) == 0 }

func (g *gen) pick(from ...string) string { return from[g.IntN(len(from))] }

var genAgents = []string{"ab", "abc", "Bot", "bot", "otherbot", "bot-news"}

func (g *gen) agent() string { return g.pick(genAgents...) }

// path returns a URL path that sometimes needs escaping.
func (g *gen) path() string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		b.WriteByte('/')
		for range g.IntN(4) {
			b.WriteString(g.pick("a", "b", "a", "b", "ab", "p", ".", "~"))
			if g.one(12) {
				b.WriteString(g.pick("%61", "%7E", "%7e", "%2F", "%2f", "%2A", "%24", "*", "$", "é", "%C3%A9", "%c3%a9", "%", "%0", " ", "%20", "{", "%3F", "?", "=", "&"))
			}
		}
	}
	if g.one(6) {
		b.WriteString(g.pick("?", "?a", "?b=a", "?b=a&p=b"))
	}
	if g.one(40) {
		return g.pick("/robots.txt", "/robots.txt?", "", "/", "/#a", "a", "?a")
	}
	return b.String()
}

// pattern returns the value of a rule.
func (g *gen) pattern() string {
	p := g.path()
	if g.one(4) {
		i := g.IntN(len(p) + 1)
		for i < len(p) && !utf8.RuneStart(p[i]) {
			i++
		}
		p = p[:i] + g.pick("*", "*", "**", "$") + p[i:]
	}
	switch {
	case g.one(6):
		p += "$"
	case g.one(8):
		p += "*"
	case g.one(20):
		p = g.pick("", "*", "$", "/$", "/*$", "a", "*a", "/*a*b", "/*/", "http://h.example/a", "https://h.example")
	}
	return p
}

func (g *gen) ruleLine() string {
	sep := g.pick(": ", ": ", ": ", ":", ":\t", " : ", ":  ")
	v := g.pattern()
	if g.one(15) {
		v += g.pick(" ", "\t") + g.pattern()
	}
	line := g.pick("Disallow", "Disallow", "disallow", "Allow", "ALLOW") + sep + v
	if g.one(10) {
		line += g.pick(" # c", "# c", "\t#")
	}
	return line
}

func (g *gen) otherLine() string {
	return g.pick("Sitemap: https://h.example/s.xml", "Crawl-delay: 2", "Crawl-delay: x", "Foo: bar", "# comment",
		"nothing", "Host: h.example", "Request-rate: 1/5", "Clean-param: s /a", "Content-Usage: / train-ai=n",
		"disallow /a", "allow /b", "user-agent ab", "disallow /a /b", "allow all", "allow /a these robots")
}

// file returns a whole robots.txt.
func (g *gen) file() string {
	var b strings.Builder
	eol := g.pick("\n", "\n", "\r\n", "\r")
	line := func(s string) { b.WriteString(s + eol) }
	if g.one(30) {
		b.WriteString("\ufeff")
	}
	if g.one(20) {
		line(g.ruleLine())
	}
	for range 1 + g.IntN(4) {
		for range 1 + g.IntN(2) {
			line(g.pick("User-agent: ", "user-agent:", "User-Agent: ") + g.pick("*", g.agent(), g.agent(), g.agent(), g.agent()+"/1.0", g.agent()+" "+g.agent()))
			if g.one(10) {
				line(g.pick("", "Crawl-delay: 1.5", g.otherLine()))
			}
		}
		for range g.IntN(5) {
			line(g.ruleLine())
			if g.one(12) {
				line(g.pick("", " ", g.otherLine()))
			}
		}
		if !g.one(4) {
			line("")
		}
	}
	return b.String()
}

// question returns a path that may be related to a rule of the file.
func (g *gen) question(body string) string {
	lines := refLines(body)
	_, value := refLine(strings.TrimSpace(lines[g.IntN(len(lines))]))
	words := refWords(value)
	if len(words) == 0 || words[0][0] != '/' || g.one(3) {
		return g.path()
	}
	p := words[0]
	if !g.one(4) {
		p = strings.ReplaceAll(p, "*", g.pick("", "a", "b/a"))
	}
	if !g.one(4) {
		p = strings.TrimSuffix(p, "$")
	}
	switch g.IntN(6) {
	case 0:
		p = strings.ReplaceAll(p, "a", g.pick("%61", "a", "A"))
	case 1:
		p = strings.ReplaceAll(p, "~", g.pick("%7E", "%7e"))
	case 2:
		p = strings.ToLower(p)
	}
	switch g.IntN(6) {
	case 0:
		p = g.pick("/a", "/p", "/~") + p
	case 1:
		p += g.pick("a", "/", "?b", "$")
	case 2:
		p += g.pick("#a", "#/p", "#")
	}
	return p
}
