package job

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
)

// TestANewJobBeginsAtOnce checks that a process that creates a job does not wait, because nothing was requested before. A process that
// resumes a job waits for one delay even if the ledger is empty: the previous process may have been about to connect.
func TestANewJobBeginsAtOnce(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Site("http://a.example").Page("/", "a page")
		dir, cfg := filepath.Join(t.TempDir(), "job"), simulated(w)
		j, err := Create(dir, cfg, "http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil { // as if the process had been killed before its first ledger line
			t.Fatal(err)
		}
		start := time.Now()
		if j, err = Resume(dir, cfg, []string{"http://a.example/"}); err != nil {
			t.Fatal(err)
		}
		_, err = j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		if at := w.Requests()[0].Start; at.Sub(start) != time.Second {
			t.Errorf("after a restart, the first request is made after %v, want the delay", at.Sub(start))
		}

		start = time.Now()
		if j, err = Create(filepath.Join(t.TempDir(), "new"), cfg, "http://b.example/"); err != nil {
			t.Fatal(err)
		}
		w.Site("http://b.example").Page("/", "another page")
		n := len(w.Requests())
		_, err = j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		if at := w.Requests()[n].Start; !at.Equal(start) {
			t.Errorf("the first request of a new job is made after %v", at.Sub(start))
		}
	})
}
