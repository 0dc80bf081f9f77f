package items_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/items"
	"github.com/amble-crawler/amble/sink/sinktest"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/s3"
	"github.com/amble-crawler/amble/stores/storestest"
)

func openDir(t *testing.T) *stores.Dir {
	t.Helper()
	d, err := stores.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func openUploading(dir string, to stores.Store, failed func(error)) (*items.Shards[page], error) {
	s, err := items.OpenShards(dir, "pages", items.JSONL[page](), items.Bounds{Rows: 3})
	if err == nil {
		err = s.UploadTo(to, "crawl/one", failed)
	}
	return s, err
}

// addPages adds one row for each number of a range.
func addPages(t *testing.T, s sink.Sink, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := (emitting{Sink: s}).Append(t.Context(), &sink.Record{URL: fmt.Sprint(n), Depth: n}); err != nil {
			t.Fatal(err)
		}
	}
}

// storedIn returns the names of the objects in a store. Each must equal the file with its name in the directory.
func storedIn(dir string, to stores.Store) (names []string, err error) {
	for o, err := range to.List(context.Background(), "") {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.Name, "crawl/one/")
		file, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("%s is stored: %w", o.Name, err)
		}
		r, err := to.Get(context.Background(), o.Name, 0, -1)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(b, file) {
			return nil, fmt.Errorf("%s is %q, and %q in the directory: %w", o.Name, b, file, err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func wantStored(t *testing.T, dir string, to stores.Store, want ...string) {
	t.Helper()
	if got, err := storedIn(dir, to); err != nil || !slices.Equal(got, want) {
		t.Fatalf("stored: %q, %v; want %q", got, err, want)
	}
}

// uploadSuite returns a conformance suite for sinks that upload files. The store is inside the output's directory, so that both are copied
// together. Each Read checks the stored files. After Close, all files must be stored.
func uploadSuite() sinktest.Suite {
	suite := shardSuite(formats()["jsonl"], 3)
	open := func(dir string) (*items.Shards[page], *stores.Dir, error) {
		if err := os.MkdirAll(filepath.Join(dir, "store"), 0o755); err != nil {
			return nil, nil, err
		}
		to, err := stores.OpenDir(filepath.Join(dir, "store"))
		if err != nil {
			return nil, nil, err
		}
		s, err := openUploading(dir, to, nil)
		return s, to, err
	}
	read := suite.Read
	suite.Open = func(dir string) (sink.Sink, error) {
		s, to, err := open(dir)
		return emitting{Sink: s, also: to}, err
	}
	suite.Read = func(dir string, closed bool) (urls []string, err error) {
		if urls, err = read(dir, closed); err != nil {
			return urls, err
		}
		to, err := stores.OpenDir(filepath.Join(dir, "store"))
		if errors.Is(err, os.ErrNotExist) {
			return urls, nil
		}
		if err != nil {
			return urls, err
		}
		defer to.Close()
		if _, err := storedIn(dir, to); err != nil || !closed {
			return urls, err
		}
		s, again, err := open(dir)
		if err != nil {
			return urls, err
		}
		defer again.Close()
		if err := errors.Join(s.Upload(context.Background()), s.Close(context.Background())); err != nil {
			return urls, err
		}
		names, err := storedIn(dir, to)
		if files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")); err == nil && len(files) != len(names) {
			err = fmt.Errorf("stored are %q, files are %q", names, files)
		}
		return urls, err
	}
	return suite
}

func TestUploadsOutliveKilledProcesses(t *testing.T) {
	sinktest.RunKilled(t, uploadSuite(), long.Seeds(2, 8))
}

// If a process is killed while it writes the list of files, a temporary file remains. The next process removes this file, but no file of
// others.
func TestListsOfKilledProcessesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".pages.sha256.776427250", ".pages.sha256.mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openUploading(dir, openDir(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 1 || filepath.Base(left[0]) != ".pages.sha256.mine" {
		t.Fatalf("left: %q, %v", left, err)
	}
}

