package warc

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

// coded returns s in a content coding, such as gzip.
func coded(t *testing.T, coding, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	default:
		return []byte(s)
	}
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inChunks returns b in the chunked transfer coding, with chunks of different sizes.
func inChunks(b []byte) []byte {
	var out bytes.Buffer
	for i := 1; len(b) > 0; i++ {
		n := min(len(b), i*37)
		fmt.Fprintf(&out, "%x\r\n%s\r\n", n, b[:n])
		b = b[n:]
	}
	out.WriteString("0\r\n\r\n")
	return out.Bytes()
}

// variedURL returns URLs, some of them in forms that are difficult to index.
func variedURL(n int) string {
	return []string{
		"http://www.a.test/%d", "https://b.test:8443/%d/Upper/?Z=1&a=2", "http://192.0.2.7/%d/%%7Euser/a%%20b", "https://[2001:db8::1]/%d?q=%%C3%%A9",
		"http://xn--bcher-kva.test/%d", "http://b.test/%d?", "http://b.test/a/../b//%d;x=1", "http://b.test/%d/{}|^`\"<>é[]%%",
	}[n%8]
}

// varied returns the nth of a series of captures of many forms: transfer and content codings, HTTP/2, redirects, errors, repeated, empty
// and invalid payloads, and missing requests and responses.
func varied(t *testing.T, n int) *sink.Record {
	t.Helper()
	url := fmt.Sprintf(variedURL(n), n)
	body := fmt.Sprintf("<title>%d</title>%s", n, strings.Repeat(fmt.Sprintf("words of page %d, ", n), n*n%400))
	if n%7 == 0 {
		body = "the same on many pages"
	}
	coding := []string{"", "gzip", "br", "zstd", ""}[n%5]
	raw := coded(t, coding, body)
	x := answer(url, "Content-Type: Text/HTML; charset=utf-8\nSet-Cookie: a=1\nSet-Cookie: b=2\n", "")
	x.Started, x.Body = noon.Add(time.Duration(n)*time.Second), raw
	x.Addr = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1"), {}}[n%3]
	add := func(lines string) { x.Head = append(x.Head[:len(x.Head)-2], lines+"\r\n\r\n"...) }
	if coding != "" {
		add("Content-Encoding: " + coding)
	}
	r := &sink.Record{Schema: sink.Schema, URL: uri(url), Via: "http://www.a.test/", Depth: n % 4, Outcome: "fetched", Status: 200, Exchange: x}
	switch n % 11 {
	case 1:
		add("Transfer-Encoding: chunked")
		x.Body = inChunks(raw)
	case 2:
		h := http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {coding}}
		x.Protocol, x.Head, x.Request = "HTTP/2.0", sink.SyntheticHead(200, h, false), sink.SyntheticRequest("/", "b.test", nil)
	case 3:
		x.Head = bytes.Replace(x.Head, []byte("200 OK"), []byte("302 Found\r\nLocation: /elsewhere"), 1)
	case 4:
		x.Head = bytes.Replace(x.Head, []byte("200 OK"), []byte("404 Not Found"), 1)
	case 5:
		x.Truncated, r.Truncated, x.Body = "length", "length", raw[:len(raw)/2]
	case 6:
		body, x.Body = "", nil
		x.Head = []byte("HTTP/1.1 204 \r\nX-Odd: caf\xe9\r\n\r\n")
	case 7:
		x.Request = nil
	case 8:
		x.Head = nil
	case 9:
		x.Head = bytes.ReplaceAll(x.Head, []byte("\r\n"), []byte("\n"))
	}
	if x.Answered() {
		sum := sha256.Sum256([]byte(body))
		r.SHA256 = hex.EncodeToString(sum[:])
	}
	return r
}

// writeVaried writes an archive of n captures, and a file with one line for each.
func writeVaried(t *testing.T, n int, o Options) (dir, visits string) {
	t.Helper()
	dir = t.TempDir()
	visits = filepath.Join(t.TempDir(), "visits.jsonl")
	w := open(t, dir, o)
	j, err := sink.OpenJSONL(visits)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := varied(t, i)
		add(t, w, r)
		if err := j.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			robots := answer(fmt.Sprintf("http://host%d.test/robots.txt", i), "Content-Type: text/plain\n", "User-agent: *\nDisallow: /no\n")
			robots.Purpose = "robots"
			if err := w.AppendExchange(t.Context(), robots); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(t.Context()), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return dir, visits
}

