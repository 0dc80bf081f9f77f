package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// countedSite serves pages and counts their requests. Before it answers a request, it calls a function with the request's number.
type countedSite struct {
	mu      sync.Mutex
	counts  map[string]int
	request int
	then    func(n int)
	pages   http.HandlerFunc
}

func (s *countedSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/robots.txt" {
		s.mu.Lock()
		s.counts[r.URL.Path]++
		s.request++
		n, then := s.request, s.then
		s.mu.Unlock()
		if then != nil {
			then(n)
		}
	}
	s.pages(w, r)
}

func serveCounted(t *testing.T, pages int) (*countedSite, string) {
	s := &countedSite{counts: map[string]int{}, pages: storedPages(pages)}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL + "/"
}

// resumeStored restores a job from its store, and resumes it until nothing is left. It returns the directory, and the URLs visited before.
func resumeStored(t *testing.T, url string) (dir string, had map[string]bool) {
	t.Helper()
	dir, had = filepath.Join(t.TempDir(), "elsewhere"), map[string]bool{}
	if err := Restore(t.Context(), dir, url); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	r := must(Read(dir))
	for _, o := range must(r.files.readStored()).Objects {
		if _, err := os.Lstat(filepath.Join(dir, o.Name)); err == nil && path.Dir(o.Name) == "." && !strings.HasPrefix(o.Name, "ledger") && !ownFiles[o.Name] {
			t.Errorf("%s goes on in the directory, and is listed as it is in the store", o.Name)
		}
	}
	for v, err := range must(r.Committed()).Visits() {
		check(t, err)
		had[v.URL] = true
	}
	check(t, r.Close())
	c, seeds := begun(t, dir)
	c.Crawl.Limits.Pages = crawler.Unlimited
	j, err := Resume(dir, c, seeds)
	if err != nil {
		t.Fatalf("Resume: %v", err)
	}
	_, err = j.Run(t.Context())
	check(t, err)
	check(t, j.Upload(t.Context()))
	check(t, j.Close())
	return dir, had
}

// begun returns the settings and seeds with which a job was begun.
func begun(t *testing.T, dir string) (Config, []string) {
	t.Helper()
	r := must(Read(dir))
	defer func() { check(t, r.Close()) }()
	return must(must(r.Settings()).Config()), must(r.Manifest()).Seeds
}

// storedPart crawls the first pages of a job with a store.
func storedPart(t *testing.T) (c Config, dir, url, seed string) {
	serveBucket(t)
	_, seed = serveCounted(t, 60)
	dir, url = filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c = storedConfig(url)
	c.Crawl.Limits.Pages = 25
	runStored(t, dir, c, seed)
	return c, dir, url, seed
}

