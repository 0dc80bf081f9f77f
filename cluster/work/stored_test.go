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
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// copyTo copies the directory of a node to a store.
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

// sameJob compares two directories of a collected job byte for byte, except for the manifest, which contains times.
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

// TestCollectFromStores collects from copies of nodes' directories in a store, alone and together with a local directory. The result equals
// that of collecting from all directories. Files missing from the store are named, and no files are left behind.
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
		if err := os.Truncate(visits[0], 10); err != nil { // the store has the complete file
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

// bucket is an S3 server with the bucket "crawls". A test can intercept its requests.
type bucket struct {
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request) (done bool)] // nil: requests are answered normally
}

// serve lets f answer requests first; nil: requests are answered normally.
func (b *bucket) serve(f func(http.ResponseWriter, *http.Request) (done bool)) {
	if f == nil {
		b.answer.Store(nil)
		return
	}
	b.answer.Store(&f)
}

func serveBucket(t *testing.T) *bucket {
	b := &bucket{}
	storestest.ServeS3(t, gofakes3.New(s3mem.New()).Server(), func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if f := b.answer.Load(); f == nil || !(*f)(w, r) {
			server.ServeHTTP(w, r)
		}
	})
	return b
}

// realLab makes a job in real time. Its pages are on a server of this machine.
func realLab(t *testing.T, pages int) *lab {
	l := &lab{t: t, server: mem.New(), dir: t.TempDir(), program: func(*job.Config) {}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.requests.Add(1)
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
	spec := &Spec{Config: c, Seeds: []weburl.URL{must(weburl.Parse(srv.URL + "/0"))}, Shards: 1, Lease: 9 * time.Second}
	if err := Create(t.Context(), l.server.Connect(), spec); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestCollectFromS3 collects from a bucket of an S3 server that breaks off every seventh request. A repeated request always succeeds:
// otherwise, with concurrent requests, one of them could be the seventh at each attempt, and collecting would fail.
func TestCollectFromS3(t *testing.T) {
	b := serveBucket(t)
	l := realLab(t, 30)
	n := &Node{Engine: l.server.Connect(), Name: "a", Dir: filepath.Join(l.dir, "a")}
	if err := n.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	copyTo(t, "s3://crawls/deep/in/it", n.Dir)
	var seen sync.Map
	var requests, failed atomic.Int64
	b.serve(func(_ http.ResponseWriter, r *http.Request) bool {
		_, again := seen.LoadOrStore(r.Method+" "+r.URL.String()+" "+r.Header.Get("Range"), nil)
		if !again && requests.Add(1)%7 == 0 {
			failed.Add(1)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	c := &Collecting{Engine: l.server.Connect(), Name: "test", Nodes: []string{n.Dir}}
	one, two := filepath.Join(l.dir, "one"), filepath.Join(l.dir, "two")
	if res, err := c.Into(t.Context(), one); err != nil || res.Report.Pages != 30 {
		t.Fatalf("%+v, %v", res, err)
	}
	c.Nodes = []string{"s3://crawls/deep"}
	if _, err := c.Into(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	if failed.Load() == 0 {
		t.Error("no request was broken off")
	}
	sameJob(t, one, two)
	c.Nodes = []string{"s3://missing/deep"}
	if _, err := c.Into(t.Context(), filepath.Join(l.dir, "three")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// awaitHalfStored waits until the store has files of one of the nodes, but not all that the node has committed. It returns the name of this
// node.
func (l *lab) awaitHalfStored(c *Collecting, nodes ...string) string {
	l.t.Helper()
	for range 60 {
		time.Sleep(time.Second)
		res, err := c.Into(l.t.Context(), filepath.Join(l.t.TempDir(), "until now"))
		if err != nil {
			l.t.Fatal(err)
		}
		for _, node := range nodes {
			stored := must(filepath.Glob(filepath.Join(strings.TrimPrefix(l.store, "file://"), node, "*", "*")))
			if len(stored) > 0 && slices.ContainsFunc(res.Missing, func(what string) bool {
				return strings.Contains(what, ": node "+node+": ") && !strings.HasSuffix(what, ": 0 visits")
			}) {
				return node
			}
		}
	}
	l.t.Fatal("no node ever was in that state")
	return ""
}

// TestNodesStore: nodes store finished files while they crawl. In one case, the machine of a node is lost with its disk. What this node had
// stored is collected, only its other files are missing, and verify finds no violation. In the other case, the store alone has everything.
func TestNodesStore(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost=", lost), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				l := newLab(t, w, limit("max-time", "3h"))
				bucket, had := t.TempDir(), filepath.Join(t.TempDir(), "had")
				l.store, l.renew = "file://"+filepath.ToSlash(bucket), 5*time.Second
				nodes := map[string]*labNode{"a": l.begin("a"), "b": l.begin("b")}
				c := &Collecting{Engine: l.server.Connect(), Name: "test", Nodes: []string{l.store}, Partial: true}
				lostNode := ""
				if lost {
					lostNode = l.awaitHalfStored(c, "a", "b")
					nodes[lostNode].conn.Cut(true)
					synctest.Wait() // the node may be storing a file
					if err := os.CopyFS(had, os.DirFS(filepath.Join(bucket, lostNode))); err != nil {
						t.Fatal(err)
					}
				}
				l.wait()
				_, seen := l.collect()
				out := filepath.Join(l.dir, "from the store")
				if !lost {
					if res, err := c.Into(t.Context(), out); err != nil || len(res.Missing) > 0 {
						t.Fatalf("%+v, %v", res, err)
					}
					sameJob(t, filepath.Join(l.dir, "out"), out)
					return
				}
				kept := must(filepath.Glob(filepath.Join(had, "*", "*")))
				if err := errors.Join(os.RemoveAll(filepath.Join(bucket, lostNode)), os.Rename(had, filepath.Join(bucket, lostNode))); err != nil {
					t.Fatal(err)
				}
				res, err := c.Into(t.Context(), out)
				if err != nil || len(res.Missing) == 0 || res.Visits == 0 || res.Visits >= total(seen) {
					t.Fatalf("%+v, %v", res, err)
				}
				for _, segment := range kept {
					shard, epoch := filepath.Base(filepath.Dir(segment)), filepath.Base(segment)
					if slices.ContainsFunc(res.Missing, func(what string) bool {
						return strings.HasPrefix(what, fmt.Sprintf("shard %s, epoch %s: node %s", shard, epoch, lostNode))
					}) {
						t.Errorf("shard %s, epoch %s was stored, and is missing", shard, epoch)
					}
				}
				r, err := job.Read(out)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if v, err := r.Verify(); err != nil || v.Damaged() > 0 || v.Chain.Fault != "" || v.Matching.Fault() != "" || v.Matching.Visits != total(seen)-res.Visits {
					t.Errorf("verify: %+v, %v", v, err)
				}
				if len(kept) == 0 {
					t.Error("nothing of the lost node was stored")
				}
			})
		})
	}
}

// TestUnreachableStore checks that a node crawls while its store is unreachable, and reports that it could not store its files. The next
// process in the node's directory stores them.
func TestUnreachableStore(t *testing.T) {
	b := serveBucket(t)
	l := realLab(t, 20)
	b.serve(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	var notes atomic.Int64
	n := &Node{Engine: l.server.Connect(), Name: "a", Dir: filepath.Join(l.dir, "a"), Store: "s3://crawls/shop", Note: func(string) { notes.Add(1) }}
	err := n.Run(t.Context())
	var told *job.Error
	if !errors.As(err, &told) || told.Kind != job.Storage || !strings.Contains(err.Error(), "start the node again") || notes.Load() == 0 {
		t.Fatalf("with the store away: %v, %d notes", err, notes.Load())
	}
	b.serve(nil)
	again := &Node{Engine: l.server.Connect(), Name: "a", Dir: n.Dir, Store: n.Store}
	if err := again.Run(t.Context()); err != nil {
		t.Fatalf("with the store back: %v", err)
	}
	c := &Collecting{Engine: l.server.Connect(), Name: "test", Nodes: []string{n.Dir}}
	one, two := filepath.Join(l.dir, "one"), filepath.Join(l.dir, "two")
	if res, err := c.Into(t.Context(), one); err != nil || res.Report.Pages != 20 {
		t.Fatalf("%+v, %v", res, err)
	}
	c.Nodes = []string{"s3://crawls/shop"}
	if _, err := c.Into(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	sameJob(t, one, two)
	var puts atomic.Int64
	b.serve(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/0/1/") {
			puts.Add(1)
		}
		return false
	})
	if err := again.Run(t.Context()); err != nil || puts.Load() > 0 {
		t.Errorf("a third time: %v, and %d objects were sent again", err, puts.Load())
	}
	b.serve(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	idle := &Node{Engine: l.server.Connect(), Name: "b", Dir: filepath.Join(l.dir, "b"), Store: n.Store}
	if err := idle.Run(t.Context()); err != nil {
		t.Errorf("with the store away, and nothing to store: %v", err)
	}
}

// TestStoreRefuses checks that a node whose store refuses access ends before it requests anything.
func TestStoreRefuses(t *testing.T) {
	b := serveBucket(t)
	l := realLab(t, 5)
	run := func(name, url string) error {
		n := &Node{Engine: l.server.Connect(), Name: name, Dir: filepath.Join(t.TempDir(), "n"), Store: url}
		return n.Run(t.Context())
	}
	refused := func(what string, err error, text string) {
		t.Helper()
		var told *job.Error
		if !errors.As(err, &told) || told.Kind != job.Refused || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a bucket that is missing", run("a", "s3://missing/x"), "s3://missing/x")
	refused("no URL of a store", run("a", "ftp://x"), "want s3://BUCKET/PREFIX")
	refused("a name with a slash", run("a/b", "s3://crawls/x"), "without slashes")
	b.serve(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`))
		return true
	})
	refused("without the right to write", run("a", "s3://crawls/x"), "Access Denied")
	b.serve(nil)
	dir := t.TempDir()
	for name, content := range map[string]string{"taken/a/node.json": "another\n", "used/a/photo.jpg": "x"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	refused("another job's node", run("a", "file://"+filepath.ToSlash(dir)+"/taken"), "of another job")
	refused("what is no node's", run("a", "file://"+filepath.ToSlash(dir)+"/used"), "photo.jpg")
	if n := l.requests.Load(); n > 0 {
		t.Errorf("%d requests", n)
	}
}
