package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/stores/storestest"
)

// BenchmarkStored measures the cost of storing a job, both in a directory and in a bucket that another process serves, divided by the cost
// of the same job without a store.
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

// crawlStored crawls w as a job. The store of the job is at url, unless url is "".
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

// TestStored checks, without measuring, that the job of the benchmark is complete.
func TestStored(t *testing.T) {
	w := startWeb(t, shape{Hosts: 5, Pages: 12, Size: 2_000, Links: 10})
	startBucket(t)
	w.crawlStored(t, "s3://crawls/test")
}

// startBucket starts an S3 server with the bucket "crawls" in another process, which ends with the test.
func startBucket(tb testing.TB) {
	tb.Helper()
	_, out := startChild(tb, bucketVar+"=1")
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal("the S3 server did not start: ", err)
	}
	storestest.UseS3(tb, strings.TrimSpace(url))
}

// serveBucket serves until standard input ends.
func serveBucket() error {
	h := gofakes3.New(s3mem.New()).Server()
	storestest.MakeBucket(h)
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
