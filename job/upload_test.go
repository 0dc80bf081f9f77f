package job

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/stores/open"
	"github.com/amble-crawler/amble/stores/storestest"
	"github.com/amble-crawler/amble/weburl"
)

// storedSite serves pages that link to each other.
func storedSite(t *testing.T, pages int) string {
	srv := httptest.NewServer(storedPages(pages))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

func storedPages(pages int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil && r.URL.Path != "/" || n >= pages {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>%d</title>`, n)
		for next := 2*n + 1; next <= 2*n+2 && next < pages; next++ {
			fmt.Fprintf(w, `<a href="/%d">%d</a>`, next, next)
		}
	}
}

// noise returns text that hardly compresses.
func noise(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// bucket is an S3 server with the bucket "crawls". A test can make it unreachable.
type bucket struct {
	away     atomic.Bool
	puts     atomic.Int64
	seen     func()      // called for each request; may be nil
	noDelete atomic.Bool // objects cannot be deleted
}

func serveBucket(t *testing.T) *bucket { return serveBucketIn(t, s3mem.New()) }

func serveBucketIn(t *testing.T, objects gofakes3.Backend) *bucket {
	b := &bucket{}
	storestest.ServeS3(t, gofakes3.New(objects).Server(), func(server http.Handler, w http.ResponseWriter, r *http.Request) {
		if b.seen != nil {
			b.seen()
		}
		if b.away.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodPut {
			b.puts.Add(1)
		}
		if b.noDelete.Load() && r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
			return
		}
		server.ServeHTTP(w, r)
	})
	return b
}

func storedConfig(url string) Config {
	c := Config{Store: url, SegmentSize: 2 << 10, Archive: true, MinFree: crawler.Zero}
	c.WARC.MaxSize = 8 << 10
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Depth = crawler.NoDelay, crawler.Unlimited
	return c
}

// finished reports whether the job has nothing left to do. It closes the reader.
func (r *Reader) finished(t *testing.T) bool {
	m := must(r.Manifest())
	check(t, r.Close())
	return m.Finished()
}

// runStored runs a job until it ends and everything is stored.
func runStored(t *testing.T, dir string, c Config, seeds ...string) {
	t.Helper()
	j, err := Start(dir, c, seeds...)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	if _, err = j.Run(t.Context()); err != nil {
		t.Fatalf("Run: %v", err)
	}
	if err := j.Upload(t.Context()); err != nil {
		t.Fatalf("Upload: %v", err)
	}
	check(t, j.Close())
}

// checkStored checks that the store matches its list of files, and that the job as read from the store has the given number of visits.
func checkStored(t *testing.T, dir, url string, pages int) {
	t.Helper()
	s := must(open.URL(url))
	d := must(openJobFiles(dir))
	list := must(d.readStored())
	objects := 0
	for o, err := range s.List(t.Context(), "") {
		check(t, err)
		if isOfQueue(o.Name) && o.Name != leaseName && must(Read(dir)).finished(t) {
			t.Errorf("%s is left of a finished job", o.Name)
		}
		if o.Name == storedName || isOfQueue(o.Name) {
			continue
		}
		objects++
		fact, ok := list.find(o.Name)
		in := must(s.Get(t.Context(), o.Name, 0, -1))
		content := must(io.ReadAll(in))
		check(t, in.Close())
		if got := factOfBytes(content); !ok || got != fact {
			t.Errorf("%s is %+v, and %+v in the list (%v)", o.Name, got, fact, ok)
		}
		if local, err := os.ReadFile(d.path(o.Name)); err == nil && !bytes.Equal(local, content) {
			t.Errorf("%s differs from the directory's", o.Name)
		}
	}
	if objects != len(list.Objects) {
		t.Errorf("%d objects, %d in the list", objects, len(list.Objects))
	}
	check(t, errors.Join(d.close(), open.Close(s)))
	copied := filepath.Join(t.TempDir(), "copy")
	check(t, os.Mkdir(copied, 0o700))
	check(t, Attach(t.Context(), copied, url))
	for _, dir := range []string{dir, copied} {
		r := must(Read(dir))
		n := 0
		for v, err := range r.Visits() {
			check(t, err)
			if v.Status == http.StatusOK {
				n++
			}
		}
		v := must(r.Verify())
		if n != pages || v.Damaged() > 0 || v.Queue != "" || v.Chain.Fault != "" || len(v.Violations) > 0 {
			t.Errorf("%s: %d pages, %d of %d files damaged, %s", dir, n, v.Damaged(), len(v.Files), v.Queue)
		}
		p := must(r.Pages())
		if p == nil { // the job has no archive
			check(t, r.Close())
			continue
		}
		for v := range r.Visits() {
			if v.WARC != nil && v.Outcome == string(crawler.Fetched) {
				_, err := p.archive.At(v.WARC.File, v.WARC.Offset)
				check(t, err)
			}
		}
		rec := must(Replay(dir))
		for v := range r.Visits() {
			if v.WARC != nil {
				_, err := rec.find(must(weburl.Parse(v.URL)), politeness.Page)
				check(t, err)
			}
		}
		check(t, errors.Join(p.Close(), r.Close(), rec.Close()))
	}
	if _, err := Open(copied); err == nil || !strings.Contains(err.Error(), "no queue") && !errors.Is(err, ErrFinished) {
		t.Errorf("a copy was opened: %v", err)
	}
}

func TestFinishedFilesAreStored(t *testing.T) {
	serveBucket(t)
	seed := storedSite(t, 60)
	for kind, url := range map[string]string{"directory": "file://" + filepath.ToSlash(t.TempDir()), "bucket": "s3://crawls/of/one"} {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			c := storedConfig(url)
			c.KeepLocal = 1
			runStored(t, dir, c, seed)
			checkStored(t, dir, url, 60)
			names, err := filepath.Glob(filepath.Join(dir, "visits*.jsonl"))
			check(t, err)
			archives, err := filepath.Glob(filepath.Join(dir, archiveName, "*.warc.gz"))
			check(t, err)
			if len(names) != 1 || len(archives) != 1 {
				t.Errorf("%v and %v are left in the directory", names, archives)
			}
		})
	}
}

// If a process has stored a segment at its end, and the next process adds to the segment, the segment is stored again.
func TestGrownFilesAreStoredAgain(t *testing.T) {
	list := newStored("").with(storedObject{VisitsName, FileFact{1, "was"}})
	if again := list.missing(map[string]extent{VisitsName: {Bytes: 2, SHA256: "is", Closed: true}}, ""); len(again) != 1 {
		t.Errorf("to be stored: %v", again)
	}
	serveBucket(t)
	seed, dir, url := storedSite(t, 60), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	c.KeepLocal = 8 << 10
	for _, limit := range []crawler.Limit{7, 23, 40, 0} {
		c.Crawl.Limits.Pages = limit
		runStored(t, dir, c, seed)
		if limit > 0 {
			checkStored(t, dir, url, int(limit))
		}
	}
	checkStored(t, dir, url, 60)
}

func TestNothingIsStoredTwice(t *testing.T) {
	b := serveBucket(t)
	seed, dir := storedSite(t, 60), filepath.Join(t.TempDir(), "job")
	runStored(t, dir, storedConfig("s3://crawls/of/one"), seed)
	before := b.puts.Load()
	check(t, UploadRest(t.Context(), dir, nil))
	if n := b.puts.Load() - before; n > 4 { // allowed: the probe for permissions, the lease and the list
		t.Errorf("%d objects were stored again", n)
	}
	if Unstored(dir) {
		t.Error("it is said to be unstored")
	}
}

// While its store is unreachable, a crawl continues until its disk space is used up. It then pauses, and resumes when the store is back.
func TestUnreachableStorePausesTheCrawl(t *testing.T) {
	b := serveBucket(t)
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	var paused atomic.Bool
	var requested sync.Map // requested paths; the site has more pages until the crawl is paused, however long that takes
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		requested.Store(r.URL.Path, true) // the set ignores repeated requests, such as those after a lost connection
		w.Header().Set("Content-Type", "text/html")
		if !paused.Load() {
			fmt.Fprintf(w, `<a href="%s0">0</a> <a href="%s1">1</a><p>%s`, r.URL.Path, r.URL.Path, noise(8<<10))
		}
	}))
	defer srv.Close()
	var mu sync.Mutex
	var notes []string
	c := storedConfig(url)
	c.Crawl.Limits.Pages, c.Crawl.Traps.PerDir = crawler.Unlimited, crawler.Unlimited
	c.SegmentSize, c.MaxDisk = 32<<10, 3<<20
	c.WARC.MaxSize = 128 << 10
	c.Note = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
		t.Log(text)
		if strings.HasPrefix(text, "paused: ") {
			paused.Store(true)
			b.away.Store(false)
		}
	}
	b.away.Store(true)
	runStored(t, dir, c, srv.URL+"/")
	all := strings.Join(notes, "\n")
	for _, want := range []string{"paused: ", "waiting for the store", "resumed: "} {
		if !strings.Contains(all, want) {
			t.Errorf("%q was not said:\n%s", want, all)
		}
	}
	pages := 0
	requested.Range(func(any, any) bool { pages++; return true })
	checkStored(t, dir, url, pages)
}

func TestUploadThatIsInterruptedIsCompleted(t *testing.T) {
	b := serveBucket(t)
	seed, dir, url := storedSite(t, 60), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	j, err := Start(dir, storedConfig(url), seed)
	check(t, err)
	_, err = j.Run(t.Context())
	check(t, err)
	b.away.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	j.config.Note = func(string) { cancel() }
	if err := j.Upload(ctx); err == nil {
		t.Error("everything is stored where there is nothing")
	}
	check(t, j.Close())
	b.away.Store(false)
	if _, err := Open(dir); !errors.Is(err, ErrFinished) || !Unstored(dir) {
		t.Errorf("%v, unstored: %v", err, Unstored(dir))
	}
	check(t, UploadRest(t.Context(), dir, nil))
	if Unstored(dir) {
		t.Error("it is said to be unstored")
	}
	checkStored(t, dir, url, 60)
}

func TestStoreThatRefusesAtTheBeginning(t *testing.T) {
	b := serveBucket(t)
	seed := storedSite(t, 3)
	used, foreign := "s3://crawls/used", "s3://crawls/foreign"
	runStored(t, filepath.Join(t.TempDir(), "job"), storedConfig(used), seed)
	s := must(open.URL(foreign))
	check(t, s.Put(t.Context(), storestest.Of("notes.txt", nil), bytes.NewReader(nil)))
	for url, want := range map[string]string{
		used: "another job", foreign: "not empty", "s3://other/x": "make the bucket first", "file:///no/such/directory": "no such", "gs://x": "want s3://",
	} {
		dir := filepath.Join(t.TempDir(), "job")
		if _, err := Create(dir, storedConfig(url), seed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		runStored(t, dir, storedConfig("s3://crawls/instead/"+filepath.Base(filepath.Dir(dir))), seed) // the directory can be used again
	}
	b.noDelete.Store(true)
	if _, err := Create(filepath.Join(t.TempDir(), "job"), storedConfig("s3://crawls/kept"), seed); err == nil || !strings.Contains(err.Error(), "s3:DeleteObject") {
		t.Errorf("without the right to remove objects: %v", err)
	}
}

// If a job is killed after it has claimed its prefix in the store, but before it has a manifest, it can begin again at that prefix.
func TestClaimOfKilledJobIsItsOwn(t *testing.T) {
	serveBucket(t)
	seed, dir, url := storedSite(t, 20), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	j := must(lockDir(dir))
	j.config = storedConfig(url)
	check(t, j.openStore(t.Context()))
	s, list := must(open.URL(url)), j.uploads.list
	check(t, j.release())
	// Make the claim incomplete.
	check(t, errors.Join(s.Delete(t.Context(), storedName), s.Delete(t.Context(), leaseName), putBytes(t.Context(), s, probeName, []byte(list.Job))))
	check(t, open.Close(s))
	runStored(t, dir, storedConfig(url), seed)
	checkStored(t, dir, url, 20)
}

func TestStoreOfJobStays(t *testing.T) {
	serveBucket(t)
	seed, dir := storedSite(t, 20), filepath.Join(t.TempDir(), "job")
	c := storedConfig("s3://crawls/of/one")
	c.Crawl.Limits.Pages = 5
	runStored(t, dir, c, seed)
	for _, url := range []string{"", "s3://crawls/of/two"} {
		c.Store = url
		if _, err := Start(dir, c, seed); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
			t.Errorf("store %q: %v", url, err)
		}
	}
}

func TestRemoveStoredRemovesTheJobAndNothingElse(t *testing.T) {
	serveBucket(t)
	seed, root := storedSite(t, 20), t.TempDir()
	dir, url := filepath.Join(root, "job"), "s3://crawls/of/one"
	runStored(t, dir, storedConfig(url), seed)
	s := must(open.URL(url))
	check(t, s.Put(t.Context(), storestest.Of("yours/notes.txt", nil), bytes.NewReader(nil)))
	check(t, RemoveStored(t.Context(), dir))
	for o, err := range s.List(t.Context(), "") {
		if err != nil || o.Name != "yours/notes.txt" {
			t.Errorf("%s is left, %v", o.Name, err)
		}
	}
	check(t, s.Delete(t.Context(), "yours/notes.txt"))
	other := filepath.Join(root, "other")
	runStored(t, other, storedConfig(url), seed)
	if err := RemoveStored(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another job") {
		t.Errorf("%v", err)
	}
	checkStored(t, other, url, 20)
}

// Verify compares the content of the store with its list of files, and notices changes in the store.
func TestVerifyNoticesChangesInTheStore(t *testing.T) {
	serveBucket(t)
	seed, dir, url := storedSite(t, 60), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	c.KeepLocal = 1
	runStored(t, dir, c, seed)
	s := must(open.URL(url))
	o := must(s.Stat(t.Context(), VisitsName))
	b := must(io.ReadAll(must(s.Get(t.Context(), VisitsName, 0, -1))))
	b[len(b)/2] ^= 1
	check(t, s.Put(t.Context(), storestest.Of(VisitsName, b), bytes.NewReader(b)))
	r := must(Read(dir))
	if v, err := r.Verify(); err != nil || v.Damaged() != 1 {
		t.Errorf("changed: %v, %+v", err, v)
	}
	check(t, s.Delete(t.Context(), o.Name))
	if v, err := r.Verify(); err != nil || v.Damaged() != 1 {
		t.Errorf("removed: %v, %+v", err, v)
	}
	check(t, r.Close())
}

func TestListOfStoreIsReadWithCare(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("a", 64)
	for _, text := range []string{
		``, `{}`, `{"schema":"amble.stored/2","job":"x"}`, `{"schema":"amble.stored/1"}`,
		`{"schema":"amble.stored/1","job":"x","objects":[{"name":"../x","sha256":"` + sum + `"}]}`,
		`{"schema":"amble.stored/1","job":"x","objects":[{"name":"x","sha256":"` + sum[1:] + `"}]}`,
		`{"schema":"amble.stored/1","job":"x","objects":[{"name":"x","bytes":-1,"sha256":"` + sum + `"}]}`,
	} {
		if _, err := parseStored([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	if _, err := parseStored([]byte(`{"schema":"amble.stored/1","job":"x","objects":[{"name":"x","sha256":"` + sum + `"}]}`)); err != nil {
		t.Error(err)
	}
}

// Bodies of robots.txt files count towards --keep-local, too. Bodies that are only in the store are read from there, even when the job is
// resumed on another machine.
func TestRobotsFilesGoToTheStore(t *testing.T) {
	serveBucket(t)
	var seeds []string
	for n := range 12 {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprintf(w, "User-agent: *\nDisallow: /no%d\n", n)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/1">1</a>`)
		}))
		t.Cleanup(srv.Close)
		seeds = append(seeds, srv.URL+"/")
	}
	dir, url := filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	bodies := func() int { return len(must(filepath.Glob(filepath.Join(dir, robotsName, "*.txt")))) }
	c := storedConfig(url)
	c.KeepLocal = 1
	for _, limit := range []crawler.Limit{20, 0} {
		c.Crawl.Limits.Pages = limit
		j, err := Start(dir, c, seeds...)
		check(t, err)
		_, err = j.Run(t.Context())
		check(t, err)
		check(t, os.MkdirAll(filepath.Join(dir, resourcesName, "ab"), 0o755))
		check(t, j.Upload(t.Context()))
		check(t, j.Close())
		if n := bodies(); n > 0 {
			t.Errorf("%d robots.txt files are left in the directory", n)
		}
		if there, _ := filepath.Glob(filepath.Join(dir, resourcesName)); len(there) > 0 != (limit > 0) {
			t.Errorf("what pages loaded is there: %v", there)
		}
		want := 24
		if limit > 0 {
			want = int(limit)
		}
		checkStored(t, dir, url, want)
		if limit > 0 { // as if the disk were lost
			check(t, os.RemoveAll(dir))
			check(t, Restore(t.Context(), dir, url))
		}
	}
}

