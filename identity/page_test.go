package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func mustPage(t testing.TB, p Profile) []byte {
	t.Helper()
	b, err := p.page([]string{vectorKeyID}, start)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// nodes returns the elements of a page in document order.
func nodes(t testing.TB, page []byte) []*html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var list []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			list = append(list, n)
		}
	}
	return list
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// The page has the content that cbcp-00 section 2.6 requires, taken from the Profile.
func TestPageSaysWhatItMust(t *testing.T) {
	p := testProfile()
	p.Hours, p.Exceptions = "22:00 to 06:00 UTC", "None."
	text := readPage(mustPage(t, p)).text
	for _, want := range []string{
		"Web Measurement Lab", "crawl@lab.university.edu", "We study how public bodies publish documents.", "Text and metadata, for two years.", "research",
		"User-agent: labbot\nDisallow: /", "User-agent: labbot\nCrawl-delay: 10", "at least 1.5 seconds", "up to 5 minutes", "at most 500 in a crawl",
		"22:00 to 06:00 UTC", "labbot/1.2 (+https://lab.university.edu/crawl)", "198.51.100.16/30", "2001:db8:7::4/126", vectorKeyID,
		"Pages are not rendered", "amble explain --robots", "Retry-After: 3600", "22 November 2026", "https://lab.university.edu/.well-known/http-message-signatures-directory",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for name, c := range map[string]struct {
		change func(*Profile)
		want   string
	}{
		"rendered":     {func(p *Profile) { p.Rendered = true }, "Pages are rendered"},
		"no addresses": {func(p *Profile) { p.Addresses = nil }, "not published"},
		"never signed": {func(p *Profile) { p.Sign = Never }, "requests are not signed"},
		"all signed":   {func(p *Profile) { p.Sign = Always }, "All our requests over https are signed"},
		"no delay":     {func(p *Profile) { p.Delay = 0 }, "no pause"},
		"many addresses": {func(p *Profile) {
			for i := range 20 {
				p.Addresses = append(p.Addresses, netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), 32))
			}
		}, "and 14 more"},
	} {
		p := testProfile()
		c.change(&p)
		if text := readPage(mustPage(t, p)).text; !strings.Contains(text, c.want) {
			t.Errorf("%s: the page does not say %q", name, c.want)
		}
	}
}

// Every Profile value is plain text on the page and cannot create an element, an attribute or a link.
func TestPageEscapes(t *testing.T) {
	plain := testProfile()
	hostile := testProfile()
	const evil = `</pre></style><script>alert(1)</script><img src=x onerror=alert(1)> " ' {{.}} javascript:alert(1) &lt;` + "\u202e"
	hostile.Operator, hostile.Why, hostile.Kept, hostile.Purpose, hostile.Hours, hostile.Exceptions = evil, evil, evil, evil, evil, evil
	hostile.UserAgent = "labbot " + evil
	plain.Hours, plain.Exceptions = "x", "x"
	shape := func(p Profile) (names []string) {
		for _, n := range nodes(t, mustPage(t, p)) {
			names = append(names, n.Data)
			for _, a := range n.Attr {
				names = append(names, a.Key)
				if strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "javascript:") {
					t.Errorf("%s %s=%q", n.Data, a.Key, a.Val)
				}
			}
		}
		return names
	}
	if a, b := shape(plain), shape(hostile); !slices.Equal(a, b) {
		t.Errorf("the page's elements differ:\n%q\n%q", a, b)
	}
	if text := readPage(mustPage(t, hostile)).text; strings.Count(text, evil) != 7 {
		t.Errorf("the text is on the page %d times", strings.Count(text, evil))
	}
}

