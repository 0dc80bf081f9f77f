package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3/backend/s3bolt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/stores/open"
)

// A crawl of 1 GiB needs a fifth of that as disk space: finished files go to the store, and the directory never exceeds its limit. Outside
// of nightly runs, both sizes are a sixteenth.
func TestCrawlLargerThanItsDisk(t *testing.T) {
	pages := 1024
	if long.Race {
		pages = 256
	}
	size := int64(long.N(64<<10, 1<<20)) // size in bytes of the file to which each page links
	maxDisk := size * int64(pages) / 5
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	var most atomic.Int64
	measure := func() {
		n, _ := SizeOf(dir) // unreadable files do not count
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
	}
	b := serveBucketIn(t, must(s3bolt.NewFile(filepath.Join(t.TempDir(), "objects"))))
	b.seen = measure
	tree := storedPages(pages)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		measure()
		var n uint64
		if _, err := fmt.Sscanf(r.URL.Path, "/file/%d", &n); err == nil {
			content := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}) // random bytes, which do not compress
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.CopyN(w, content, size)
			return
		}
		tree(w, r)
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		fmt.Fprintf(w, `<a href="/file/%d">file</a>`, n)
	}))
	t.Cleanup(site.Close)

	c := Config{Store: url, Archive: true, MinFree: crawler.Zero, MaxDisk: crawler.Limit(maxDisk)}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Depth, c.Crawl.Limits.Pages, c.Crawl.Traps.PerDir = crawler.NoDelay, crawler.Unlimited, crawler.Unlimited, crawler.Unlimited
	c.Note = func(text string) { t.Log(text) }
	runStored(t, dir, c, site.URL+"/")
	t.Logf("at most %d of %d bytes in the directory", most.Load(), maxDisk)
	if most.Load() > maxDisk {
		t.Errorf("the directory had %d bytes, more than the %d that it may have", most.Load(), maxDisk)
	}

	s := must(open.URL(url))
	defer func() { check(t, open.Close(s)) }()
	d := must(openJobFiles(dir))
	list := must(d.readStored())
	check(t, d.close())
	var bytes int64
	for _, o := range list.Objects {
		in, h := must(s.Get(t.Context(), o.Name, 0, -1)), sha256.New()
		n, err := io.Copy(h, in)
		check(t, err)
		check(t, in.Close())
		if bytes += n; n != o.Bytes || hex.EncodeToString(h.Sum(nil)) != o.SHA256 {
			t.Errorf("%s is not what was stored", o.Name)
		}
	}
	if bytes < int64(pages)*size {
		t.Errorf("%d bytes are in the store, want more than the %d of the files", bytes, int64(pages)*size)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	check(t, os.Mkdir(copied, 0o700))
	check(t, Attach(t.Context(), copied, url))
	r := must(Read(copied))
	defer func() { check(t, r.Close()) }()
	m, v, n := must(r.Manifest()), must(r.Verify()), 0
	for v, err := range r.Visits() {
		check(t, err)
		if v.Status == http.StatusOK && v.WARC != nil {
			n++
		}
	}
	if !m.Finished() || n != 2*pages || v.Damaged() > 0 || v.Chain.Fault != "" || v.Matching.Fault() != "" || len(v.Violations) > 0 {
		t.Errorf("%s, %d pages, %d files damaged, %q, %q, %d violations", m.Finish, n, v.Damaged(), v.Chain.Fault, v.Matching.Fault(), len(v.Violations))
	}
}
