package crawler_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
)

// packer returns a writer that compresses into b.
func packer(t testing.TB, encoding string, b *bytes.Buffer) io.WriteCloser {
	t.Helper()
	switch encoding {
	case "gzip":
		return gzip.NewWriter(b)
	case "deflate":
		return zlib.NewWriter(b)
	case "br":
		return brotli.NewWriterLevel(b, 1)
	}
	z, err := zstd.NewWriter(b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// packed returns n zero bytes in a Content-Encoding.
func packed(t testing.TB, encoding string, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := packer(t, encoding, &b)
	if _, err := io.CopyN(w, zeros{}, n); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// hostile is a site with one kind of misbehaviour, and the expected outcome of its first page.
type hostile struct {
	name string
	does string // for docs/reference.md
	wire crawltest.Wire
	want string // outcome, status and reason
}

func page(head, body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + "\r\n" + body
}

func hostileSites(t testing.TB, bomb int64) []hostile {
	flood := strings.Repeat("<a href=/404?x>x</a>", 200_000)
	thrice := packed(t, "gzip", 100)
	return []hostile{
		{"early-close", "closes the connection without an answer", crawltest.EarlyClose(), "failed 0 no_answer"},
		{"reset", "resets the connection", crawltest.ResetConn(), "failed 0 reset"},
		{"status-line", "an invalid status line", crawltest.StatusLine("HTTP/1.1 two hundred"), "failed 0 malformed_answer"},
		{"no-http", "speaks another protocol", crawltest.Text("220 mail.example ESMTP\r\n"), "failed 0 malformed_answer"},
		{"header-flood", "5,000 header fields", crawltest.HeaderFlood(5000), "failed 0 header_too_large"},
		{"long-header", "a header field of 1 MiB", crawltest.LongHeader(1 << 20), "failed 0 header_too_large"},
		{"endless-header", "endless header fields", crawltest.EndlessHeader(), "failed 0 header_too_large"},
		{"informational", "1,000 informational answers before the final one", crawltest.Informational(1000), "failed 0 header_too_large"},
		{"switch", "switches to a protocol that was not requested", crawltest.SwitchProtocols(), "failed 0 protocol_switched"},
		{"bad-chunk", "invalid chunks", crawltest.Chunks("5\r\nhello\r\nxyz\r\n"), "fetched 200 cut_short"},
		{"chunk-size", "a chunk whose size overflows numbers", crawltest.Chunks("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"), "fetched 200 cut_short"},
		{"short-body", "less body than its length says", crawltest.Length("1000", "half of it"), "fetched 200 cut_short"},
		{"bad-length", "a negative length", crawltest.Length("-5", "x"), "failed 0 malformed_answer"},
		{"endless-body", "an endless body", crawltest.EndlessBody(), "fetched 200 length"},
		{"garbage-after", "unrequested answers after a valid one", crawltest.GarbageAfter("<p>fine", strings.Repeat("GET / HTTP/1.1 200\r\n", 100)), "fetched 200"},
		{"gzip-bomb", "a gzip bomb", crawltest.Encoded("gzip", packed(t, "gzip", bomb)), "fetched 200 length"},
		{"deflate-bomb", "a deflate bomb", crawltest.Encoded("deflate", packed(t, "deflate", bomb)), "fetched 200 length"},
		{"br-bomb", "a brotli bomb", crawltest.Encoded("br", packed(t, "br", bomb)), "fetched 200 length"},
		{"zstd-bomb", "a zstd bomb", crawltest.Encoded("zstd", packed(t, "zstd", bomb)), "fetched 200 length"},
		{"bad-gzip", "gzip that ends in garbage", crawltest.Encoded("gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"+strings.Repeat("\xff", 500))), "fetched 200 encoding"},
		{"many-codings", "three layers of coding", crawltest.Encoded("gzip, gzip, gzip", thrice), "fetched 200 encoding"},
		{"link-flood", "200,000 links on a page", crawltest.Text(page(fmt.Sprintf("Content-Length: %d\r\n", len(flood)), flood)), "fetched 200"},
		{"attribute", "an attribute of 1 MiB", crawltest.Text(page("", `<a href="`+strings.Repeat("x", 1<<20)+`">x</a>`)), "fetched 200"},
		{"deep", "300,000 nested elements", crawltest.Text(page("", strings.Repeat("<div>", 300_000))), "fetched 200"},
		{"bad-redirect", "a redirect to a script", crawltest.Text("HTTP/1.1 302 Found\r\nLocation: javascript:alert(1)\r\nContent-Length: 0\r\n\r\n"), "failed 302 redirect_bad"},
		{"to-metadata", "a redirect to a cloud's metadata address", crawltest.Text("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"), "redirected 302"},
	}
}

// hostileConfig returns a Config with default sizes. Its time limits are out of reach, so that a slow machine does not
// change the outcome. Servers that never respond are tested in virtual time.
func hostileConfig(srv *crawltest.Server, h crawler.Handler) crawler.Config {
	return crawler.Config{
		Agent: "testbot/1.0", Contact: contact, Handler: h, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Limits: crawler.Limits{Pages: 10_000, Depth: 1}, Retries: crawler.Retries{Max: crawler.Zero},
		Politeness: politeness.Config{Delay: politeness.NoDelay, DelayFactor: politeness.NoFactor, PermitTTL: 10 * time.Minute},
		Fetch: fetcher.Config{
			Resolver: srv, AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			FirstByteTimeout: 5 * time.Minute, IdleTimeout: 5 * time.Minute, FetchTimeout: 5 * time.Minute,
		},
	}
}

// crawlHostile crawls the sites together with a healthy one and compares the outcome of each.
func crawlHostile(t *testing.T, sites []hostile) {
	srv := crawltest.NewServer(t)
	good := srv.Site("good.example")
	good.Raw("/", crawltest.Text(page("", links("/1", "/2", "/3"))))
	seeds := []string{good.URL("/")}
	for _, p := range []string{"/1", "/2", "/3"} {
		good.Raw(p, crawltest.Text(page("", "fine")))
	}
	urls := map[string]string{}
	for _, h := range sites {
		s := srv.Site(h.name + ".example")
		s.Raw("/", h.wire)
		urls[h.name] = s.URL("/")
		seeds = append(seeds, s.URL("/"))
	}
	v := &visits{}
	c, err := crawler.New(hostileConfig(srv, v))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := c.Run(context.Background(), seeds...)
	if err != nil || rep.Finish != crawler.FinishDone {
		t.Fatalf("%v: %+v", err, rep)
	}
	for _, h := range sites {
		got := v.line(urls[h.name])
		if got != h.want {
			t.Errorf("%s: %s, want %s (%v)", h.name, got, h.want, v.by[urls[h.name]].Err)
		}
		t.Logf("%-15s %s", h.name, got)
	}
	for _, p := range []string{"/", "/1", "/2", "/3"} {
		if got := v.line(good.URL(p)); got != "fetched 200" {
			t.Errorf("the healthy site's %s: %s", p, got)
		}
	}
	if got := v.line("http://169.254.169.254/"); got != "refused 0 address_refused" {
		t.Errorf("metadata address: %s", got)
	}
}

func TestHostileServers(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // runs after the server's own cleanup
	bomb := int64(64 << 20)
	if long.Race { // compressing the bomb takes longest
		bomb = 16 << 20 // still more than the limit for a page
	}
	crawlHostile(t, hostileSites(t, bomb))
}

// TestBombsFitInMemory runs the hostile crawl in its own process under a memory limit and checks that its
// peak resident size, as measured by the system, is at most 256 MiB.
func TestBombsFitInMemory(t *testing.T) {
	if os.Getenv("AMBLE_BOMBS") != "" {
		crawlHostile(t, hostileSites(t, 256<<20))
		status, err := os.ReadFile("/proc/self/status")
		if err == nil {
			t.Log(string(regexp.MustCompile(`VmHWM:\s+\d+ kB`).Find(status)))
		}
		return
	}
	if testing.Short() || long.Race {
		t.Skip("measures memory, which the race detector multiplies")
	}
	if _, err := os.Stat("/proc/self/status"); errors.Is(err, os.ErrNotExist) {
		t.Skip("no /proc here to read the peak from")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBombsFitInMemory$", "-test.v")
	cmd.Env = append(os.Environ(), "AMBLE_BOMBS=1", "GOMEMLIMIT=192MiB")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no peak in the output:\n%s", out)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	t.Logf("peak resident size with the servers in the same process: %d MiB", kb>>10)
	if kb > 256<<10 {
		t.Errorf("peak %d MiB, more than 256", kb>>10)
	}
}
