package job_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sqlite"
)

// killedPages is the number of pages of the site that the killed processes crawl.
const killedPages = 150

// The processes of a job are killed at each step of a commit and at random times, and the job is resumed until it is done. Each result is
// in each result file once, and verify finds no fault.
func TestItemsOfKilledJobs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	srv := newCounted(t, servePage)
	dir := filepath.Join(t.TempDir(), "job")
	rng := rand.New(rand.NewPCG(1, 1))
	kills := 0
	for _, step := range []string{"handle", "append", "sync", "committed", "any time", "table append", "table sync", "sync", "any time", "append"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestJobToBeKilled$", "-test.count=1")
		cmd.Env = append(os.Environ(), "ITEMS_DIR="+dir, "ITEMS_SEED="+srv.URL+"/", "ITEMS_STEP="+step, "ITEMS_AFTER="+strconv.Itoa(1+rng.IntN(4)))
		after := 1 + rng.Int64N(6)
		if signaled(t, cmd, func(ended <-chan struct{}) {
			if step == "any time" {
				srv.killAfter(after, cmd, ended)
			}
		}) {
			kills++
		}
	}
	if kills < 8 {
		t.Errorf("only %d processes were killed", kills)
	}
	rep, err := runKilled(t.Context(), &killer{}, dir, srv.URL+"/")
	if err != nil || rep.Finish != crawler.FinishDone {
		t.Fatal(rep, err)
	}
	var want []string
	for n := range killedPages {
		want = append(want, fmt.Sprintf("/%d one", n), fmt.Sprintf("/%d two", n))
	}
	slices.Sort(want)
	for name, read := range map[string]func(path string) ([]string, error){job.ItemsName: itemLines, job.ItemsCSVName: itemRows, job.ItemsTableName: itemTable} {
		got, err := read(filepath.Join(dir, name))
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s, after %d kills: %v, %d results, want %d: %q", name, kills, err, len(got), len(want), got)
		}
	}
	var paths []string
	for n := range killedPages {
		paths = append(paths, fmt.Sprintf("/%d", n))
	}
	slices.Sort(paths)
	texts, err := os.ReadFile(filepath.Join(dir, job.TextName))
	if got := slices.Sorted(strings.FieldsSeq(string(texts))); err != nil || !slices.Equal(got, paths) {
		t.Errorf("%s, after %d kills: %v, %d lines, want %d: %q", job.TextName, kills, err, len(got), len(paths), got)
	}
	if v := verified(t, dir); v.Damaged() != 0 || v.FilesNote != "" || !slices.ContainsFunc(v.Files, func(f job.FileCheck) bool { return f.File == job.ItemsTableName }) {
		t.Errorf("%+v %s", v.Files, v.FilesNote)
	}
}

// signaled runs a process and the function during at the same time. It reports whether a signal ended the process.
func signaled(t *testing.T, cmd *exec.Cmd, during func(ended <-chan struct{})) bool {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	ended := make(chan struct{})
	wait.Go(func() { during(ended) })
	err := cmd.Wait()
	close(ended)
	wait.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return false
}

// counted is an HTTP server that counts its requests.
type counted struct {
	*httptest.Server
	hits  atomic.Int64
	asked chan struct{}
}