// The page runs no script and loads nothing, and its content security policy allows its own style.
func TestPageLoadsNothing(t *testing.T) {
	page := mustPage(t, testProfile())
	policy := ""
	for _, n := range nodes(t, page) {
		switch n.Data {
		case "script", "img", "iframe", "object", "embed", "form", "video", "audio", "svg":
			t.Errorf("<%s>", n.Data)
		case "meta":
			if strings.EqualFold(attr(n, "http-equiv"), "Content-Security-Policy") {
				policy = attr(n, "content")
			}
		case "link":
			if r := attr(n, "rel"); r != "client-ranges" && r != "describedby" {
				t.Errorf("<link rel=%q>", r)
			}
		case "style":
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"; policy != want {
				t.Errorf("policy %q", policy)
			}
			if strings.Contains(n.FirstChild.Data, "url(") || strings.Contains(n.FirstChild.Data, "@import") {
				t.Error("the style loads something")
			}
		}
		if attr(n, "style") != "" || attr(n, "src") != "" {
			t.Errorf("%s has a style or src attribute", n.Data)
		}
	}
	if policy == "" {
		t.Error("no policy")
	}
	if len(page) > 16<<10 {
		t.Errorf("%d bytes", len(page))
	}
}

// The page has landmarks, one h1, headings in order, unique ids, and link texts.
func TestPageIsAccessible(t *testing.T) {
	list := nodes(t, mustPage(t, testProfile()))
	count := map[string]int{}
	ids := map[string]bool{}
	level := 0
	for _, n := range list {
		count[n.Data]++
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q twice", id)
			}
			ids[id] = true
		}
		if len(n.Data) == 2 && n.Data[0] == 'h' && '1' <= n.Data[1] && n.Data[1] <= '6' {
			l := int(n.Data[1] - '0')
			if l > level+1 {
				t.Errorf("h%d after h%d", l, level)
			}
			level = l
		}
		switch n.Data {
		case "html":
			if attr(n, "lang") != "en" {
				t.Error("no language")
			}
		case "a":
			if n.FirstChild == nil || strings.TrimSpace(n.FirstChild.Data) == "" || n.FirstChild.Data == "here" {
				t.Errorf("link to %s has no words", attr(n, "href"))
			}
		}
	}
	for name, want := range map[string]int{"h1": 1, "main": 1, "header": 1, "footer": 1, "title": 1} {
		if count[name] != want {
			t.Errorf("%d <%s>", count[name], name)
		}
	}
	for _, id := range []string{"who", "why", "kept", "pace", "stop", "slow", "know"} {
		if !ids[id] {
			t.Errorf("no #%s", id)
		}
	}
}

// Text and links have a contrast of at least 4.5 to 1 in both colour schemes (WCAG 2.2, 1.4.3).
func TestPageContrast(t *testing.T) {
	schemes := regexp.MustCompile(`:root \{([^}]*)\}`).FindAllStringSubmatch(pageCSS, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d schemes", len(schemes))
	}
	for i, s := range schemes {
		color := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]{6})`).FindAllStringSubmatch(s[1], -1) {
			color[m[1]] = luminance(t, m[2])
		}
		for _, pair := range [][2]string{{"ink", "paper"}, {"soft", "paper"}, {"link", "paper"}, {"ink", "box"}} {
			a, b := color[pair[0]], color[pair[1]]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 || a == 0 && b == 0 {
				t.Errorf("scheme %d: %s on %s: %.1f", i, pair[0], pair[1], ratio)
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestLinkHeader(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{`<a>; rel="client-ranges"`, []string{"a"}},
		{`<a>; rel=client-ranges`, []string{"a"}},
		{`<b>; rel="next", <a>; type="x"; REL="Other Client-Ranges", <c>; rel=client-ranges`, []string{"a", "c"}},
		{`<a>; rel="next"; title="client-ranges"`, nil},
		{`<a>`, nil},
		{`<a`, nil},
		{`a>; rel=client-ranges`, nil},
		{``, nil},
		{strings.Repeat("<", 100000), nil},
		{strings.Repeat("<a>;rel=x,", 10000), nil},
	} {
		if got := linkHeader([]string{c.line}, "client-ranges"); !slices.Equal(got, c.want) {
			t.Errorf("%.60s: %q", c.line, got)
		}
	}
}
