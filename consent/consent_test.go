package consent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// vector is a page and the meaning of its site's statements: one sign for each purpose, in the order of Purposes. The signs are "." for
// silent, "+" for allows, "?" for a condition that can be met, "$" for a condition that a crawl never meets, and "!" for forbids.
type vector struct {
	Name   string
	Want   string
	Robots string
	Header string // lines of NAME: VALUE
	Metas  string // lines of name=content
	TDM    string
	RSL    string // the elements inside <rsl>
	Status int
	Body   string
	Path   string // "" means "/a"
}

// vectors are examples from the drafts, the managed robots.txt of large networks, and contradictory statements. The command's tests crawl
// them, too.
var vectors = sync.OnceValue(func() (list []vector) {
	b, err := os.ReadFile(filepath.Join("testdata", "vectors.jsonl"))
	if err != nil {
		panic(err)
	}
	for line := range bytes.Lines(b) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			panic(err)
		}
		list = append(list, v)
	}
	return list
})

// managed is the managed robots.txt of a large network, reduced to the lines that are read.
const managed = "User-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n"

const all = "User-agent: *\nAllow: /\n"

// page returns the vector's page.
func (v vector) page(t testing.TB) consent.Page {
	t.Helper()
	path := v.Path
	if path == "" {
		path = "/a"
	}
	u, err := weburl.Parse("https://a.example" + path)
	if err != nil {
		t.Fatal(err)
	}
	p := consent.Page{URL: u, Agent: "amble", Status: v.Status, Header: http.Header{}, Body: []byte(v.Body)}
	if v.Robots != "" {
		p.Robots = robots.Parse([]byte(v.Robots)).For("amble")
	}
	for line := range strings.Lines(v.Header) {
		name, value, _ := strings.Cut(line, ":")
		p.Header.Add(name, strings.TrimSpace(value))
	}
	for line := range strings.Lines(v.Metas) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		p.Metas = append(p.Metas, robots.Meta{Name: name, Content: value})
	}
	if v.TDM != "" {
		if p.TDM, err = consent.ParseTDM("https://a.example"+consent.TDMPath, []byte(v.TDM)); err != nil {
			t.Fatal(err)
		}
	}
	if v.RSL != "" {
		p.Licenses = append(p.Licenses, consent.ParseLicense("https://a.example/license.xml", []byte(document(v.RSL))))
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
	for _, v := range vectors() {
		r := consent.Read(v.page(t))
		if got := signs(r); got != v.Want {
			t.Errorf("%s: %s, want %s", v.Name, got, v.Want)
			for _, s := range r.Statements {
				t.Logf("  %s", s)
			}
		}
	}
}

func TestAllStatementsAreKept(t *testing.T) {
	v := vectors()[len(vectors())-1]
	if got := consent.Read(v.page(t)); len(got.Statements) != 10 {
		t.Errorf("%d statements: %v", len(got.Statements), got.Statements)
	}
	for _, s := range []struct{ robots, want string }{
		{all + "Content-Usage: bots=n\n", "Content-Usage: bots=n (robots.txt, line 3)"},
		{all + "Content-Signal: use=sideways\n", "Content-Signal: use=sideways (robots.txt, line 3)"},
		{managed, "Content-Signal: search=yes,ai-train=no,use=reference (robots.txt, line 2)"},
	} {
		r := consent.Read(vector{Robots: s.robots}.page(t))
		if len(r.Statements) == 0 || r.Statements[0].String() != s.want {
			t.Errorf("%v, want %s", r.Statements, s.want)
		}
	}
}

