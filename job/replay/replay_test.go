package replay

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

var webs = flag.Int("replay.n", long.Seeds(2, 6), "how many random webs are crawled and repeated")

// crawled crawls a simulated web with random properties into a job directory. The job is run by several processes, one after the other.
func crawled(t *testing.T, w *crawltest.Web, n uint64, scope crawler.ScopeKind, faults crawltest.FaultLevel, processes int) string {
	t.Helper()
	web := w.Random(n, crawltest.RandomConfig{Agent: "testbot", HTTPS: true, Faults: faults, MaxDelay: 5 * time.Second})
	dir := filepath.Join(t.TempDir(), "job")
	var c job.Config
	c.Archive, c.Links = true, true
	c.Crawl.Agent, c.Crawl.Contact = "testbot/1", "https://crawl.university.edu/"
	c.Crawl.Scope.Kind, c.Crawl.Limits.Depth, c.Crawl.Limits.PagesPerHost = scope, crawler.Unlimited, 25
	c.Crawl.Limits.Pages = 10_000
	c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	for i := range processes {
		if i < processes-1 {
			c.Crawl.Limits.Pages = crawler.Limit(20 * (i + 1))
		} else {
			c.Crawl.Limits.Pages = 10_000
		}
		j, err := job.Start(dir, c, web.Seeds()...)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := j.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if rep.Left == 0 {
			break
		}
	}
	return dir
}

func replayed(t *testing.T, dir string) *Result {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestNothingDiffers crawls random webs with faults, with one process or several, and many workers. A replay gives the same visits.
func TestNothingDiffers(t *testing.T) {
	for n := range uint64(*webs) {
		t.Run(fmt.Sprint("web=", n), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				scope := []crawler.ScopeKind{crawler.ScopeHost, crawler.ScopeAny}[n%2]
				dir := crawled(t, w, n, scope, crawltest.FaultLevel(n%3), 1+int(n%4))
				requests, start := len(w.Requests()), time.Now()
				res := replayed(t, dir)
				if res.Differ > 0 || res.Visits < 3 {
					t.Errorf("%s", res.Text())
					for i := range res.Changes[:min(5, len(res.Changes))] {
						t.Log(res.Changes[i].String())
					}
				}
				if len(w.Requests()) != requests || time.Since(start) > time.Second {
					t.Errorf("%d requests, in %v", len(w.Requests())-requests, time.Since(start))
				}
				t.Log(res.Text())
			})
		})
	}
}

// TestOptOutsAreTakenAsRecorded checks that a replay does not end because of a seed on the opt-out list, of whose host nothing is recorded.
func TestOptOutsAreTakenAsRecorded(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		out, s := w.Site("http://a.example"), w.Site("http://b.example")
		out.Page("/", "<p>x")
		s.Page("/", `<a href="/1">1</a> <a href="http://a.example/2">2</a>`)
		s.Page("/1", "<p>1")
		dir := filepath.Join(t.TempDir(), "job")
		list := filepath.Join(t.TempDir(), "optout.txt")
		write(t, list, []byte("a.example\n"))
		var c job.Config
		c.Archive, c.OptOut = true, list
		c.Crawl.Agent, c.Crawl.Contact, c.Crawl.Scope.Kind = "testbot/1", "https://crawl.university.edu/", crawler.ScopeAny
		c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
		j, err := job.Start(dir, c, out.URL("/"), s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if res := replayed(t, dir); res.Differ > 0 || res.Visits != 2 || res.Taken != 2 {
			t.Errorf("%s %+v", res.Text(), res.Changes)
		}
	})
}