func newCounted(t *testing.T, serve http.HandlerFunc) *counted {
	c := &counted{asked: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		serve(rw, r)
		c.hits.Add(1)
		select {
		case c.asked <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// killAfter kills the process after n more requests, unless the process ends before.
func (c *counted) killAfter(n int64, cmd *exec.Cmd, ended <-chan struct{}) {
	for want := c.hits.Load() + n; c.hits.Load() < want; {
		select {
		case <-c.asked:
		case <-ended:
			return
		}
	}
	_ = cmd.Process.Kill()
}

func servePage(rw http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if r.URL.Path == "/robots.txt" || r.URL.Path != "/" && err != nil {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/html")
	for i := 1; i <= 3; i++ {
		if to := n*3 + i; to < killedPages {
			fmt.Fprintf(rw, "<a href=/%d>x</a>", to)
		}
	}
}

// TestJobToBeKilled runs only in the processes that TestItemsOfKilledJobs starts and kills.
func TestJobToBeKilled(t *testing.T) {
	dir := os.Getenv("ITEMS_DIR")
	if dir == "" {
		t.Skip("is run by TestItemsOfKilledJobs")
	}
	after, _ := strconv.Atoi(os.Getenv("ITEMS_AFTER"))
	k := &killer{step: os.Getenv("ITEMS_STEP")}
	k.left.Store(int64(after))
	if _, err := runKilled(t.Context(), k, dir, os.Getenv("ITEMS_SEED")); err != nil {
		t.Fatal(err)
	}
}

// killer kills its own process when it reaches a step for the nth time.
type killer struct {
	step string
	left atomic.Int64
}

func (k *killer) at(step string) {
	if step == k.step && k.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// killedItem represents one of the two results of each page.
type killedItem struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// runKilled begins or resumes a job that writes results in all three forms.
func runKilled(ctx context.Context, k *killer, dir, seed string) (*crawler.Report, error) {
	c := job.Config{Items: []job.Items{
		job.ItemsLines(), job.ItemsCSV("path", "name"),
		job.ItemsTable(func(path, table string) (sink.Sink, error) {
			s, err := sqlite.Open(path, table)
			return &killedSink{Sink: s, k: k, prefix: "table "}, err
		}),
	}}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Depth = 5*time.Millisecond, 10
	c.Crawl.Sinks = []sink.Sink{&killedSink{Sink: noSink{}, k: k}} // this sink's steps follow those of the result files
	c.Crawl.Trace = &crawler.Trace{Committed: func(crawler.Commit) { k.at("committed") }}
	c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		k.at("handle")
		path := killedPath(v)
		return errors.Join(v.Emit(killedItem{path, "one"}), v.Emit(killedItem{path, "two"}))
	})
	c.Text, c.TextReader = true, func(_ context.Context, v *crawler.Visit) (func(*sink.Record) ([]byte, error), error) {
		path := killedPath(v)
		return func(*sink.Record) ([]byte, error) { return []byte(path + "\n"), nil }, nil
	}
	j, err := job.Start(dir, c, seed)
	if err != nil {
		return nil, err
	}
	rep, err := j.Run(ctx)
	return rep, errors.Join(err, j.Close())
}

func killedPath(v *crawler.Visit) string {
	if path := v.URL.Path(); path != "/" {
		return path
	}
	return "/0"
}

// killedSink is a sink that may kill the process before a call returns.
type killedSink struct {
	sink.Sink
	k      *killer
	prefix string
}

func (s *killedSink) Name() string { return s.prefix + "killed" }

func (s *killedSink) Append(ctx context.Context, r *sink.Record) error {
	err := s.Sink.Append(ctx, r)
	s.k.at(s.prefix + "append")
	return err
}

func (s *killedSink) Sync(ctx context.Context) (int64, error) {
	n, err := s.Sink.Sync(ctx)
	s.k.at(s.prefix + "sync")
	return n, err
}

// noSink is a sink that writes nothing.
type noSink struct{ sink.Base }

func (noSink) Append(context.Context, *sink.Record) error { return nil }
func (noSink) Sync(_ context.Context) (int64, error)      { return 0, nil }
func (noSink) Restore(context.Context, int64) error       { return nil }
func (noSink) Close(_ context.Context) error              { return nil }

func itemLines(path string) (got []string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var it killedItem
		if err := json.Unmarshal(line, &it); err != nil {
			return got, err
		}
		got = append(got, it.Path+" "+it.Name)
	}
	return got, nil
}

func itemRows(path string) (got []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 || strings.Join(rows[0], " ") != "path name" {
		return nil, fmt.Errorf("columns %q: %w", rows, err)
	}
	for _, row := range rows[1:] {
		got = append(got, strings.Join(row, " "))
	}
	return got, nil
}

func itemTable(path string) (got []string, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query("SELECT path || ' ' || name FROM items")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return got, err
		}
		got = append(got, s)
	}
	return got, rows.Err()
}
