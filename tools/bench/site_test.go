package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shape describes a synthetic web completely by a few numbers.
type shape struct {
	Hosts int
	Pages int // pages of each host
	Size  int // minimum bytes of a page
	Links int // links of a page

	// Made is set for webs too large to be stored: a response is made when it is requested, and is not compressed.
	Made    bool
	Latency time.Duration // delay before each answer

	// Other, if it is not 0, is the status of an additional URL for every fourth page, which links to that URL: 404, or 301 with a redirect
	// to the next page of the host. A fifth of all requests are for such URLs.
	Other int

	TLS   bool // use TLS 1.3
	HTTP2 bool // needs TLS; not for made webs
	Life  int  // number of responses after which the server closes a connection; 0: no limit
}

// others returns the number of a host's URLs that answer with the status Other.
func (s shape) others() int {
	if s.Other == 0 {
		return 0
	}
	return (s.Pages + 3) / 4
}

func (s shape) hasOther(page int) bool { return s.Other != 0 && page%4 == 0 }

func otherPath(page int) string { return "/other/" + strconv.Itoa(page) }

// origin returns the origin of a host, given as host:port.
func (s shape) origin(host string) string {
	if s.TLS {
		return "https://" + host
	}
	return "http://" + host
}

// robotsTxt is the robots.txt of all hosts. The first page of each host links to one page that robotsTxt forbids.
const robotsTxt = "User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\nAllow: /private/open/\n\nUser-agent: badbot\nDisallow: /\n"

// fanOut is the number of further pages to which each page is the first to link, as long as pages are left.
const fanOut = 8

// pagePath returns the path of page i of any host.
func pagePath(i int) string {
	if i == 0 {
		return "/"
	}
	return "/s" + strconv.Itoa(i%7) + "/an-article-about-things-" + strconv.Itoa(i) + ".html"
}

// urls returns the URLs of all pages on hosts given as host:port. It takes one page of each host in turn, as a fair crawler would.
func (s shape) urls(hosts []string) []string {
	var all []string
	for i := range s.Pages {
		for _, h := range hosts {
			all = append(all, s.origin(h)+pagePath(i))
			if s.hasOther(i) {
				all = append(all, s.origin(h)+otherPath(i))
			}
		}
	}
	return all
}

// page returns the HTML of page i of a host.
func (s shape) page(hosts []string, host, i int) []byte {
	rng := rand.New(rand.NewPCG(uint64(host), uint64(i)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page %d &amp; more of %s</title>\n", i, hosts[host])
	b.WriteString("<link rel=\"stylesheet\" href=\"/style.css\"><script>var a = '<a href=\"/never\">';</script></head>\n<body>\n<!-- <a href=\"/never\"> -->\n")
	if i == 0 {
		b.WriteString("<a href=\"/private/x\">x</a>\n")
	}
	if s.hasOther(i) {
		fmt.Fprintf(&b, "<a href=\"%s\">other</a>\n", otherPath(i))
	}
	text := max(0, (s.Size-b.Len())/s.Links-90)
	for k := range s.Links {
		fmt.Fprintf(&b, "<p class=\"story\">%s</p>\n", words(rng, text))
		s.link(&b, rng, hosts, i, k)
	}
	for b.Len() < s.Size {
		fmt.Fprintf(&b, "<p>%s</p>\n", words(rng, 200))
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// link writes link k of page i. The first links lead to the pages by which every page can be reached. The other ones lead to random pages,
// and are spelled in as many ways as links on the web.
func (s shape) link(b *bytes.Buffer, rng *rand.Rand, hosts []string, i, k int) {
	to := fanOut*i + 1 + k
	if k >= fanOut || to >= s.Pages {
		to = rng.IntN(s.Pages)
	}
	path, kind := pagePath(to), rng.IntN(100)
	switch {
	case k < fanOut:
		fmt.Fprintf(b, "<a href=\"%s\">%s</a>\n", path, words(rng, 20))
	case kind < 10:
		fmt.Fprintf(b, "<a href=\"%s%s\">%s</a>\n", s.origin(hosts[rng.IntN(len(hosts))]), path, words(rng, 20))
	case kind < 15:
		fmt.Fprintf(b, "<a href=\"https://elsewhere.test/%d\">%s</a>\n", rng.IntN(50), words(rng, 20))
	case kind < 20:
		fmt.Fprintf(b, "<a rel=\"nofollow\" href=\"%s\">%s</a>\n", path, words(rng, 20))
	case kind < 25:
		fmt.Fprintf(b, "<a href='%s#part-%d'>%s</a>\n", path, k, words(rng, 20))
	case kind < 27:
		fmt.Fprintf(b, "<a href=\"mailto:someone@example.test\">%s</a>\n", words(rng, 20))
	case kind < 35:
		fmt.Fprintf(b, "<img src=\"/img/%d.png\" alt=\"%s\">\n", rng.IntN(100), words(rng, 20))
	case kind < 65:
		fmt.Fprintf(b, "<a class=\"more\" href=\"..%s\">%s</a>\n", path, words(rng, 20))
	default:
		fmt.Fprintf(b, "<a href=\"%s\">%s</a>\n", path, words(rng, 20))
	}
}

// words returns a text of n bytes or a little more. It compresses as well as prose, about three to one.
func words(rng *rand.Rand, n int) string {
	const syllables = "ba co den er fi gra ho in ju kel lo mar ne or pa qui re sto ta un ve wil xa yo zen ing tion est"
	parts := strings.Fields(syllables)
	var b strings.Builder
	for b.Len() < n {
		for range 1 + rng.IntN(3) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func TestEveryPageIsReachedAndOfItsSize(t *testing.T) {
	s := shape{Hosts: 2, Pages: 100, Size: 30_000, Links: 80}
	hosts := []string{"127.1.0.1:80", "127.1.0.2:80"}
	linked := map[string]bool{"/": true}
	for i := range s.Pages {
		p := string(s.page(hosts, 1, i))
		if len(p) < s.Size || len(p) > s.Size*11/10 {
			t.Errorf("page %d has %d bytes", i, len(p))
		}
		for j := i + 1; j < s.Pages; j++ {
			if linked[pagePath(i)] && strings.Contains(p, "\""+pagePath(j)+"\"") {
				linked[pagePath(j)] = true
			}
		}
	}
	if len(linked) != s.Pages {
		t.Errorf("%d of %d pages can be reached", len(linked), s.Pages)
	}
}
