package metrics

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
)

// Healthy returns an error if the stores of the crawl have failed.
func (m *Metrics) Healthy() error {
	if f := m.failed.Load(); f != nil {
		return fmt.Errorf("a commit failed: %w", f.err)
	}
	return nil
}

// Ready returns an error, in a sentence, if the crawl is stuck: for longer than twice the timeout of a request (0:
// fetcher.DefaultFetchTimeout) nothing has been in flight, nothing has been owed to any host and no URL has waited for
// another attempt, although URLs are left. A crawl that waits as it must, or that is paused, is not stuck.
func (m *Metrics) Ready(now time.Time, timeout time.Duration) error {
	if err := m.Healthy(); err != nil {
		return err
	}
	w := m.watch.Load()
	if w == nil || w.crawler.Paused() {
		return nil
	}
	s := w.crawler.Progress().Frontier
	since := time.Unix(0, max(m.active.Load(), m.owed.Load()))
	timeout = cmp.Or(timeout, fetcher.DefaultFetchTimeout)
	if left := s.Queued + s.Waiting; left > 0 && s.Claimed == 0 && now.Sub(since) > 2*timeout {
		return fmt.Errorf("stuck: %s left, but since %s nothing has been in flight and nothing is owed to any host",
			cli.Plural(left, "URL"), since.UTC().Format(time.RFC3339))
	}
	return nil
}

// HealthHandler returns a handler that answers 200 if check returns nil, and 503 with the error's sentence otherwise.
func HealthHandler(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		err := check()
		if err == nil {
			_, _ = fmt.Fprintln(w, "ok")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintln(w, cli.Printable(err.Error()))
	})
}
