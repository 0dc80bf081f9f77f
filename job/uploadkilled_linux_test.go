package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3bolt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
	"github.com/amble-crawler/amble/stores/storestest"
)

const killedStoredPages = 100

// The crawling process and the server of its store are killed several times, and one in five requests to the store fails. After every
// second kill, the job directory is lost as well, and restored from the store. In the end the bucket equals the directory, byte for byte,
// and has each page once.
func TestStoreAndCrawlAreKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for seed := range uint64(long.N(1, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { killStoreAndCrawl(t, rand.New(rand.NewPCG(2, seed))) })
	}
}

func killStoreAndCrawl(t *testing.T, rng *rand.Rand) {
	root := t.TempDir()
	e := &events{}
	pages := storedPages(killedStoredPages)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.happen()
		pages(w, r)
		e.happen()
	}))
	t.Cleanup(site.Close)
	between := &shakyProxy{events: e, rng: rand.New(rand.NewPCG(3, rng.Uint64()))}
	proxy := httptest.NewServer(between)
	t.Cleanup(proxy.Close)
	startStore := func() *exec.Cmd {
		cmd := child("TestStoreToBeKilled", "STORED_FILE="+filepath.Join(root, "objects"))
		out := must(cmd.StdoutPipe())
		check(t, cmd.Start())
		line := must(bufio.NewReader(out).ReadString('\n'))
		between.server.Store(strings.TrimSpace(line))
		return cmd
	}
	var said strings.Builder
	startCrawl := func(more ...string) (*exec.Cmd, <-chan struct{}) {
		said.Reset()
		cmd := child("TestStoredCrawlToBeKilled", append(more, "STORED_DIR="+filepath.Join(root, "job"), "STORED_SITE="+site.URL+"/",
			"AWS_ENDPOINT_URL="+proxy.URL, "AWS_ENDPOINT_URL_S3=", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret",
			"AWS_CONFIG_FILE=/none", "AWS_SHARED_CREDENTIALS_FILE=/none", "AWS_PROFILE=")...)
		cmd.Stdout, cmd.Stderr = &said, &said
		check(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // ProcessState tells how it ended
			close(ended)
		}()
		return cmd, ended
	}
	kills, want := 0, long.N(3, 10)
	store := startStore()
	defer func() { _, _ = store.Process.Kill(), store.Wait() }()
	for n := range want {
		crawl, ended := startCrawl()
		victims := 1 + n%3 // 1: kill the crawl; 2: the store, and later the crawl; 3: both at once
		select {
		case <-e.after(1 + rng.IntN(40)):
		case <-ended:
		}
		if victims >= 2 {
			_, _ = store.Process.Kill(), store.Wait()
		}
		if victims == 2 {
			select {
			case <-e.after(1 + rng.IntN(20)):
			case <-ended:
			}
		}
		_ = crawl.Process.Kill()
		<-ended
		if victims >= 2 {
			store = startStore()
		}
		switch crawl.ProcessState.ExitCode() {
		case -1:
			kills++
		case 0: // the crawl had ended before the kill
			t.Logf("kill %d: the crawl had ended\n%s", n, &said)
			continue
		default:
			t.Fatalf("kill %d: %v\n%s", n, crawl.ProcessState, &said)
		}
		if n%2 == 1 { // the disk of the crawl is lost as well
			check(t, os.RemoveAll(filepath.Join(root, "job")))
		}
	}
	if kills < 2 {
		t.Errorf("only %d processes were killed", kills)
	}
	for _, last := range []string{"", "1"} {
		between.calm.Store(last != "")
		crawl, ended := startCrawl("STORED_CHECK=" + last)
		if <-ended; !crawl.ProcessState.Success() {
			t.Fatalf("after %d kills: %v\n%s", kills, crawl.ProcessState, &said)
		}
	}
}

// child returns a command that runs one test of this binary in another process.
func child(test string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// events counts the requests to the servers of a test.
type events struct {
	mu   sync.Mutex
	left int
	then chan struct{}
}

// after returns a channel that is closed after n events.
func (e *events) after(n int) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left, e.then = n, make(chan struct{})
	return e.then
}

func (e *events) happen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left--; e.left == 0 && e.then != nil {
		close(e.then)
	}
}

