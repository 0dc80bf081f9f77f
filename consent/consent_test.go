package consent_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// vector is a page and what its site's statements mean: one sign for each purpose, in the order of Purposes. A dot is silent, "+"
// allows, "?" is a condition, "$" one that a crawl does not meet, and "!" forbids.
type vector struct {
	name   string
	want   string
	robots string
	header string // lines
	metas  string // lines of name=content
	tdm    string
	rsl    string // the elements in <rsl>
	status int
	body   string
	path   string // "/a" without one
}

const all = "User-agent: *\nAllow: /\n"

// managed is the managed robots.txt of a large network, shortened to what is read.
const managed = "User-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n"

var vectors = []vector{
	{name: "nothing", want: "....."},
	{name: "all allowed", want: ".....", robots: all},
	{name: "disallowed", want: "!!!!!", robots: "User-agent: *\nDisallow: /a\n"},
	{name: "disallowed for another", want: ".....", robots: "User-agent: GPTBot\nDisallow: /\n"},
	{name: "disallowed elsewhere", want: ".....", robots: "User-agent: *\nDisallow: /b\n"},

	// Content-Usage: draft-ietf-aipref-attach, draft-ietf-aipref-vocab.
	{name: "usage of robots.txt", want: "....!", robots: all + "Content-Usage: train-ai=n\n"},
	{name: "usage by path", want: "....!", robots: all + "Content-Usage: /a train-ai=n\n"},
	{name: "usage of another path", want: ".....", robots: all + "Content-Usage: /b train-ai=n\n"},
	{name: "usage of the longest path", want: "....+", robots: all + "Content-Usage: / train-ai=n\nContent-Usage: /a train-ai=y\n"},
	{name: "usage of search", want: "..+.!", robots: all + "Content-Usage: search=y, train-ai=n\n"},
	{name: "usage without search", want: "..!..", robots: all + "Content-Usage: search=n\n"},
	{name: "unknown uses", want: ".....", robots: all + "Content-Usage: bots=n, display=n\n"},
	{name: "a broken dictionary", want: ".....", robots: all + "Content-Usage: train-ai=n, =\n"},
	{name: "usage header", want: "....!", header: "Content-Usage: train-ai=n"},
	{name: "usage header allows", want: "....+", header: "Content-Usage: train-ai=y"},
	{name: "header against robots.txt", want: "....!", robots: all + "Content-Usage: train-ai=n\n", header: "Content-Usage: train-ai=y"},
	{name: "robots.txt against header", want: "....!", robots: all + "Content-Usage: train-ai=y\n", header: "Content-Usage: train-ai=n"},
	{name: "two usage headers", want: "..!.!", header: "Content-Usage: train-ai=n\nContent-Usage: search=n"},
	{name: "usage with parameters", want: "....!", header: "Content-Usage: train-ai=n;v=1"},
	{name: "usage of a group of another", want: ".....", robots: all + "\nUser-agent: GPTBot\nContent-Usage: train-ai=n\n"},

	// Content-Signal: draft-romm-aipref-contentsignals, contentsignals.org.
	{name: "managed", want: "..+?!", robots: managed},
	{name: "signals", want: "..+!!", robots: all + "Content-Signal: search=yes, ai-input=no, ai-train=no\n"},
	{name: "signals allow", want: "..+++", robots: all + "Content-Signal: search=yes, ai-input=yes, ai-train=yes\n"},
	{name: "signals before groups", want: "....!", robots: "Content-Signal: ai-train=no\n" + all},
	{name: "signal header", want: "...!.", header: "Content-Signal: ai-input=no"},
	{name: "use alone", want: "...?!", robots: all + "Content-Signal: use=reference\n"},
	{name: "use full", want: "...++", robots: all + "Content-Signal: use=full\n"},
	{name: "use immediate", want: "...$!", robots: all + "Content-Signal: use=immediate\n"},
	{name: "use of an unknown level", want: ".....", robots: all + "Content-Signal: use=sideways\n"},
	{name: "use beside signals", want: "..+?!", robots: all + "Content-Signal: ai-input=yes, use=reference\n", header: "Content-Signal: search=yes"},
	{name: "a signal in other letters", want: "....!", robots: all + "content-signal: AI-Train=NO\n"},
	{name: "a signal without a value", want: ".....", robots: all + "Content-Signal: perhaps\n"},

	// Robots directives.
	{name: "noindex", want: "..!..", header: "X-Robots-Tag: noindex"},
	{name: "noindex of Robots-Tag", want: "..!..", header: "Robots-Tag: *;noindex"},
	{name: "noindex of another robot", want: ".....", header: "X-Robots-Tag: googlebot: noindex"},
	{name: "none", want: "..!..", metas: "robots=none"},
	{name: "noai", want: "...!!", metas: "robots=noai"},
	{name: "noai of a header", want: "...!!", header: "X-Robots-Tag: noai, noimageai"},
	{name: "noml", want: "....!", metas: "robots=noml"},
	{name: "noimageai", want: ".....", metas: "robots=noimageai"},
	{name: "nosnippet", want: "...!.", metas: "robots=nosnippet"},
	{name: "max-snippet", want: "...!.", metas: "robots=max-snippet:0"},
	{name: "a long snippet", want: ".....", metas: "robots=max-snippet:20"},
	{name: "noarchive", want: "!..!!", metas: "robots=noarchive"},
	{name: "nocache", want: "!...!", metas: "robots=nocache"},
	{name: "index, follow", want: ".....", metas: "robots=index, follow"},

	// TDM Reservation Protocol.
	{name: "reserved by header", want: "...!!", header: "TDM-Reservation: 1\nTDM-Policy: https://a.example/policy"},
	{name: "not reserved", want: "...++", header: "TDM-Reservation: 0"},
	{name: "reserved by META", want: "...!!", metas: "tdm-reservation=1"},
	{name: "META against header", want: "...!!", header: "TDM-Reservation: 0", metas: "tdm-reservation=1"},
	{name: "a reservation of two", want: ".....", header: "TDM-Reservation: 2"},
	{name: "reserved by file", want: "...!!", tdm: `[{"location":"/","tdm-reservation":1}]`},
	{name: "file against header", want: "...!!", tdm: `[{"location":"/","tdm-reservation":1}]`, header: "TDM-Reservation: 0"},
	{name: "file elsewhere", want: ".....", tdm: `[{"location":"/b","tdm-reservation":1}]`},
	{name: "file with a pattern", want: "...!!", tdm: `[{"location":"/*.html$","tdm-reservation":1,"tdm-policy":"https://a.example/p"}]`, path: "/x/y.html"},
	{name: "the longest location", want: "...++", tdm: `[{"location":"/","tdm-reservation":1},{"location":"/a","tdm-reservation":0}]`},
	{name: "two of one location", want: "...!!", tdm: `[{"location":"/a","tdm-reservation":1},{"location":"/a","tdm-reservation":0}]`},
	{name: "a file with junk", want: "...!!", tdm: `[7, {"location":4}, {"location":"/","tdm-reservation":"1"}]`},

	// Really Simple Licensing.
	{name: "search only", want: "!!+!!", rsl: `<content url="/"><license><permits type="usage">search</permits></license></content>`},
	{name: "no training", want: "++++!", rsl: `<content url="/"><license><prohibits type="usage">ai-train</prohibits></license></content>`},
	{name: "no AI", want: "+++!!", rsl: `<content url="/"><license><prohibits type="usage">ai-all</prohibits></license></content>`},
	{name: "nothing at all", want: "!!!!!", rsl: `<content url="/"><license><prohibits type="usage">all</prohibits></license></content>`},
	{name: "all permitted", want: "+++++", rsl: `<content url="/"><license><permits type="usage">all</permits></license></content>`},
	{name: "all but training", want: "++++!", rsl: `<content url="/"><license><permits type="usage">all</permits><prohibits type="usage">ai-train</prohibits></license></content>`},
	{name: "several words", want: "!!++!", rsl: `<content url="/"><license><permits type="usage">search,ai-input</permits></license></content>`},
	{name: "words with spaces", want: "!!++!", rsl: `<content url="/"><license><permits type="usage">search ai-index</permits></license></content>`},
	{name: "an index forbids input", want: "+++!+", rsl: `<content url="/"><license><prohibits type="usage">ai-index</prohibits></license></content>`},
	{name: "payment", want: "$$$$!", rsl: `<content url="/"><license><prohibits type="usage">ai-train</prohibits><payment type="crawl"><amount currency="USD">0.015</amount></payment></license></content>`},
	{name: "payment for training", want: "!!!!$", rsl: `<content url="/"><license><permits type="usage">ai-train</permits><payment type="training"/></license></content>`},
	{name: "free", want: "+++++", rsl: `<content url="/"><license><payment type="free"/></license></content>`},
	{name: "attribution", want: "?????", rsl: `<content url="/"><license><permits type="usage">all</permits><payment type="attribution"/></license></content>`},
	{name: "a licence server", want: "$$$$$", rsl: `<content url="/" server="https://rsl.example/api"><license><permits type="usage">all</permits><payment type="free"/></license></content>`},
	{name: "users", want: "?????", rsl: `<content url="/"><license><permits type="user">education</permits></license></content>`},
	{name: "alternatives", want: "!!+!$", rsl: `<content url="/"><license><permits type="usage">search</permits></license><license><permits type="usage">ai-train</permits><payment type="training"/></license></content>`},
	{name: "the longest url", want: "+++++", rsl: `<content url="/"><license><prohibits type="usage">all</prohibits></license></content><content url="/a"><license><permits type="usage">all</permits></license></content>`},
	{name: "an absolute url", want: "++++!", rsl: `<content url="https://a.example/"><license><prohibits type="usage">ai-train</prohibits></license></content>`},
	{name: "a url of another site", want: ".....", rsl: `<content url="https://b.example/"><license><prohibits type="usage">all</prohibits></license></content>`},
	{name: "a url with a pattern", want: "++++!", rsl: `<content url="/*.html$"><license><prohibits type="usage">ai-train</prohibits></license></content>`, path: "/d/x.html"},
	{name: "no terms", want: ".....", rsl: `<content url="/"/>`},
	{name: "unknown elements", want: "++++!", rsl: `<content url="/"><schema>x</schema><license><legal type="warranty">y</legal><prohibits type="usage">ai-train</prohibits><foo><permits type="usage">all</permits></foo></license></content>`},
	{name: "unknown words", want: "!!!!!", rsl: `<content url="/"><license><permits type="usage">holodeck</permits></license></content>`},
	{name: "an entity of the author", want: "...!!", rsl: `<content url="/"><license><permits type="usage">&all;</permits></license></content>`},
	{name: "half a document", want: "...!!", rsl: `<content url="/"><license>`},

	// Statuses.
	{name: "402 with a price", want: "$$$$$", status: 402, header: "Crawler-Price: USD 0.01"},
	{name: "402 of x402", want: "$$$$$", status: 402, body: `{"x402Version":1,"accepts":[{"maxAmountRequired":"10000","asset":"USDC","network":"base"}]}`},
	{name: "402 alone", want: "$$$$$", status: 402, header: "Crawler-Price: free beer"},
	{name: "402 with an error", want: "$$$$$", status: 402, header: "Crawler-Error: MissingCrawlerPrice"},
	{name: "401 for a licence", want: "$$$$$", status: 401, header: `WWW-Authenticate: License error="invalid_token"`},
	{name: "401 for a password", want: ".....", status: 401, header: `WWW-Authenticate: Basic realm="x"`},
	{name: "200 with a price", want: ".....", status: 200, header: "Crawler-Price: USD 0.01"},

	{name: "ten contradictions", want: "+++!!", robots: all + "Content-Usage: train-ai=y\nContent-Signal: ai-train=yes, ai-input=yes, search=yes\n", header: "Content-Usage: train-ai=n\nTDM-Reservation: 0\nContent-Signal: ai-train=yes",
		metas: "tdm-reservation=1\nrobots=index", tdm: `[{"location":"/","tdm-reservation":0}]`, rsl: `<content url="/"><license><permits type="usage">all</permits></license></content>`},
}