// verdict is the output of testdata/check.mjs.
type verdict struct {
	Files, Records, BlockDigests, PayloadDigests, Indexed, SameIndex, SameKey, Pairs, Revisits, Visits, Bodies, Differences int

	Mismatches []string
}

// askReader lets warcio.js read an archive. The test is skipped if warcio.js is not installed.
func askReader(t *testing.T, dir, visits string) verdict {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, node, filepath.Join("testdata", "check.mjs"), dir, visits)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 3 {
		t.Skipf("%s: npm install --prefix DIR warcio@2, then NODE_PATH=DIR/node_modules", strings.TrimSpace(stderr.String()))
	}
	var v verdict
	if e := json.Unmarshal(out, &v); e != nil {
		t.Fatalf("%v, %v: %s%s", err, e, out, stderr.String())
	}
	return v
}

// TestIndependentReader writes archives with all forms of captures and reads them with other implementations: package
// warctest, written from the standard, and warcio.js if installed.
func TestIndependentReader(t *testing.T) {
	for name, o := range map[string]Options{"gzip": {MaxSize: 40_000}, "zstd, sha256": {MaxSize: 40_000, Compression: Zstd, Digest: SHA256}} {
		t.Run(name, func(t *testing.T) {
			const n = 300
			if _, err := exec.LookPath("zstd"); err != nil && o.Compression == Zstd {
				t.Skip(err)
			}
			dir, visits := writeVaried(t, n, o)
			rs := read(t, dir)
			count := strings.Count
			all := kinds(rs)
			answers, revisits := len(warctest.Answers(rs)), count(all, "revisit")
			if revisits < 20 || count(all, "warcinfo") < 3 {
				t.Fatal(all)
			}
			v := askReader(t, dir, visits)
			if v.Differences > 0 {
				t.Errorf("%d differences:\n%s", v.Differences, strings.Join(v.Mismatches, "\n"))
			}
			if v.Files != count(all, "warcinfo") || v.Records != len(rs) || v.BlockDigests != len(rs) || v.Indexed != answers || v.Revisits != revisits || v.PayloadDigests != answers-revisits {
				t.Errorf("%+v, of %d records, %d answers, %d revisits", v, len(rs), answers, revisits)
			}
			t.Logf("%+v", v)
			if v.Visits != n || v.Bodies < n/2 || o.Compression != Zstd && (v.SameIndex != answers || v.SameKey < answers/4) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// The reader finds the faults for which TestIndependentReader relies on it.
func TestIndependentReaderFindsFaults(t *testing.T) {
	swap := func(ext, old, is string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			files, _ := filepath.Glob(filepath.Join(dir, "*"+ext))
			b, err := os.ReadFile(files[0])
			changed := bytes.Replace(b, []byte(old), []byte(is), 1)
			if err != nil || bytes.Equal(changed, b) {
				t.Fatalf("%s has no %s, %v", files[0], old, err)
			}
			if err := os.WriteFile(files[0], changed, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, change := range map[string]func(t *testing.T, dir string){
		"a wrong length":     swap(".cdxj", `"length":"`, `"length":"9`),
		"a wrong offset":     swap(".cdxj", `"offset":"`, `"offset":"9`),
		"a wrong digest":     swap(".cdxj", `"digest":"sha1:`, `"digest":"sha1:A`),
		"a wrong status":     swap(".cdxj", `"status":"2`, `"status":"3`),
		"a line that is not": swap(".cdxj", "\n", "\n\n"),
		"a file that is gone": func(t *testing.T, dir string) {
			files, _ := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
			if err := os.Remove(files[0]); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, visits := writeVaried(t, 30, Options{MaxSize: 8_000})
			change(t, dir)
			if v := askReader(t, dir, visits); v.Differences == 0 {
				t.Errorf("%+v", v)
			}
		})
	}
}