// TestSitemapsAreRepeated checks that a replay visits a sitemap before the page for which its robots.txt was requested, and that it notices
// if robots.txt does not name the sitemap.
func TestSitemapsAreRepeated(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://a.example")
		s.Robots("Sitemap: /map.xml\nSitemap: http://b.example/map.xml\n")
		s.Page("/", "<p>x")
		s.Page("/1", "<p>1")
		s.Page("/map.xml", "<urlset><url><loc>/1</loc></url></urlset>").Type("application/xml")
		w.Site("http://b.example").Page("/map.xml", "<urlset><url><loc>http://a.example/2</loc></url></urlset>").Type("application/xml")
		dir := filepath.Join(t.TempDir(), "job")
		var c job.Config
		c.Archive = true
		c.Crawl.Agent, c.Crawl.Contact, c.Crawl.Scope.Kind = "testbot/1", "https://crawl.university.edu/", crawler.ScopeAny
		c.Crawl.Follow.Sitemaps = true
		c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
		j, err := job.Start(dir, c, s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if first := visitsOf(t, dir)[0].URL; first == s.URL("/") {
			t.Errorf("%s was visited first", first)
		}
		if res := replayed(t, dir); res.Differ > 0 || res.Visits != 5 {
			t.Errorf("%s %+v", res.Text(), res.Changes)
		}
		visits := filepath.Join(dir, job.VisitsName)
		write(t, visits, bytes.ReplaceAll(read(t, visits), []byte("http://b.example/map.xml"), []byte("http://b.example/other")))
		if res := replayed(t, dir); !strings.Contains(fmt.Sprint(res.Changes), "{http://b.example/other visit named by robots.txt nothing led to it again}") {
			t.Errorf("%s %+v", res.Text(), res.Changes)
		}
	})
}

