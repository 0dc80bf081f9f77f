package crawler_test

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// web is a case on the simulated web, in virtual time, with default limits unless set changes them. set builds the web;
// at is the URL whose visit is shown, by default the seed.
type web struct {
	group, does string
	set         func(s *crawltest.Site, c *crawler.Config)
	at          string
	see         func(v *crawler.Visit) string  // describes the visit
	tell        func(r *crawler.Report) string // describes the crawl
}

// body answers every request for "/" on a site with a body and header fields.
func body(b []byte, header ...string) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, _ *crawler.Config) {
		s.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // so that net/http does not guess
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			_, _ = w.Write(b)
		}))
	}
}

func fault(f crawltest.Fault) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, _ *crawler.Config) {
		s.Page("/", strings.Repeat("more and more ", 10_000)).Fault(f)
	}
}

func siteFault(f crawltest.Fault) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, _ *crawler.Config) { s.Page("/", "").Site().Fault(f) }
}

func redirect(to string) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, c *crawler.Config) {
		s.Redirect("/", to)
		c.Scope.Kind, c.Limits.Pages = crawler.ScopeAny, 100
		c.Fetch.AllowAddresses = nil
	}
}

func encoded(t testing.TB, e encoding.Encoding, text string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func charset(v *crawler.Visit) string {
	sure := "a guess"
	if v.Page.CharsetCertain {
		sure = "certain"
	}
	return fmt.Sprintf("%s by %s, %s; title %s", v.Page.Charset, v.Page.CharsetFrom, sure, v.Doc.Title)
}

func note(v *crawler.Visit) string {
	text, err := v.Page.Text()
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(fmt.Sprintf("%s; %.20s", v.Page.Note, text), "; ")
}

func mediaType(v *crawler.Visit) string {
	s := v.Page.ContentType
	if v.Page.Sniffed {
		s += ", by its content"
	}
	if v.Doc == nil {
		return s + "; not parsed"
	}
	return fmt.Sprintf("%s; %d links", s, len(v.Doc.Links))
}

func fates(v *crawler.Visit) string {
	n := map[crawler.Fate]int{}
	for _, l := range v.Links() {
		n[l.Fate]++
	}
	s := fmt.Sprintf("%d links followed", n[crawler.FateFollow])
	if v.Doc.Dropped > 0 {
		s += fmt.Sprintf(", %d beyond the limit", v.Doc.Dropped)
	}
	if k := n[crawler.FateInvalid] + n[crawler.FateTrap]; k > 0 {
		s += fmt.Sprintf(", %d refused", k)
	}
	return s
}

func hops(v *crawler.Visit) string { return fmt.Sprintf("after %d redirects", len(v.Hops)) }

func attempts(v *crawler.Visit) string {
	if v.Attempt == 0 {
		return "at the first attempt"
	}
	return fmt.Sprintf("after %d attempts", v.Attempt+1)
}

func size(v *crawler.Visit) string { return fmt.Sprintf("%d bytes kept", len(v.Page.Body)) }

func failing(v *crawler.Visit) string {
	if v.Err != nil && v.Outcome == crawler.Deferred {
		return firstWords(v.Err)
	}
	if v.Detail != "" {
		return v.Detail
	}
	return attempts(v)
}

// firstWords returns the stable parts of an error: package, phase and reason code.
func firstWords(err error) string {
	parts := strings.SplitN(err.Error(), ": ", 5)
	return strings.Join(parts[:min(4, len(parts))], ": ")
}

// stack says whether a visit's error contains the stack of a panic.
func stack(v *crawler.Visit) string {
	if v.Err == nil || !strings.Contains(v.Err.Error(), "\ngoroutine ") {
		return "without a stack"
	}
	return "the error has the stack"
}

func limitCases() []web {
	long := "/" + strings.Repeat("x", 3000)
	return []web{
		{"Limits", "no answer from the DNS", siteFault(crawltest.DNSTimeout()), "", attempts, nil},
		{"Limits", "no connection is established", func(s *crawltest.Site, c *crawler.Config) {
			siteFault(crawltest.NoConnect())(s, c)
			beside(c)
		}, "", failing, nil},
		{"Limits", "no connection is established, and no other host ever answered", siteFault(crawltest.NoConnect()), "", nil, inVain},
		{"Limits", "connections are refused, and no other host ever answered", siteFault(crawltest.Refuse()), "", nil, inVain},
		{"Limits", "a TLS handshake without an answer", silentTLS, "https://silent.example/", failing, nil},
		{"Limits", "a request without an answer", fault(crawltest.Hang()), "", attempts, nil},
		{"Limits", "silence in the middle of the body", fault(crawltest.Stall(5000)), "", size, nil},
		{"Limits", "a byte per second, for longer than a fetch may take", fault(crawltest.Slow(1, time.Second)), "", nil, nil},
		{"Limits", "100 bytes per second, where at least 1,000 are required", func(s *crawltest.Site, c *crawler.Config) {
			c.Fetch.MinRate = 1000
			fault(crawltest.Slow(100, time.Second))(s, c)
		}, "", nil, nil},
		{"Limits", "an answer of an unwanted type", func(s *crawltest.Site, c *crawler.Config) {
			c.Fetch.Wanted = func(t string) bool { return t == "text/html" }
			s.Page("/", strings.Repeat("x", 1<<20)).Type("video/mp4")
		}, "", size, nil},
		{"Limits", "a link of 3,000 bytes", func(s *crawltest.Site, _ *crawler.Config) { s.Page("/", links(long, "/x")); s.Page("/x", "") }, "", fates, nil},
		{"Limits", "12,000 links on a page", func(s *crawltest.Site, c *crawler.Config) {
			c.Limits.Depth = crawler.SeedsOnly
			s.Page("/", strings.Repeat("<a href=/x>x</a>", 12_000))
		}, "", func(v *crawler.Visit) string {
			return fmt.Sprintf("%d links read, %d beyond the limit", len(v.Doc.Links), v.Doc.Dropped)
		}, nil},
		{"Limits", "one byte that decompresses to a hundred, where at most twenty are allowed", func(s *crawltest.Site, c *crawler.Config) {
			c.Fetch.MaxRatio = 20
			body(packedWeb("gzip", 8<<20), "Content-Encoding", "gzip", "Content-Type", "text/html")(s, c)
		}, "", nil, nil},
	}
}

// beside adds a healthy site as a seed.
func beside(c *crawler.Config) {
	healthy := webOf(c).Site("http://healthy.example")
	healthy.Page("/", "")
	c.Seeds = []crawler.Request{{URL: healthy.URL("/")}}
}

func inVain(r *crawler.Report) string {
	return fmt.Sprintf("the crawl ends by %s after %v, %d URL left", r.Finish, r.Elapsed.Round(time.Second), r.Left)
}

// silentTLS creates a host that accepts connections but sends nothing.
func silentTLS(s *crawltest.Site, c *crawler.Config) {
	s.Page("/", links("https://silent.example/"))
	c.Scope.Kind, c.Limits.Pages = crawler.ScopeAny, 10
	dial, resolve := c.Fetch.DialContext, c.Fetch.Resolver
	silent := netip.MustParseAddr("192.31.196.250")
	c.Fetch.Resolver = resolver(func(ctx context.Context, network, host string) ([]netip.Addr, error) {
		if host == "silent.example" {
			return []netip.Addr{silent}, nil
		}
		return resolve.LookupNetIP(ctx, network, host)
	})
	c.Fetch.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != silent.String()+":443" {
			return dial(ctx, network, addr)
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close() //nolint:errcheck // closing a pipe cannot fail
			for b := make([]byte, 4096); ; {
				if _, err := theirs.Read(b); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}
}

type resolver func(ctx context.Context, network, host string) ([]netip.Addr, error)

func (r resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r(ctx, network, host)
}

func packedWeb(coding string, n int64) []byte { return packed(quiet{}, coding, n) }

// quiet is a testing.TB for calls that cannot fail.
type quiet struct{ testing.TB }

func (quiet) Helper() {}

func decodingCases() []web {
	var raw bytes.Buffer
	w, err := flate.NewWriter(&raw, 9)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write([]byte("<p>raw"))
	_ = w.Close()
	html := []string{"Content-Type", "text/html", "Content-Encoding"}
	as := func(coding string) []string { return append(html[:3:3], coding) }
	small := func(coding string) []byte { return packedText(coding, "<p>fine") }
	return []web{
		{"Decoding", "gzip", body(small("gzip"), as("gzip")...), "", note, nil},
		{"Decoding", "deflate, as in the standard", body(small("deflate"), as("deflate")...), "", note, nil},
		{"Decoding", "deflate without its envelope", body(raw.Bytes(), as("deflate")...), "", note, nil},
		{"Decoding", "brotli", body(small("br"), as("br")...), "", note, nil},
		{"Decoding", "zstd", body(small("zstd"), as("zstd")...), "", note, nil},
		{"Decoding", "plain text labelled as gzip", body([]byte("<p>plain"), as("gzip")...), "", note, nil},
		{"Decoding", "an unknown coding", body([]byte("<p>plain"), as("rot13")...), "", note, nil},
		{"Decoding", "garbage after the compressed stream", body(append(small("gzip"), "garbage"...), as("gzip")...), "", note, nil},
		{"Decoding", "gzip that ends too early", body(small("gzip")[:15], as("gzip")...), "", nil, nil},
	}
}

func packedText(coding, text string) []byte {
	var b bytes.Buffer
	w := packer(quiet{}, coding, &b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func charsetCases(t testing.TB) []web {
	const ja, zh, ru = "日本語の文章", "这是一段中文文字", "Это текст на русском языке, который написан для проверки"
	title := func(s string) string { return "<title>" + s + "</title><p>" + s }
	pad := strings.Repeat("<link rel=icon href=/a.ico>\n", 100)
	as := func(ct string) []string { return []string{"Content-Type", ct} }
	return []web{
		{"Charset", "UTF-16 with a byte order mark", body(encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), title(ru)), as("text/html; charset=utf-8")...), "", charset, nil},
		{"Charset", "UTF-16 without a byte order mark, declared in the header", body(encoded(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), title(ru)), as("text/html; charset=utf-16be")...), "", charset, nil},
		{"Charset", "windows-1251, declared in the header", body(encoded(t, charmap.Windows1251, title(ru)), as("text/html; charset=windows-1251")...), "", charset, nil},
		{"Charset", "Shift_JIS, declared in a META element after 2 KB", body(encoded(t, japanese.ShiftJIS, "<html><head>"+pad+"<meta charset=shift_jis>"+title(ja)), as("text/html")...), "", charset, nil},
		{"Charset", "GB18030, declared in a META element", body(encoded(t, simplifiedchinese.GB18030, "<meta charset=gb18030>"+title(zh)), as("text/html")...), "", charset, nil},
		{"Charset", "UTF-8, not declared", body([]byte(title(ja)), as("text/html")...), "", charset, nil},
		{"Charset", "windows-1251, not declared", body(encoded(t, charmap.Windows1251, title(ru)), as("text/html")...), "", charset, nil},
		{"Charset", "an unknown charset", body([]byte(title("x")), as("text/html; charset=utf-99")...), "", charset, nil},
	}
}

func typeCases() []web {
	const html = "<!doctype html><a href=/x>x</a>"
	return []web{
		{"Type", "HTML without a type", body([]byte(html)), "", mediaType, nil},
		{"Type", "HTML labelled as plain text", body([]byte(html), "Content-Type", "text/plain"), "", mediaType, nil},
		{"Type", "HTML labelled as an image", body([]byte(html), "Content-Type", "image/png"), "", mediaType, nil},
		{"Type", "PDF labelled as HTML", body([]byte("%PDF-1.7\n<a href=/x>"), "Content-Type", "text/html"), "", mediaType, nil},
		{"Type", "an invalid type", body([]byte(html), "Content-Type", "html"), "", mediaType, nil},
	}
}

func redirectCases() []web {
	return []web{
		{"Redirects", "a chain of twelve", func(s *crawltest.Site, _ *crawler.Config) { s.RedirectChain("/", 12, "/end"); s.Page("/end", "") }, "/-10", hops, nil},
		{"Redirects", "a chain of nine", func(s *crawltest.Site, _ *crawler.Config) { s.RedirectChain("/", 9, "/end"); s.Page("/end", "") }, "/end", hops, nil},
		{"Redirects", "a loop of three", func(s *crawltest.Site, _ *crawler.Config) {
			s.Redirect("/", "/b")
			s.Redirect("/b", "/c")
			s.Redirect("/c", "/b")
		}, "/c", hops, nil},
		{"Redirects", "a redirect to itself", redirect("/"), "", nil, nil},
		{"Redirects", "a loop of two", func(s *crawltest.Site, _ *crawler.Config) { s.Redirect("/", "/b"); s.Redirect("/b", "/") }, "/b", hops, nil},
		{"Redirects", "no Location", redirect(""), "", nil, nil},
		{"Redirects", "to ftp", redirect("ftp://a.example/"), "", nil, nil},
		{"Redirects", "to a URL with a password", redirect("http://user:secret@a.example/"), "", nil, nil},
		{"Redirects", "to a URL of 3,000 bytes", redirect("/" + strings.Repeat("x", 3000)), "/" + strings.Repeat("x", 3000), nil, nil},
		{"Redirects", "out of the scope", func(s *crawltest.Site, _ *crawler.Config) { s.Redirect("/", "http://other.example/") }, "http://other.example/", nil, nil},
		{"Redirects", "to a URL that robots.txt forbids", func(s *crawltest.Site, _ *crawler.Config) {
			s.Robots("User-agent: *\nDisallow: /no\n").Forbids("/no")
			s.Redirect("/", "/no")
		}, "/no", nil, nil},
	}
}

func addressCases() []web {
	var cases []web
	for _, a := range []struct{ does, url string }{
		{"loopback", "http://127.0.0.1/"}, {"loopback as one number", "http://2130706433/"}, {"loopback in octal", "http://0177.0.0.01/"},
		{"loopback in hexadecimal", "http://0x7f.1/"}, {"loopback of IPv6", "http://[::1]/"}, {"IPv4 loopback in IPv6", "http://[::ffff:127.0.0.1]/"},
		{"a private network", "http://10.1.2.3/"}, {"a private network of IPv6", "http://[fd00::1]/"}, {"link-local", "http://[fe80::1]/"},
		{"a cloud's metadata", "http://169.254.169.254/latest/"}, {"multicast", "http://224.0.0.1/"}, {"this host", "http://0.0.0.0/"},
		{"metadata through NAT64", "http://[64:ff9b::a9fe:a9fe]/"}, {"metadata through 6to4", "http://[2002:a9fe:a9fe::]/"},
		{"an address with a zone", "http://[fe80::1%25eth0]/"},
	} {
		cases = append(cases, web{"Addresses", "a link to " + a.does + ": " + a.url, linkTo(a.url), a.url, nil, nil})
	}
	return append(cases,
		web{"Addresses", "a redirect to loopback", redirect("http://127.0.0.1/"), "http://127.0.0.1/", nil, nil},
		web{"Addresses", "a name whose address is private", func(s *crawltest.Site, c *crawler.Config) {
			linkTo("http://inner.example/")(s, c)
			resolve := c.Fetch.Resolver
			c.Fetch.Resolver = resolver(func(ctx context.Context, network, host string) ([]netip.Addr, error) {
				if host == "inner.example" {
					return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
				}
				return resolve.LookupNetIP(ctx, network, host)
			})
		}, "http://inner.example/", nil, nil},
		web{"Addresses", "a name that first has a public address, then a private one", rebinding, "http://rebind.example/second", nil, nil},
		web{"Addresses", "a seed whose name has a private address", seedNamed([]string{inside}), "http://rebind.example/second", nil, nil},
		web{"Addresses", "a seed's name that first has a public address, then a private one", seedNamed([]string{outside}, []string{inside}), "http://rebind.example/second", nil, nil},
		web{"Addresses", "a seed's name that first has a private address, then another", seedNamed([]string{inside}, []string{"169.254.169.254"}), "http://rebind.example/second", nil, nil},
		web{"Addresses", "a seed's name with a public address that refuses connections, and a private one", seedNamed([]string{outside, inside}), "http://rebind.example/second", attempts, nil},
		web{"Addresses", "robots.txt redirected to a private address", func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", "")
			s.Redirect("/robots.txt", "http://10.0.0.1/robots.txt")
			c.Fetch.AllowAddresses = nil
		}, "", nil, nil},
		web{"Addresses", "a sitemap at a private address", func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", "").Site().Robots("Sitemap: http://10.0.0.1/sitemap.xml\n")
			c.Follow.Sitemaps, c.Scope.Kind, c.Limits.Pages, c.Fetch.AllowAddresses = true, crawler.ScopeAny, 100, nil
		}, "http://10.0.0.1/sitemap.xml", nil, nil},
		web{"Addresses", "a sitemap that lists a private address", func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", "").Site().Robots("Sitemap: /sitemap.xml\n")
			s.Page("/sitemap.xml", "<urlset><url><loc>http://10.0.0.1/</loc></url></urlset>").Type("application/xml")
			c.Follow.Sitemaps, c.Scope.Kind, c.Limits.Pages, c.Fetch.AllowAddresses = true, crawler.ScopeAny, 100, nil
		}, "http://10.0.0.1/", nil, nil},
		web{"Addresses", "a link to a port where mail is sent: http://a.example:25/", linkTo("http://a.example:25/"), "http://a.example:25/", nil, nil},
		web{"Addresses", "a redirect to the port of a window system: http://a.example:6000/", redirect("http://a.example:6000/"), "http://a.example:6000/", nil, nil},
		web{"Addresses", "a seed with a port of that kind", func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", "")
			c.Seeds = []crawler.Request{{URL: "http://a.example:22/"}}
		}, "http://a.example:22/", nil, nil},
		web{"Addresses", "a seed with a port of that kind that is allowed", func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", "")
			webOf(c).Site("http://b.example:22").Page("/", "")
			c.Seeds, c.Fetch.AllowPorts = []crawler.Request{{URL: "http://b.example:22/"}}, []uint16{22}
		}, "http://b.example:22/", nil, nil},
		web{"Addresses", "robots.txt redirected to a port of that kind", func(s *crawltest.Site, _ *crawler.Config) {
			s.Page("/", "")
			s.Redirect("/robots.txt", "http://a.example:22/robots.txt")
		}, "", nil, nil},
	)
}