func TestVerdictOfSeveralPurposes(t *testing.T) {
	r := consent.Read(vector{Robots: managed}.page(t))
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
		{vector{Status: 402, Header: "Crawler-Price: USD 0.01"}, consent.Cost{Amount: "0.01", Currency: "USD", Per: "request"}},
		{vector{Status: 402, Header: "Crawler-Price: 0.50 eur"}, consent.Cost{Amount: "0.50", Currency: "EUR", Per: "request"}},
		{vector{Status: 402, Body: `{"x402Version":1,"accepts":[{"maxAmountRequired":"10000","asset":"USDC","network":"base"}]}`}, consent.Cost{Amount: "10000", Currency: "USDC base", Per: "request"}},
		{vector{RSL: `<content url="/"><license><payment type="crawl"><amount currency="USD">0.015</amount></payment></license></content>`}, consent.Cost{Amount: "0.015", Currency: "USD", Per: "crawl"}},
	} {
		if got := consent.Read(c.v.page(t)).Costs; len(got) != 1 || got[0] != c.want {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	for _, junk := range []string{"", "USD", "USD -1", "USD 1e9", "USD NaN", "US 1", "1 2", "USD 1 2"} {
		if got := consent.Read(vector{Status: 402, Header: "Crawler-Price: " + junk}.page(t)); len(got.Costs) != 0 || len(got.Statements) != 1 {
			t.Errorf("%q: %v", junk, got)
		}
	}
}

// TestGarbageInHeaders checks that an unreadable header means nothing and never hides another header.
func TestGarbageInHeaders(t *testing.T) {
	for _, name := range []string{
		"Content-Usage", "Content-Signal", "X-Robots-Tag", "Robots-Tag", "TDM-Reservation", "TDM-Policy", "Link", "Crawler-Price", "Crawler-Error", "WWW-Authenticate",
	} {
		for _, junk := range []string{
			"", ",", ";=;=", "()", `"`, "\x00\xff\xfe", "=?", "<", "<>;", `<a>; rel="`, "train-ai", "n=train-ai", "1e9", "-1", "%%%", "\u2028n",
			strings.Repeat(",;=", 20_000), strings.Repeat("a", 70_000), strings.Repeat("(", 10_000), strings.Repeat("a=b,", 10_000),
		} {
			p := vector{}.page(t)
			p.Header = http.Header{http.CanonicalHeaderKey(name): {junk}}
			r := consent.Read(p)
			if got := signs(r); got != "....." || len(p.Named()) > 0 {
				t.Errorf("%s: %.20q: %s, %v", name, junk, got, p.Named())
			}
			for _, s := range r.Statements {
				if len(s.Text) > 1024 || !utf8.ValidString(s.Text) {
					t.Errorf("%s: %.20q: the text %.40q is kept", name, junk, s.Text)
				}
			}
			p.Header["Tdm-Reservation"] = append(p.Header["Tdm-Reservation"], "1")
			p.Metas = append(p.Metas, robots.Meta{Name: "robots", Content: "noindex"})
			if got := signs(consent.Read(p)); got != "..!!!" {
				t.Errorf("%s: %.20q hides what the page says: %s", name, junk, got)
			}
		}
	}
}

func TestNamedLicenses(t *testing.T) {
	p := vector{
		Robots: "License: /rsl.xml\nUser-agent: *\nLicense: https://licences.example/a\n",
		Header: `Link: </b>; rel="license"; type="application/rsl+xml", </cc>; rel=license, <c>; type="Application/RSL+xml"; rel="next license"` + "\nLink: </rsl.xml>; rel=license; type=application/rsl+xml",
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

// FuzzRead looks for input that panics, produces invalid text, or has a verdict that depends on the order of reading.
func FuzzRead(f *testing.F) {
	for _, v := range vectors() {
		f.Add(v.Robots, v.Header, v.Metas, v.TDM, v.RSL, v.Status, v.Body)
	}
	f.Fuzz(func(t *testing.T, robotsTxt, header, metas, tdm, rsl string, status int, body string) {
		p := vector{Robots: robotsTxt, Header: header, Metas: metas, Status: status, Body: body}.page(t)
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

// TestStandardsAreDocumented checks that docs/politeness.md names the version of each standard.
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

// TestWiderUsesAreRefused checks that a use is refused by a statement about a use that includes it, and by any of its names.
func TestWiderUsesAreRefused(t *testing.T) {
	u, err := weburl.Parse("https://h.test/")
	if err != nil {
		t.Fatal(err)
	}
	mining := consent.Read(consent.Page{URL: u, Header: http.Header{"Tdm-Reservation": {"1"}}})
	training := consent.Read(consent.Page{URL: u, Header: http.Header{"Content-Usage": {"train-ai=n"}}})
	for _, c := range []struct {
		record consent.Record
		use    string
		want   bool
	}{
		{mining, "tdm", true}, {mining, "train-ai", true}, {mining, "search", false},
		{training, "train-ai", true}, {training, "ai-train", true}, {training, "train-ai-image", true}, {training, "tdm", false},
	} {
		if got := (consent.Policy{Uses: []string{c.use}}).Judge(c.record).Refused(); got != c.want {
			t.Errorf("%s: refused %t, want %t", c.use, got, c.want)
		}
	}
}