// visitsOf returns the visits of a job.
func visitsOf(t *testing.T, dir string) (all []*sink.Record) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// TestChangesAreNamed changes a byte of a page in the archive with matching digests, and then a recorded visit. The replay names both.
func TestChangesAreNamed(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir := crawled(t, w, 3, crawler.ScopeHost, 0, 1)
		var page *sink.Record
		for _, v := range visitsOf(t, dir) {
			if v.Outcome == "fetched" && v.Title != "" && v.Status == 200 {
				page = v
			}
		}
		path := filepath.Join(dir, "warc", page.WARC.File)
		whole := read(t, path)
		forge(t, path, page)
		res := replayed(t, dir)
		if res.Differ != 1 || res.Changes[0].URL != page.URL || !strings.Contains(fmt.Sprint(res.Changes), "sha256 was") && res.Changes[0].Field == "" {
			t.Errorf("a byte of %s: %s %v", page.URL, res.Text(), res.Changes)
		}
		fields := ""
		for _, c := range res.Changes {
			fields += c.Field + " "
		}
		if !strings.Contains(fields, "sha256") || !strings.Contains(fields, "title") {
			t.Errorf("fields: %s", fields)
		}
		write(t, path, whole)

		visits := filepath.Join(dir, job.VisitsName)
		lines := read(t, visits)
		for _, edit := range [][2]string{{`"title":"`, `"title":"Not `}, {`"depth":`, `"depth":1`}, {`"status":200`, `"status":203`}, {`"outcome":"fetched"`, `"outcome":"refused"`}} {
			i := bytes.Index(lines, []byte(`"url":"`+strings.ReplaceAll(page.URL, "&", `\u0026`)+`"`))
			changed := append(append([]byte{}, lines[:i]...), bytes.Replace(lines[i:], []byte(edit[0]), []byte(edit[1]), 1)...)
			write(t, visits, changed)
			res := replayed(t, dir)
			if res.Differ != 1 || res.Changes[0].URL != page.URL || !strings.Contains(edit[0], res.Changes[0].Field) {
				t.Errorf("%s: %s %v", edit[1], res.Text(), res.Changes)
			}
		}
		i := bytes.IndexByte(lines, '\n')
		j := i + 1 + bytes.IndexByte(lines[i+1:], '\n')
		write(t, visits, append(append([]byte{}, lines[:i+1]...), lines[j+1:]...)) // leave out the second visit
		if res := replayed(t, dir); res.Differ == 0 {
			t.Errorf("a visit was removed: %s", res.Text())
		}
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

var digest = regexp.MustCompile(`WARC-(Payload|Block)-Digest: (sha1|sha256):([A-Z2-7=]+)`)

// unneeded matches the fields of a record that a replay does not read.
var unneeded = regexp.MustCompile(`(?i)\r\nWARC-(Record-ID|Warcinfo-ID|Concurrent-To|Protocol|Identified-Payload-Type): [^\r]*`)

// forge changes a byte in the title of an archived page, and everything that depends on this byte, as a forger would. It removes the index
// of the archive; a reader makes the index again.
func forge(t *testing.T, path string, v *sink.Record) {
	t.Helper()
	all := read(t, path)
	at, end := v.WARC.Offset, v.WARC.Offset+v.WARC.Length
	z, err := gzip.NewReader(bytes.NewReader(all[at:end]))
	if err != nil {
		t.Fatal(err)
	}
	record, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	head, block, _ := bytes.Cut(record, []byte("\r\n\r\n"))
	block = bytes.TrimSuffix(block, []byte("\r\n\r\n"))
	i := bytes.Index(block, []byte("<title>")) + len("<title>")
	block[i] ^= 1
	_, payload, _ := bytes.Cut(block, []byte("\r\n\r\n"))
	head = digest.ReplaceAllFunc(head, func(m []byte) []byte {
		of := block
		if bytes.Contains(m, []byte("Payload")) {
			of = payload
		}
		name, _, _ := bytes.Cut(m, []byte(": "))
		sum := sha1.Sum(of)
		text := "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
		if bytes.Contains(m, []byte("sha256:")) {
			sum := sha256.Sum256(of)
			text = "sha256:" + base32.StdEncoding.EncodeToString(sum[:])
		}
		return append(append(name, ": "...), text...)
	})
	var member bytes.Buffer
	compress := func(padding string) {
		member.Reset()
		g, _ := gzip.NewWriterLevel(&member, gzip.BestCompression) // the level is valid
		g.Comment = padding
		for _, part := range [][]byte{head, []byte("\r\n\r\n"), block, []byte("\r\n\r\n")} {
			if _, err := g.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	head = unneeded.ReplaceAll(head, nil)
	compress("")
	compress(strings.Repeat("x", int(end-at)-member.Len()-1)) // so that the archive has the length that was committed
	var b bytes.Buffer
	b.Write(all[:at])
	b.Write(member.Bytes())
	b.Write(all[end:])
	write(t, path, b.Bytes())
	if err := os.Remove(strings.TrimSuffix(path, ".warc.gz") + ".cdxj"); err != nil {
		t.Fatal(err)
	}
}

// TestLinksAreThoseOfTheArchive checks that the stored links of a job that several processes ran equal the links in its archive.
func TestLinksAreThoseOfTheArchive(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir := crawled(t, w, 3, crawler.ScopeHost, 1, 3)
		r, err := job.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		links := func() (all []string) {
			if _, err := Links(t.Context(), r, func(l *sink.Outlink) error {
				all = append(all, fmt.Sprint(*l))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return all
		}
		kept, found := links(), 0
		for _, v := range visitsOf(t, dir) {
			if v.Links != nil {
				found += v.Links.Found
			}
		}
		if len(kept) != found || found == 0 {
			t.Errorf("%d links were kept, the visits have %d", len(kept), found)
		}
		if v, err := r.Verify(); err != nil || v.Damaged() > 0 || !strings.Contains(fmt.Sprint(v.Files), job.LinksName) {
			t.Errorf("%v: %+v", err, v)
		}
		if err := os.Remove(filepath.Join(dir, job.LinksName)); err != nil {
			t.Fatal(err)
		}
		if again := links(); !slices.Equal(kept, again) {
			t.Errorf("from the archive %d links, which differ from the %d that were kept", len(again), len(kept))
		}
	})
}