// Addresses of a seed's name: outside belongs to the web, inside is in the operator's own network.
const outside, inside = "192.31.196.99", "10.0.0.1"

// seedNamed makes http://rebind.example a seed. Look-ups before the first page return the first answer, later look-ups the
// last one. The site is served at all of these addresses, but outside refuses connections after the first page.
func seedNamed(answers ...[]string) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, c *crawler.Config) {
		s.Page("/", "")
		other := webOf(c).Site("http://rebind.example").Address(slices.Concat(answers...)...)
		var served atomic.Bool
		other.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served.Store(true)
			w.Header().Set("Connection", "close")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, links("/second"))
		}))
		other.Page("/second", "")
		c.Seeds = []crawler.Request{{URL: other.URL("/")}}
		c.Fetch.AllowAddresses, c.Fetch.DNSTTL = nil, time.Millisecond
		dial, resolve := c.Fetch.DialContext, c.Fetch.Resolver
		c.Fetch.Resolver = resolver(func(ctx context.Context, network, host string) ([]netip.Addr, error) {
			if host != "rebind.example" {
				return resolve.LookupNetIP(ctx, network, host)
			}
			answer := answers[0]
			if served.Load() {
				answer = answers[len(answers)-1]
			}
			var addrs []netip.Addr
			for _, a := range answer {
				addrs = append(addrs, netip.MustParseAddr(a))
			}
			return addrs, nil
		})
		c.Fetch.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if served.Load() && addr == outside+":80" {
				return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
			}
			return dial(ctx, network, addr)
		}
	}
}