func TestJobIsResumedFromItsStoreAlone(t *testing.T) {
	serveBucket(t)
	site, seed := serveCounted(t, 60)
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	c.KeepLocal, c.Crawl.Limits.Pages, c.Links = 8<<10, 25, true
	runStored(t, dir, c, seed)
	checkStored(t, dir, url, 25)
	check(t, os.RemoveAll(dir))
	again, _ := resumeStored(t, url)
	checkStored(t, again, url, 60)
	for path, n := range site.counts {
		if n != 1 {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	if err := Restore(t.Context(), dir, url); !errors.Is(err, ErrFinished) {
		t.Errorf("a finished job: %v", err)
	}
}

// The machine of a crawl is lost after it has stored segments that are newer than the queue in the store.
func TestJobOfLostMachineResumesFromStore(t *testing.T) {
	serveBucket(t)
	site, seed := serveCounted(t, 60)
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	c.Crawl.Concurrency = 1
	committed := make(chan bool, 1000)
	c.Crawl.Trace = &crawler.Trace{Committed: func(c crawler.Commit) {
		for range c.Visits {
			committed <- true
		}
	}}
	known := 0
	await := func(visits int) {
		for ; known < visits; known++ {
			<-committed
		}
	}
	j := must(Start(dir, c, seed))
	ctx, cancel := context.WithCancel(t.Context())
	site.then = func(n int) {
		switch n {
		case 30:
			await(20)
			check(t, errors.Join(j.uploads.storeReady(ctx), j.uploads.storeQueue(ctx)))
			if err := Restore(ctx, filepath.Join(t.TempDir(), "x"), url); !errors.Is(err, ErrHeld) {
				t.Errorf("while it is crawled: %v", err)
			}
			j.uploads.mu.Lock()
			j.uploads.next = time.Now().Add(time.Hour)
			j.uploads.mu.Unlock()
		case 46, 47, 48, 49:
			// A commit may have many visits, and only the next commit closes their segment. The last commits are small, to lose few.
			await(n - 2)
		case 50:
			await(n - 2)
			check(t, j.uploads.storeReady(ctx))
			cancel()
		}
	}
	_, _ = j.Run(ctx)
	check(t, j.Close()) // without Upload, but the lease of the store ends
	site.then = nil
	again, had := resumeStored(t, url)
	checkStored(t, again, url, 60)
	checkAllIsStored(t, again)
	made, recorded := 0, 0
	for _, n := range site.counts {
		made += n
	}
	r := must(Read(again))
	for e, err := range r.Ledger() {
		check(t, err)
		if e.Event == ledger.Start && !strings.HasSuffix(e.URL, "/robots.txt") {
			recorded++
		}
	}
	check(t, r.Close())
	if lost := made - recorded; lost < 0 || lost > 10 { // requests of the last segment, which was not closed, are lost
		t.Errorf("of %d requests the ledger has %d", made, recorded)
	}
	if len(had) < 20 || len(had) > 29 {
		t.Errorf("the queue in the store had %d pages", len(had))
	}
	for path, n := range site.counts {
		if n != 1 && had[strings.TrimSuffix(seed, "/")+path] {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	if _, err := Resume(dir, c, []string{seed}); !errors.Is(err, errMoved) {
		t.Errorf("the directory that was left behind: %v", err)
	}
}

// If two directories are restored from one store, only the first one that is resumed can continue the job.
func TestOnlyOneDirectoryTakesAJobOver(t *testing.T) {
	c, dir, url, seed := storedPart(t)
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	check(t, Restore(t.Context(), one, url))
	check(t, Restore(t.Context(), two, url))
	if err := CheckMaker(one, &c); !errors.Is(err, ErrUntrusted) {
		t.Errorf("what somebody put into the store is trusted: %v", err)
	}
	j := must(Resume(one, c, []string{seed}))
	for _, d := range []string{dir, two} {
		if _, err := Resume(d, c, []string{seed}); !errors.Is(err, errMoved) {
			t.Errorf("%s: %v", d, err)
		}
	}
	check(t, j.Close())
}

// Before the first request of a job, the files that define the job are in its store.
func TestStoreDefinesJobBeforeFirstRequest(t *testing.T) {
	serveBucket(t)
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	j := must(Start(dir, storedConfig(url), "http://127.0.0.1:1/"))
	copied := filepath.Join(t.TempDir(), "copy")
	check(t, os.Mkdir(copied, 0o700))
	check(t, Attach(t.Context(), copied, url))
	r := must(Read(copied))
	if m := must(r.Manifest()); len(m.Seeds) != 1 {
		t.Errorf("%+v", m)
	}
	check(t, r.Close())
	check(t, j.Close())
	if err := Restore(t.Context(), dir+"2", url); err == nil || !strings.Contains(err.Error(), "before its first commit") {
		t.Errorf("without a queue: %v", err)
	}
}

func TestDamagedQueueInStoreIsRefused(t *testing.T) {
	_, _, url, _ := storedPart(t)
	s := must(open.URL(url))
	list := must(getSmall(t.Context(), s, queueName))
	put := func(name string, b []byte) { check(t, putBytes(t.Context(), s, name, b)) }
	refuse := func(what, want string) {
		t.Helper()
		to := filepath.Join(t.TempDir(), "to")
		err := Restore(t.Context(), to, url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		for _, left := range []string{to, to + ".part"} {
			if _, err := os.Stat(left); err == nil {
				t.Errorf("%s: %s is left", what, left)
			}
		}
	}
	change := func(what, want string, f func(q *queued)) {
		t.Helper()
		q := must(parseQueued(list))
		f(q)
		put(queueName, must(json.Marshal(q)))
		refuse(what, want)
	}
	put(queueName, list[:len(list)/2])
	refuse("cut", "is damaged")
	change("another job", "of another job", func(q *queued) { q.Job = "x" })
	change("another form", "of the form", func(q *queued) { q.Schema = "x" })
	for _, name := range []string{"../x", "/etc/x", "lock", "stored.json", cookiesName, "frontier/../x", "frontier/a/b", "settings/x", "x", "frontier/LOCK"} {
		change(name, "not one that a job needs", func(q *queued) { q.Files[0].Name = name })
	}
	change("elsewhere", "where its parts are", func(q *queued) { q.Place = "../x" })
	change("no hash", "not one that a job needs", func(q *queued) { q.Files[0].Parts = []string{"../../x"} })
	change("twice", "not one that a job needs", func(q *queued) { q.Files = append(q.Files, q.Files[0]) })
	change("no settings", " is missing", func(q *queued) {
		q.Files = q.Files[:len(q.Files)-2]
	})
	change("shorter", "longer than the files", func(q *queued) { q.Files[0].Bytes-- })
	change("longer", "not as long as", func(q *queued) { q.Files[0].Bytes++ })
	change("a petabyte", "the disk has", func(q *queued) {
		for range 1 << 16 {
			q.Files[0].Parts = append(q.Files[0].Parts, q.Files[0].Parts[0])
		}
		q.Files[0].Bytes = int64(len(q.Files[0].Parts)) * maxPart
	})
	change("robots", "robots.txt", func(q *queued) { q.Robots = append(q.Robots, q.Files[0].Parts[0]) })
	put(queueName, list)
	q := must(parseQueued(list))
	part := q.part(q.Files[0].Parts[0])
	content := must(getSmall(t.Context(), s, part))
	put(part, append(bytes.Clone(content), 'x'))
	refuse("a changed part", "not what was stored")
	check(t, s.Delete(t.Context(), part))
	refuse("a missing part", "is missing")
	put(part, content)
	check(t, s.Delete(t.Context(), leaseName)) // as an operator does who knows that no process is crawling
	resumeStored(t, url)
}

// cutStore is a store that sometimes returns less of an object than is stored.
type cutStore struct {
	stores.Store
	cuts int
}

func (c *cutStore) Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error) {
	r, err := c.Store.Get(ctx, name, at, length)
	if c.cuts--; err == nil && c.cuts >= 0 {
		r = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, 3), failing{}), r}
	}
	return r, err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSmallObjectsAreReadAgain(t *testing.T) {
	t.Parallel()
	s := must(stores.OpenDir(t.TempDir()))
	check(t, putBytes(t.Context(), s, "x", []byte("content")))
	for cuts, want := range map[int]bool{0: true, awayTries - 1: true, awayTries: false} {
		b, err := getSmall(t.Context(), &cutStore{s, cuts}, "x")
		if ok := err == nil && string(b) == "content"; ok != want {
			t.Errorf("%d cuts: %q, %v", cuts, b, err)
		}
	}
}

// checkAllIsStored compares a job's directory with the content of its store.
func checkAllIsStored(t *testing.T, dir string) {
	d := must(openJobFiles(dir))
	defer func() { check(t, d.close()) }()
	list := must(d.readStored())
	check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name := filepath.ToSlash(must(filepath.Rel(dir, path)))
		switch {
		case err != nil:
			return err
		case name == frontierName:
			return fs.SkipDir
		case e.Type().IsRegular() && name != storedName && name != lockName && name != lastWriteName:
			if fact, ok := list.find(name); !ok || fact != must(d.factOf(name)) {
				t.Errorf("%s is not in the store as it is in the directory", name)
			}
		}
		return nil
	}))
	visited := map[string]bool{}
	r := must(Read(dir))
	for v, err := range r.Visits() {
		check(t, err)
		if visited[v.URL] {
			t.Errorf("%s has two visits", v.URL)
		}
		visited[v.URL] = true
	}
	check(t, r.Close())
}