// page returns the vector's page.
func (v vector) page(t testing.TB) consent.Page {
	t.Helper()
	path := v.path
	if path == "" {
		path = "/a"
	}
	u, err := weburl.Parse("https://a.example" + path)
	if err != nil {
		t.Fatal(err)
	}
	p := consent.Page{URL: u, Agent: "amble", Status: v.status, Header: http.Header{}, Body: []byte(v.body)}
	if v.robots != "" {
		p.Robots = robots.Parse([]byte(v.robots)).For("amble")
	}
	for line := range strings.Lines(v.header) {
		name, value, _ := strings.Cut(line, ":")
		p.Header.Add(name, strings.TrimSpace(value))
	}
	for line := range strings.Lines(v.metas) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		p.Metas = append(p.Metas, robots.Meta{Name: name, Content: value})
	}
	if v.tdm != "" {
		if p.TDM, err = consent.ParseTDM("https://a.example"+consent.TDMPath, []byte(v.tdm)); err != nil {
			t.Fatal(err)
		}
	}
	if v.rsl != "" {
		p.Licenses = append(p.Licenses, consent.ParseLicense("https://a.example/license.xml", []byte(document(v.rsl))))
	}
	return p
}

func document(elements string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><rsl xmlns="https://rslstandard.org/rsl" max-age="7">` + elements + `</rsl>`
}

// signs returns the verdict of each purpose.
func signs(r consent.Record) string {
	var b strings.Builder
	for _, p := range consent.Purposes() {
		b.WriteByte(".+?$!"[r.For(p).Effect])
	}
	return b.String()
}

func TestStatementsDecide(t *testing.T) {
	for _, v := range vectors {
		r := consent.Read(v.page(t))
		if got := signs(r); got != v.want {
			t.Errorf("%s: %s, want %s", v.name, got, v.want)
			for _, s := range r.Statements {
				t.Logf("  %s", s)
			}
		}
	}
}

func TestAllStatementsAreKept(t *testing.T) {
	v := vectors[len(vectors)-1]
	if got := consent.Read(v.page(t)); len(got.Statements) != 10 {
		t.Errorf("%d statements: %v", len(got.Statements), got.Statements)
	}
	for _, s := range []struct{ robots, want string }{
		{all + "Content-Usage: bots=n\n", "Content-Usage: bots=n (robots.txt, line 3)"},
		{all + "Content-Signal: use=sideways\n", "Content-Signal: use=sideways (robots.txt, line 3)"},
		{managed, "Content-Signal: search=yes,ai-train=no,use=reference (robots.txt, line 2)"},
	} {
		r := consent.Read(vector{robots: s.robots}.page(t))
		if len(r.Statements) == 0 || r.Statements[0].String() != s.want {
			t.Errorf("%v, want %s", r.Statements, s.want)
		}
	}
}

func TestVerdictOfSeveralPurposes(t *testing.T) {
	r := consent.Read(vector{robots: managed}.page(t))
	v := r.For(consent.Research, consent.Search, consent.TrainAI)
	if !v.Refused() || v.Purpose != consent.TrainAI {
		t.Errorf("%+v", v)
	}
	if want := "train-ai is forbidden by Content-Signal: search=yes,ai-train=no,use=reference (robots.txt, line 2)"; v.String() != want {
		t.Errorf("%s, want %s", v, want)
	}
	if r.For(consent.Research).Refused() || r.For(consent.AIInput).Refused() {
		t.Error("refused")
	}
}

func TestCosts(t *testing.T) {
	for _, c := range []struct {
		v    vector
		want consent.Cost
	}{
		{vector{status: 402, header: "Crawler-Price: USD 0.01"}, consent.Cost{Amount: "0.01", Currency: "USD", Per: "request"}},
		{vector{status: 402, header: "Crawler-Price: 0.50 eur"}, consent.Cost{Amount: "0.50", Currency: "EUR", Per: "request"}},
		{vector{status: 402, body: `{"x402Version":1,"accepts":[{"maxAmountRequired":"10000","asset":"USDC","network":"base"}]}`}, consent.Cost{Amount: "10000", Currency: "USDC base", Per: "request"}},
		{vector{rsl: `<content url="/"><license><payment type="crawl"><amount currency="USD">0.015</amount></payment></license></content>`}, consent.Cost{Amount: "0.015", Currency: "USD", Per: "crawl"}},
	} {
		if got := consent.Read(c.v.page(t)).Costs; len(got) != 1 || got[0] != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	for _, junk := range []string{"", "USD", "USD -1", "USD 1e9", "USD NaN", "US 1", "1 2", "USD 1 2"} {
		if got := consent.Read(vector{status: 402, header: "Crawler-Price: " + junk}.page(t)); len(got.Costs) != 0 || len(got.Statements) != 1 {
			t.Errorf("%q: %v", junk, got)
		}
	}
}

func TestNamedLicenses(t *testing.T) {
	p := vector{
		robots: "License: /rsl.xml\nUser-agent: *\nLicense: https://licences.example/a\n",
		header: `Link: </b>; rel="license"; type="application/rsl+xml", </cc>; rel=license, <c>; type="Application/RSL+xml"; rel="next license"` + "\nLink: </rsl.xml>; rel=license; type=application/rsl+xml",
	}.page(t)
	p.Links = []string{"https://a.example/d", "ftp://a.example/e"}
	want := "https://a.example/rsl.xml https://licences.example/a https://a.example/b https://a.example/c https://a.example/d"
	if got := strings.Join(p.Named(), " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestLicensesThatCannotBeRead(t *testing.T) {
	bomb := `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">&b;</permits></license></content></rsl>`
	for name, body := range map[string]string{
		"empty":        "",
		"HTML":         "<!doctype html><title>Not found</title>",
		"bomb":         bomb,
		"no namespace": `<rsl><content url="/"/></rsl>`,
		"another root": `<feed xmlns="https://rslstandard.org/rsl"/>`,
		"deep":         document(strings.Repeat("<a>", 1000) + strings.Repeat("</a>", 1000)),
		"many":         document(strings.Repeat("<a/>", 60_000)),
		"long":         document("<!--" + strings.Repeat("x", 10<<20) + "-->"),
		"UTF-16":       `<?xml version="1.0" encoding="UTF-16"?><rsl xmlns="https://rslstandard.org/rsl"/>`,
		"two roots":    document("") + document(""),
	} {
		l := consent.ParseLicense("https://a.example/rsl", []byte(body))
		if l.Err() == nil && name != "two roots" {
			t.Errorf("%s: no error", name)
			continue
		}
		if name == "two roots" {
			continue
		}
		p := vector{}.page(t)
		p.Licenses = []*consent.License{l}
		if got := signs(consent.Read(p)); got != "...!!" {
			t.Errorf("%s: %s", name, got)
		}
	}
	p := vector{}.page(t)
	p.Licenses = []*consent.License{consent.Unread("https://a.example/rsl", errors.New("status 404"))}
	if v := consent.Read(p).For(consent.TrainAI); v.String() != "train-ai is forbidden by license: cannot be read: status 404 (https://a.example/rsl)" {
		t.Error(v)
	}
}