// rebinding creates a name whose address changes between two look-ups.
func rebinding(s *crawltest.Site, c *crawler.Config) {
	other := webOf(c).Site("http://rebind.example")
	other.Page("/", links("/second"))
	other.Page("/second", "")
	linkTo("http://rebind.example/")(s, c)
	c.Fetch.DNSTTL = time.Millisecond
	resolve := c.Fetch.Resolver
	asked := 0
	c.Fetch.Resolver = resolver(func(ctx context.Context, network, host string) ([]netip.Addr, error) {
		if host == "rebind.example" {
			if asked++; asked > 2 { // the first two look-ups are for robots.txt and the first page
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
		}
		return resolve.LookupNetIP(ctx, network, host)
	})
}

func linkTo(ref string) func(*crawltest.Site, *crawler.Config) {
	return func(s *crawltest.Site, c *crawler.Config) {
		s.Page("/", links(ref))
		c.Scope.Kind, c.Limits.Pages = crawler.ScopeAny, 100
		c.Fetch.AllowAddresses = nil
	}
}

func networkCases() []web {
	secure := func(f crawltest.Fault) func(*crawltest.Site, *crawler.Config) {
		return func(s *crawltest.Site, c *crawler.Config) {
			s.Page("/", links("https://secure.example/"))
			c.Scope.Kind, c.Limits.Pages = crawler.ScopeAny, 10
			webOf(c).Site("https://secure.example").Fault(f).Page("/", "")
		}
	}
	return []web{
		{"Names", "an unknown name", siteFault(crawltest.NXDomain()), "", attempts, nil},
		{"Names", "the DNS fails once", siteFault(crawltest.DNSFailure().First(1)), "", attempts, nil},
		{"Names", "the DNS fails throughout", siteFault(crawltest.DNSFailure()), "", attempts, nil},
		{"TLS", "an expired certificate", secure(crawltest.ExpiredCertificate()), "https://secure.example/", failing, nil},
		{"TLS", "a certificate for another name", secure(crawltest.WrongCertificate()), "https://secure.example/", failing, nil},
		{"TLS", "an alert", secure(crawltest.TLSAlert()), "https://secure.example/", failing, nil},
		{"TLS", "an issuer nobody knows", func(s *crawltest.Site, c *crawler.Config) {
			secure(crawltest.Fail(500).First(-1))(s, c)
			c.Fetch.RootCAs = nil
		}, "https://secure.example/", failing, nil},
	}
}

// paths returns /0, /1 and so on.
func paths(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("/%d", i))
	}
	return all
}