// A crawl that is paused for lack of disk space moves robots.txt files to the store, even if they may stay in the directory.
func TestRobotsFilesMakeRoom(t *testing.T) {
	serveBucket(t)
	seed, dir, url := storedSite(t, 10), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	j := must(Start(dir, c, seed))
	must(j.Run(t.Context()))
	bodies := func() (n int) {
		for _, e := range must(j.files.list(robotsName)) {
			if isRobotsBody(e.Name()) {
				n++
			}
		}
		return n
	}
	before := bodies()
	check(t, j.uploads.storeRobotsAgain(t.Context()))
	if n := bodies(); n != before || n == 0 {
		t.Fatalf("%d of %d files stay in a crawl that has room", n, before)
	}
	j.uploads.paused = true
	check(t, j.uploads.storeRobotsAgain(t.Context()))
	if n := bodies(); n != 0 {
		t.Errorf("%d of %d files stay in a paused crawl", n, before)
	}
	j.uploads.paused = false
	check(t, j.Upload(t.Context()))
	check(t, j.Close())
	checkStored(t, dir, url, 10)
}

// A pause for lack of disk space ends only when there is space again, or when nothing is left to store.
func TestPauseEndsWithRoomOrWithNothingToStore(t *testing.T) {
	serveBucket(t)
	seed, dir, url := storedSite(t, 10), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
	c := storedConfig(url)
	c.Note = func(string) {}
	j := must(Start(dir, c, seed))
	must(j.Run(t.Context()))
	u := j.uploads
	pause := func(most int64) { u.paused, j.config.MaxDisk = true, crawler.Limit(most) }
	if pause(1 << 30); u.full() || u.relieve(false) || u.paused {
		t.Error("a crawl waits although it has room")
	}
	if pause(1); !u.full() || !u.relieve(false) || !u.paused {
		t.Error("a crawl without room does not wait for what comes")
	}
	u.ready = []storedObject{{}}
	if !u.relieve(true) || !u.paused {
		t.Error("a crawl without room does not wait for what is ready")
	}
	if u.ready = nil; u.relieve(true) || u.paused {
		t.Error("a crawl that has nothing to store waits")
	}
	j.config.MaxDisk = 0
	check(t, j.Close())
}

// The segments of a slow crawl are stored after some time, although they are small.
func TestOldSegmentsAreClosed(t *testing.T) {
	for name, age := range map[string]time.Duration{"old": 1, "young": time.Hour} {
		t.Run(name, func(t *testing.T) {
			serveBucket(t)
			seed, dir, url := storedSite(t, 60), filepath.Join(t.TempDir(), "job"), "s3://crawls/of/one"
			c := storedConfig(url)
			c.SegmentSize, c.WARC.MaxSize, c.WARC.MaxAge = 0, 0, age
			j, err := Start(dir, c, seed)
			check(t, err)
			j.out.commits.age = age
			_, err = j.Run(t.Context())
			check(t, err)
			check(t, j.Upload(t.Context()))
			check(t, j.Close())
			checkStored(t, dir, url, 60)
			r := must(Read(dir))
			archives := must(r.Archives())
			if many := must(r.Manifest()).InSegments(VisitsName); many != (name == "old") || len(archives) > 1 != many {
				t.Errorf("%d archives, and more than one segment: %v", len(archives), many)
			}
			check(t, r.Close())
		})
	}
}
