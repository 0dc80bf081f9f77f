package crawltest_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/amble-crawler/amble/crawltest"
)

// A client requests pages of a simulated web, and the auditor reports what site owners would complain about.
func Example() {
	w := crawltest.NewWeb()
	defer w.Close()
	s := w.Site("a.example")
	s.Robots("User-agent: *\nDisallow: /private/\n").Forbids("/private/*")
	s.Page("/", `<a href="/private/x">do not follow</a>`)
	s.Page("/private/x", "private")

	c := &http.Client{Transport: &http.Transport{DialContext: w.DialContext, DisableKeepAlives: true}}
	for _, path := range []string{"/", "/robots.txt", "/private/x"} {
		resp, err := c.Get(s.URL(path))
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	w.Close()
	for _, v := range w.Audit(crawltest.Expect{Agent: "mybot"}) {
		fmt.Println(v)
	}
	// Output:
	// P1 a.example:80: page before robots.txt: request 1 http://a.example/
	// P11 a.example:80: User-Agent Go-http-client/1.1 does not name mybot: request 1 http://a.example/
	// P11 a.example:80: User-Agent Go-http-client/1.1 does not name mybot: request 2 http://a.example/robots.txt
	// P2 a.example:80: forbidden by robots.txt: request 3 http://a.example/private/x
	// P11 a.example:80: User-Agent Go-http-client/1.1 does not name mybot: request 3 http://a.example/private/x
}

// A fixture is a txtar archive with one file per URL.
func ExampleWeb_Load() {
	w := crawltest.NewWeb()
	defer w.Close()
	w.Load([]byte(`A site with a page that is gone.
-- http://a.example/robots.txt crawl-delay=2s forbids=/private/* --
User-agent: *
Disallow: /private/
Crawl-delay: 2
-- http://a.example/ --
<a href="/old">old</a>
-- http://a.example/old status=410 type=text/plain --
gone
`))
	c := &http.Client{Transport: &http.Transport{DialContext: w.DialContext, DisableKeepAlives: true}}
	resp, err := c.Get("http://a.example/old")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Content-Type"))
	_, _ = io.Copy(os.Stdout, resp.Body)
	fmt.Println(w.Visited("a.example"))
	// Output:
	// 410 text/plain
	// gone
	// [http://a.example/old]
}

// A random web is determined by its seed, and knows the requests of a complete crawl.
func ExampleWeb_Random() {
	w := crawltest.NewWeb()
	defer w.Close()
	r := w.Random(1, crawltest.RandomConfig{Hosts: 3, MaxDelay: 2 * time.Second})
	truth := r.Truth(nil, r.Seeds()...)
	fmt.Println(r.Seeds())
	fmt.Println(truth.Forbidden[:2])
	fmt.Println(truth.Check(nil)[0])
	// Output:
	// [http://h0.example/ http://h1.example/]
	// [http://h0.example/%C3%A4rger/p13 http://h0.example/a/deep/13/end]
	// http://h0.example/ was never answered
}