func retryCases() []web {
	many := func(n int, f crawltest.Fault) func(*crawltest.Site, *crawler.Config) {
		return func(s *crawltest.Site, c *crawler.Config) {
			for _, p := range paths(n) {
				s.Page(p, "").Fault(f)
			}
			s.Page("/", links(paths(n)...))
			c.Retries.Max = crawler.Zero
		}
	}
	return []web{
		{"Retries", "503 for robots.txt, for ever", func(s *crawltest.Site, _ *crawler.Config) { s.RobotsStatus(503); s.Page("/", "") }, "", failing, nil},
		{"Retries", "503 for robots.txt, once", func(s *crawltest.Site, _ *crawler.Config) {
			s.Robots("").Fault(crawltest.Fail(503).First(1))
			s.Page("/", "")
		}, "", attempts, nil},
		{"Retries", "503 once", fault(crawltest.Fail(503).First(1)), "", attempts, nil},
		{"Retries", "503 for ever", fault(crawltest.Fail(503)), "", attempts, nil},
		{"Retries", "404", fault(crawltest.Fail(404)), "", attempts, nil},
		{"Retries", "429 with a Retry-After of a minute, once", fault(crawltest.RetryAfter(429, time.Minute).First(1)), "", attempts, nil},
		{"Retries", "503 with a Retry-After of a day", fault(crawltest.RetryAfter(503, 24*time.Hour)), "", failing, nil},
		{"Retries", "resets the connection once", fault(crawltest.Reset().First(1)), "", attempts, nil},
		{"Retries", "the connection breaks in the middle of a page, once", fault(crawltest.CutShort(5000).First(1)), "", attempts, nil},
		{"Retries", "the connection breaks in the middle of a page, always", fault(crawltest.CutShort(5000)), "", func(v *crawler.Visit) string { return attempts(v) + ", " + size(v) }, nil},
		{"Retries", "every page of a host fails: the first", many(30, crawltest.Reset()), "/0", attempts, nil},
		{"Retries", "every page of a host fails: the last", many(45, crawltest.Reset()), "/44", failing, nil},
		{"Retries", "thirty pages of a host fail: the page after them", func(s *crawltest.Site, c *crawler.Config) {
			many(30, crawltest.Reset())(s, c)
			s.Page("/", links(append(paths(30), "/good")...))
			s.Page("/good", "")
		}, "/good", attempts, nil},
		{"Retries", "no page of a host is answered in time: the last", many(45, crawltest.Hang()), "/44", failing, nil},
	}
}

