package crawler_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/sink"
)

// If a table cannot be written any more, the crawl ends with an error that names the table. The next process fetches the
// unwritten pages again, and each result occurs once.
func TestTableThatCannotBeWritten(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 9)
		dir := t.TempDir()
		path := filepath.Join(dir, "items.csv")
		run := func(table sink.Sink, handler func(v *crawler.Visit)) (*crawler.Report, error) {
			store, err := disk.Open(filepath.Join(dir, "frontier"), disk.Config{})
			if err != nil {
				t.Fatal(err)
			}
			c := newCrawler(t, w, crawler.Config{
				Frontier: store, Sinks: []sink.Sink{table}, Limits: crawler.Limits{Depth: 20},
				Handler: handles(func(v *crawler.Visit) error {
					handler(v)
					return v.Emit(map[string]string{"path": v.URL.Path()})
				}),
			})
			repeats(w)
			rep, err := c.Run(t.Context(), s.URL("/1"))
			return rep, errors.Join(err, store.Close())
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		table, err := sink.AppendCSV(f, path, "path")
		if err != nil {
			t.Fatal(err)
		}
		_, err = run(table, func(v *crawler.Visit) {
			if v.URL.Path() == "/4" {
				_ = f.Close()
			}
		})
		if !errors.Is(err, fs.ErrClosed) || !strings.Contains(err.Error(), path) {
			t.Errorf("a closed file: %v", err)
		}
		table, err = sink.OpenCSV(path, "path")
		if err != nil {
			t.Fatal(err)
		}
		rep, err := run(table, func(*crawler.Visit) {})
		if err = errors.Join(err, table.Close(t.Context())); err != nil || rep.Finish != crawler.FinishDone {
			t.Fatal(rep, err)
		}
		got, err := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(got)), "\n")
		slices.Sort(lines)
		if want := "/1 /10 /2 /3 /4 /5 /6 /7 /8 /9 path"; err != nil || strings.Join(lines, " ") != want {
			t.Errorf("%v %q", err, lines)
		}
	})
}

// A full disk ends a crawl with an error that names the cause.
func TestTableOnAFullDisk(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := numbers(w, 3)
		table, err := sink.OpenCSV("/dev/full", "path")
		if err != nil {
			t.Skip(err)
		}
		c := newCrawler(t, w, crawler.Config{
			Sinks:   []sink.Sink{table},
			Handler: handles(func(v *crawler.Visit) error { return v.Emit(map[string]string{"path": v.URL.Path()}) }),
		})
		_, err = c.Run(t.Context(), s.URL("/1"))
		if err = errors.Join(err, table.Close(t.Context())); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "/dev/full") {
			t.Error(err)
		}
	})
}

// handles returns a Handler that calls f.
func handles(f func(v *crawler.Visit) error) crawler.Handler {
	return crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error { return f(v) })
}