// A file is uploaded only after the commit of its rows: at the next Sync, or when Restore confirms the commit.
func TestFilesAreStoredAfterTheirCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, to := t.TempDir(), openDir(t)
		s, err := openUploading(dir, to, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		sync := func() {
			t.Helper()
			if _, err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		addPages(t, s, 1, 4)
		sync()
		wantStored(t, dir, to)
		addPages(t, s, 5, 7) // completes another file
		sync()
		wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl")
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err = openUploading(dir, to, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(t.Context(), 5); err != nil { // the file of rows 4 to 6 becomes one of rows 4 and 5
			t.Fatal(err)
		}
		synctest.Wait()
		wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl", "pages-000000000004-000000000005.jsonl")
		if err := s.Restore(t.Context(), 4); err != nil { // an earlier state of the crawl
			t.Fatal(err)
		}
		synctest.Wait()
		wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl", "pages-000000000004-000000000004.jsonl")
		addPages(t, s, 5, 6)
		if err := errors.Join(s.Close(t.Context()), s.Upload(t.Context())); err != nil {
			t.Fatal(err)
		}
		wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl", "pages-000000000004-000000000004.jsonl", "pages-000000000005-000000000006.jsonl")
	})
}

// away is a store that is unreachable at first, and counts its Puts.
type away struct {
	stores.Store

	there atomic.Bool
	puts  atomic.Int64
}

func (a *away) Put(ctx context.Context, o stores.Object, body io.ReadSeeker) error {
	a.puts.Add(1)
	if !a.there.Load() {
		return stores.ErrAway
	}
	return a.Store.Put(ctx, o, body)
}

// listed is a store that counts the Puts of files missing from the list in a directory.
type listed struct {
	stores.Store

	dir      string
	unlisted int
}

func (l *listed) Put(ctx context.Context, o stores.Object, body io.ReadSeeker) error {
	if list, err := os.ReadFile(filepath.Join(l.dir, "pages.sha256")); err != nil || !bytes.Contains(list, []byte(filepath.Base(o.Name))) {
		l.unlisted++
	}
	return l.Store.Put(ctx, o, body)
}

// A file is added to the list before it is uploaded, even if writing the list failed at first. Restore removes uploaded files that were not
// committed.
func TestFilesAreListedBeforeTheyAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		to, bar := &listed{Store: openDir(t), dir: dir}, filepath.Join(dir, "pages.sha256", "bar")
		s, err := openUploading(dir, to, func(error) { _ = os.RemoveAll(filepath.Dir(bar)) })
		if err != nil {
			t.Fatal(err)
		}
		addPages(t, s, 1, 3)
		if err := os.MkdirAll(bar, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(t.Context()), s.Upload(t.Context())); err != nil {
			t.Fatal(err)
		}
		if wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl"); to.unlisted > 0 {
			t.Errorf("%d files were stored before they were listed", to.unlisted)
		}
	})
}

// Commits do not wait for a store that is unreachable. Files completed meanwhile are uploaded once, when the store is back.
func TestStoreThatIsAwayDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, to := t.TempDir(), &away{Store: openDir(t)}
		var told atomic.Int64
		s, err := openUploading(dir, to, func(err error) {
			if !errors.Is(err, stores.ErrAway) {
				t.Error(err)
			}
			told.Add(1)
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for n := 1; n <= 9; n += 3 {
			addPages(t, s, n, n+2)
			if _, err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Sync(t.Context()); err != nil || !time.Now().Equal(began) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := told.Load(); n < 10 || n > 20 {
			t.Errorf("reported %d times in ten minutes", n)
		}
		to.puts.Store(0)
		to.there.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl", "pages-000000000004-000000000006.jsonl")
		if err := errors.Join(s.Close(t.Context()), s.Upload(t.Context())); err != nil {
			t.Fatal(err)
		}
		if n := to.puts.Load(); n != 3 {
			t.Errorf("%d files were stored, want 3, each once", n)
		}
		to.there.Store(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.Upload(ctx); err != nil {
			t.Errorf("nothing is left to store: %v", err)
		}
	})
}

func TestShardsGoToBucket(t *testing.T) {
	storestest.ServeS3(t, gofakes3.New(s3mem.New()).Server(), nil)
	to, err := s3.Open("s3://crawls")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := openUploading(dir, to, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	addPages(t, s, 1, 4)
	if err := errors.Join(s.Close(t.Context()), s.Upload(t.Context())); err != nil {
		t.Fatal(err)
	}
	wantStored(t, dir, to, "pages-000000000001-000000000003.jsonl", "pages-000000000004-000000000004.jsonl")
	list, err := os.ReadFile(filepath.Join(dir, "pages.sha256"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := to.Stat(t.Context(), "crawl/one/pages-000000000001-000000000003.jsonl")
	if want := fmt.Sprintf("%x  pages-000000000001-000000000003.jsonl\n", o.SHA256); err != nil || !strings.HasPrefix(string(list), want) {
		t.Errorf("the list is %q, %v; want %q first", list, err, want)
	}
}