func trapCases() []web {
	flood := func(n int, format string) func(*crawltest.Site, *crawler.Config) {
		return func(s *crawltest.Site, c *crawler.Config) {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "<a href='"+format+"'>x</a>", i)
			}
			s.Page("/", b.String())
			c.Limits.Pages = 1
		}
	}
	seen := func(r *crawler.Report) string {
		return fmt.Sprintf("%d links followed, %d are traps", r.Links[crawler.FateFollow], r.Links[crawler.FateTrap])
	}
	return []web{
		{"Traps", "a path whose segments repeat", redirect("/a/b/a/b/a/b/a/b/a/"), "/a/b/a/b/a/b/a/b/a/", nil, nil},
		{"Traps", "a path of 30 segments", redirect(strings.Repeat("/x/y/z", 10)), strings.Repeat("/x/y/z", 10), nil, nil},
		{"Traps", "a calendar, years ahead", redirect("/calendar/2099/01"), "/calendar/2099/01", nil, nil},
		{"Traps", "1,500 query variants of one path", flood(1500, "/x?i=%d"), "", nil, seen},
		{"Traps", "10 sessions of one page", flood(10, "/x?PHPSESSID=%d"), "", nil, seen},
		{"Traps", "5 sessions of one page, in the path", flood(5, "/x;jsessionid=%d"), "", nil, seen},
		{"Traps", "150 URLs in a directory that may have 100", func(s *crawltest.Site, c *crawler.Config) {
			flood(150, "/d/%d")(s, c)
			c.Traps.PerDir = 100
		}, "", nil, seen},
		{"Traps", "one page under 60 addresses: the 50th", soft404, "/49", nil, nil},
		{"Traps", "one page under 60 addresses: the 51st", soft404, "/50", nil, nil},
	}
}

