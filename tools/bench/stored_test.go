package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// BenchmarkStored measures what a store costs a job: with what is finished in a directory, and in a bucket that another process serves,
// ÷ the same job without a store.
func BenchmarkStored(b *testing.B) {
	w := startWeb(b, shape{Hosts: 50, Pages: 400, Size: 30_000, Links: 80})
	startBucket(b)
	var without, directory, bucket cost
	for n := 0; b.Loop(); n++ {
		without.measure(b, 20_000, func() { w.crawlStored(b, "") })
		directory.measure(b, 20_000, func() { w.crawlStored(b, "file://"+b.TempDir()) })
		bucket.measure(b, 20_000, func() { w.crawlStored(b, fmt.Sprintf("s3://crawls/%d", n)) })
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(without.cpuMS(), "job-cpu-ms/page")
	b.ReportMetric(directory.cpuMS()/without.cpuMS(), "directory/job")
	b.ReportMetric(bucket.cpuMS()/without.cpuMS(), "bucket/job")
	b.ReportMetric(without.rate(), "job-pages/s")
	b.ReportMetric(bucket.rate(), "bucket-pages/s")
}

// crawlStored crawls w as a job whose store is at url, unless that is "".
func (w *web) crawlStored(tb testing.TB, url string) {
	tb.Helper()
	c := job.Config{Store: url, MinFree: crawler.Zero}
	c.Crawl.Politeness.Delay, c.Crawl.Politeness.DelayFactor = crawler.NoDelay, crawler.NoFactor
	c.Crawl.Limits.Depth, c.Crawl.Limits.Pages, c.Crawl.Concurrency = crawler.Unlimited, crawler.Unlimited, workers
	j, err := job.Start(filepath.Join(tb.TempDir(), "job"), c, w.seeds()...)
	if err != nil {
		tb.Fatal(err)
	}
	rep, err := j.Run(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if pages := w.Hosts * w.Pages; rep.Finish != crawler.FinishDone || rep.Statuses[200] != pages {
		tb.Fatalf("not the crawl of %d pages that it should be: %+v", pages, rep)
	}
	if err := j.Upload(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := j.Close(); err != nil {
		tb.Fatal(err)
	}
}

// TestStored checks that the benchmark measures a complete job, without measuring it.
func TestStored(t *testing.T) {
	w := startWeb(t, shape{Hosts: 5, Pages: 12, Size: 2_000, Links: 10})
	startBucket(t)
	w.crawlStored(t, "s3://crawls/test")
}

// startBucket starts an S3 server with the bucket "crawls" in a process of its own, which ends with the test.
func startBucket(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), bucketVar+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal("the S3 server did not start: ", err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": strings.TrimSpace(url), "AWS_ENDPOINT_URL_S3": "", "AWS_REGION": "us-east-1", "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
	} {
		tb.Setenv(name, value)
	}
}

// serveBucket serves until standard input ends.
func serveBucket() error {
	h := gofakes3.New(s3mem.New()).Server()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/crawls", nil))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return (&http.Server{Handler: h, ReadHeaderTimeout: time.Minute}).Serve(l)
}