// shakyProxy forwards requests to a store. One in five requests fails.
type shakyProxy struct {
	*events
	server atomic.Value // address of the store
	calm   atomic.Bool  // if set, all requests succeed

	mu  sync.Mutex
	rng *rand.Rand
}

func (p *shakyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.happen()
	defer p.happen()
	p.mu.Lock()
	how := p.rng.IntN(30)
	p.mu.Unlock()
	if p.calm.Load() {
		how = 30
	}
	switch how {
	case 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code></Error>")
		return
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case 2: // the connection breaks while the store receives the request
		_, _ = io.CopyN(io.Discard, r.Body, 100)
		panic(http.ErrAbortHandler)
	case 3: // the store executes the request, but the connection breaks during the response
		p.forward(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 4: // the end of the request body gets lost without an error
		if r.Method == http.MethodPut && r.ContentLength > 10 {
			r.ContentLength /= 2
			r.Body = io.NopCloser(io.LimitReader(r.Body, r.ContentLength))
		}
	case 5: // the end of the response gets lost
		rec := httptest.NewRecorder()
		p.forward(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		panic(http.ErrAbortHandler)
	}
	p.forward(w, r)
}

func (p *shakyProxy) forward(w http.ResponseWriter, r *http.Request) {
	(&httputil.ReverseProxy{
		Rewrite:      func(pr *httputil.ProxyRequest) { pr.SetURL(&url.URL{Scheme: "http", Host: p.server.Load().(string)}) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // the server was killed
	}).ServeHTTP(w, r)
}

// TestStoreToBeKilled runs an S3 server in another process. Its objects are in a file, so that they survive a kill.
func TestStoreToBeKilled(t *testing.T) {
	file := os.Getenv("STORED_FILE")
	if file == "" {
		t.Skip("is run by TestStoreAndCrawlAreKilled")
	}
	h := gofakes3.New(must(s3bolt.NewFile(file))).Server()
	storestest.MakeBucket(h)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(l.Addr())
	t.Fatal((&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(l))
}

// TestStoredCrawlToBeKilled begins or resumes a crawl in another process, which ends when the crawl is done and everything is stored.
func TestStoredCrawlToBeKilled(t *testing.T) {
	const url = "s3://crawls/of/killed"
	dir := os.Getenv("STORED_DIR")
	switch {
	case dir == "":
		t.Skip("is run by TestStoreAndCrawlAreKilled")
	case os.Getenv("STORED_CHECK") != "":
		checkStored(t, dir, url, killedStoredPages)
		checkAllIsStored(t, dir)
		return
	}
	c := storedConfig(url)
	c.SegmentSize, c.WARC.MaxSize = 16<<10, 32<<10
	c.Note = func(text string) { fmt.Println(text) }
	var j *Job
	c.Crawl.Trace = &crawler.Trace{Committed: func(crawler.Commit) { // stores the queue after each commit
		j.uploads.mu.Lock()
		defer j.uploads.mu.Unlock()
		j.uploads.next = time.Time{}
	}}
	restoreKilled(t, dir, url)
	var err error
	j, err = Start(dir, c, os.Getenv("STORED_SITE"))
	if errors.Is(err, ErrFinished) {
		check(t, UploadRest(t.Context(), dir, c.Note))
	} else {
		check(t, err)
		_, err = j.Run(t.Context())
		check(t, err)
		check(t, j.Upload(t.Context()))
		check(t, j.Close())
	}
}

// restoreKilled restores the directory from the store if it was lost. Before its first commit, a job has only claimed its prefix.
func restoreKilled(t *testing.T, dir, url string) {
	s := must(open.URL(url))
	if _, err := os.Stat(dir); err == nil {
		return
	}
	for {
		err := s.Delete(t.Context(), leaseName) // no other process uses the store
		if err == nil {
			err = Restore(t.Context(), dir, url)
		}
		if err == nil {
			fmt.Println("restored")
			return
		}
		fmt.Println(err)
		switch {
		case errors.Is(err, ErrNoJob):
			return
		case strings.Contains(err.Error(), "before its first commit"):
			for o, err := range s.List(t.Context(), "") {
				if err == nil {
					err = s.Delete(t.Context(), o.Name)
				}
				if err != nil {
					fmt.Println(err)
				}
			}
		case !errors.Is(err, stores.ErrAway) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Fatal(err)
		}
	}
}