func soft404(s *crawltest.Site, c *crawler.Config) {
	var refs []string
	for i := range 60 {
		refs = append(refs, fmt.Sprintf("/%d", i))
		s.Page(refs[i], "not here"+links("deeper/"))
	}
	s.Page("/", links(refs...))
	c.Limits.Depth, c.Concurrency = 1, 1
}

func panicCases() []web {
	panics := crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { panic("at once") })
	return []web{
		{"Panics", "the Handler panics", func(s *crawltest.Site, c *crawler.Config) { s.Page("/", ""); c.Handler = panics }, "", stack, nil},
		{"Panics", "the Extractor panics", func(s *crawltest.Site, c *crawler.Config) { s.Page("/", ""); c.Extractor = panicking{} }, "", stack, nil},
		{"Panics", "the Handler panics at each of 50 pages, with an error budget of 10", func(s *crawltest.Site, c *crawler.Config) {
			var refs []string
			for i := range 50 {
				refs = append(refs, fmt.Sprintf("/%d", i))
				s.Page(refs[i], "")
			}
			s.Page("/", links(refs...))
			c.Limits.Errors = 10
			c.Handler = crawler.HandlerFunc(func(ctx context.Context, v *crawler.Visit) error {
				if v.Depth > 0 {
					return panics.Handle(ctx, v)
				}
				return nil
			})
		}, "/9", nil, func(r *crawler.Report) string {
			return fmt.Sprintf("the crawl ends by %s, after %d failures", r.Finish, r.Outcomes[crawler.Failed])
		}},
	}
}