func TestReservationsThatCannotBeRead(t *testing.T) {
	for _, body := range []string{"", "{}", "null and void", "<html>", `[{"location":"/"`, strings.Repeat(" ", 2<<20) + "[]"} {
		if _, err := consent.ParseTDM("https://a.example/x", []byte(body)); err == nil {
			t.Errorf("%.20q: no error", body)
		}
	}
}

// FuzzRead looks for input that panics, that makes no valid text, or whose verdict depends on the order of reading.
func FuzzRead(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.robots, v.header, v.metas, v.tdm, v.rsl, v.status, v.body)
	}
	f.Fuzz(func(t *testing.T, robotsTxt, header, metas, tdm, rsl string, status int, body string) {
		p := vector{robots: robotsTxt, header: header, metas: metas, status: status, body: body}.page(t)
		p.TDM, _ = consent.ParseTDM("https://a.example/t", []byte(tdm))
		p.Licenses = append(p.Licenses, consent.ParseLicense("https://a.example/l", []byte(document(rsl))))
		p.Named()
		r := consent.Read(p)
		for _, s := range r.Statements {
			if len(s.Text) > 1024 || strings.ToValidUTF8(s.Text, "") != s.Text {
				t.Errorf("text %q", s.Text)
			}
		}
		if again := signs(consent.Read(p)); again != signs(r) {
			t.Errorf("%s, then %s", signs(r), again)
		}
	})
}

// TestStandardsAreDocumented expects each standard's version on the page about politeness.
func TestStandardsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../docs/politeness.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range consent.Standards() {
		if !strings.Contains(strings.ReplaceAll(string(page), "`", ""), "| "+s.Name+" | "+s.Version+" |") {
			t.Errorf("docs/politeness.md does not have %s (%s)", s.Version, s.Name)
		}
	}
	for _, p := range consent.Purposes() {
		if again, err := consent.ParsePurpose(p.String()); again != p || err != nil {
			t.Errorf("%s: %v, %v", p, again, err)
		}
	}
	if _, err := consent.ParsePurpose("fun"); err == nil {
		t.Error("no error")
	}
}
