package work

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
	"github.com/amble-crawler/amble/stores/storestest"
	"github.com/amble-crawler/amble/weburl"
)

// copyTo copies the directory of a node into a store, as an operator would.
func copyTo(t *testing.T, url, dir string) {
	t.Helper()
	s, err := open.URL(url)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(dir), file)
		if err != nil {
			return err
		}
		return s.Put(t.Context(), stores.Object{Name: filepath.ToSlash(name), Size: int64(len(b)), SHA256: sha256.Sum256(b)}, bytes.NewReader(b))
	})
	if err = errors.Join(err, open.Close(s)); err != nil {
		t.Fatal(err)
	}
}

// sameJob compares what was collected in two directories: everything but the manifest, which has times, byte for byte.
func sameJob(t *testing.T, one, two string) {
	t.Helper()
	read := func(dir string) map[string]string {
		all := map[string]string{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || name == "manifest.json" {
				return err
			}
			b, err := os.ReadFile(filepath.Join(dir, name))
			all[name] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	a, b := read(one), read(two)
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s: %d bytes in one, %d in the other", name, len(a[name]), len(b[name]))
		}
	}
	if len(a) != len(b) || len(a) < 5 {
		t.Errorf("%d files and %d", len(a), len(b))
	}
}

// TestCollectFromStores collects nodes' directories that were copied to a store, alone and together with one that is at hand. It is the
// same job as that from all directories. What a store lacks is named, and nothing is left behind.
func TestCollectFromStores(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-time", "3h"))
		a := l.begin("a")
		l.begin("b")
		time.Sleep(6 * time.Second)
		a.stop()
		l.wait()
		l.collect()
		bucket := t.TempDir()
		url := "file://" + filepath.ToSlash(bucket)
		nodeA, nodeB := filepath.Join(l.dir, "a"), filepath.Join(l.dir, "b")
		copyTo(t, url, nodeA)
		copyTo(t, url, nodeB)
		c := &Collecting{Engine: l.server.Connect(), Name: "test"}
		collect := func(name string, nodes ...string) (string, *Collected, error) {
			c.Nodes = nodes
			out := filepath.Join(l.dir, name)
			res, err := c.Into(t.Context(), out)
			return out, res, err
		}
		for name, nodes := range map[string][]string{
			"all": {url}, "each": {url + "/a", url + "/b"}, "mixed": {url, nodeB}, "other": {nodeA, url + "/b"},
		} {
			out, res, err := collect(name, nodes...)
			if err != nil || len(res.Missing) > 0 || len(res.LeftOut) > 0 {
				t.Fatalf("%v: %+v, %v", nodes, res, err)
			}
			sameJob(t, filepath.Join(l.dir, "out"), out)
		}
		if res, err := c.Check(t.Context()); err != nil || len(res.Faults) > 0 {
			t.Errorf("check: %+v, %v", res, err)
		}
		visits := must(filepath.Glob(filepath.Join(nodeB, "*", "*", job.VisitsName)))
		slices.SortFunc(visits, func(a, b string) int { return cmp.Compare(len(must(os.ReadFile(b))), len(must(os.ReadFile(a)))) })
		if err := os.Truncate(visits[0], 10); err != nil { // the store has it
			t.Fatal(err)
		}
		out, _, err := collect("healed", url, nodeB)
		if err != nil {
			t.Fatal(err)
		}
		sameJob(t, filepath.Join(l.dir, "out"), out)
		rel := must(filepath.Rel(l.dir, visits[0]))
		stored := filepath.Join(bucket, rel)
		text := must(os.ReadFile(stored))
		text[len(text)/2] ^= 1
		if err := os.WriteFile(stored, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := collect("damaged", url); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), url+"/"+filepath.ToSlash(rel)) {
			t.Errorf("with a damaged object: %v", err)
		}
		if _, _, err := collect("half", url+"/a"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "of node b is not among those given") {
			t.Errorf("with one node: %v", err)
		}
		for _, wrong := range []string{"file://" + filepath.ToSlash(t.TempDir()), "file:///nowhere/at/all", "s3:bucket"} {
			var told *job.Error
			if _, _, err := collect("wrong", wrong); !errors.As(err, &told) || !strings.Contains(err.Error(), wrong) {
				t.Errorf("%s: %v", wrong, err)
			}
		}
		if left := must(filepath.Glob(filepath.Join(l.dir, ".amble-*"))); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// bucket is an S3 server with the bucket "crawls", which a test can take away.
type bucket struct {
	serve http.HandlerFunc // nil: as a server does
}

func serveBucket(t *testing.T) *bucket {
	b, h := &bucket{}, gofakes3.New(s3mem.New()).Server()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/crawls", nil))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.serve != nil {
			b.serve(w, r)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	storestest.UseS3(t, srv.URL)
	return b
}

// realLab is a job of pages on a server of this machine, in real time.
func realLab(t *testing.T, pages int) *lab {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || n >= pages {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%d</title>", n)
		for next := 2*n + 1; next <= 2*n+2 && next < pages; next++ {
			fmt.Fprintf(w, `<a href="/%d">%d</a> `, next, next)
		}
	}))
	t.Cleanup(srv.Close)
	c, err := job.Settings{limit("contact", contact), limit("depth", "100"), {Name: "format", Values: []string{"jsonl", "warc"}}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Crawl.Politeness.Delay = crawler.NoDelay
	l := &lab{t: t, server: mem.New(), dir: t.TempDir(), program: func(*job.Config) {}}
	spec := &Spec{Config: c, Seeds: []weburl.URL{must(weburl.Parse(srv.URL + "/0"))}, Shards: 1, Lease: 9 * time.Second}
	if err := Create(t.Context(), l.server.Connect(), spec); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCollectFromS3 collects from a bucket of an S3 server that breaks off every seventh request.
func TestCollectFromS3(t *testing.T) {
	b := serveBucket(t)
	l := realLab(t, 30)
	n := &Node{Engine: l.server.Connect(), Name: "a", Dir: filepath.Join(l.dir, "a")}
	if err := n.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	copyTo(t, "s3://crawls/deep/in/it", n.Dir)
	var requests atomic.Int64
	b.serve = func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%7 == 0 {
			panic(http.ErrAbortHandler)
		}
	}
	c := &Collecting{Engine: l.server.Connect(), Name: "test", Nodes: []string{n.Dir}}
	one, two := filepath.Join(l.dir, "one"), filepath.Join(l.dir, "two")
	if res, err := c.Into(t.Context(), one); err != nil || res.Report.Pages != 30 {
		t.Fatalf("%+v, %v", res, err)
	}
	c.Nodes = []string{"s3://crawls/deep"}
	if _, err := c.Into(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	sameJob(t, one, two)
	c.Nodes = []string{"s3://missing/deep"}
	if _, err := c.Into(t.Context(), filepath.Join(l.dir, "three")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}