type panicking struct{}

func (panicking) Extract(*fetcher.Page) (*extract.Document, error) { panic("no more") }

// outcome runs a case's crawl and returns the outcome of its URL.
func (c *web) outcome(t *testing.T) (line, also string) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		v := &witness{see: c.see}
		cfg := config(w, crawler.Config{KeepBodies: true, Trace: &crawler.Trace{Visited: v.visited}})
		c.set(s, &cfg)
		at, err := mustParse(t, s.URL("/")).Resolve(c.at)
		if err != nil {
			at = weburl.URL{}
		}
		v.at = at
		cr, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := cr.Run(t.Context(), s.URL("/"))
		var unreachable *crawler.UnreachableError
		if err != nil && !errors.As(err, &unreachable) {
			t.Fatal(err)
		}
		line, also = v.last.line(at.String()), v.also
		if c.tell != nil {
			also = c.tell(rep)
		}
		if line == "no visit" && c.tell == nil {
			also = fmt.Sprintf("links: %v", rep.Links)
		}
	})
	return line, also
}

// webOf returns the simulated web of a configuration.
func webOf(c *crawler.Config) *crawltest.Web { return c.Fetch.Resolver.(*crawltest.Web) }

// witness records one URL's visit.
type witness struct {
	last visits
	at   weburl.URL
	see  func(v *crawler.Visit) string
	also string
}

func (w *witness) visited(v *crawler.Visit) {
	if v.URL == w.at && w.see != nil {
		w.also = w.see(v)
	}
	_ = w.last.Handle(context.Background(), v)
}
