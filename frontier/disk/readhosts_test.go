package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// TestReadHostsBesideAProcess counts the URLs of a store while another process writes to it, and again after it is
// closed.
func TestReadHostsBesideAProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	s, err := Open(dir, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	const hosts, urls = 20, 100
	writing.Go(func() {
		for i := range urls {
			var all []frontier.Request
			for h := range hosts {
				all = append(all, frontier.Request{URL: parse(t, fmt.Sprintf("http://h%d.org/%d", h, i))})
			}
			if _, err := s.Add(t.Context(), all...); err != nil {
				t.Error(err)
			}
			if err := s.Commit(t.Context(), nil, frontier.Checkpoint{}); err != nil {
				t.Error(err)
			}
		}
	})
	count := func() (n int, err error) {
		found := map[string]int{}
		_, _, err = ReadHosts(dir, func(c HostCount) error {
			found[c.Host] += c.Queued + c.Waiting
			n += c.Queued + c.Waiting
			return nil
		})
		if len(found) > hosts || n > hosts*urls {
			t.Errorf("%d hosts, %d URLs", len(found), n)
		}
		return n, err
	}
	failed := 0
	for range 30 {
		if _, err := count(); err != nil {
			failed++
			t.Log(err)
		}
	}
	if failed > 15 {
		t.Errorf("%d of 30 times not readable", failed)
	}
	writing.Wait()
	if n, err := count(); n != hosts*urls && err == nil { // the other process may still be replacing files
		t.Errorf("while it is open: %d", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	before := listing(t, dir) // only when closed: in an open store the engine removes files in the background
	if n, err := count(); n != hosts*urls || err != nil {
		t.Errorf("when it is closed: %d, %v", n, err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("changed: before %s, after %s", before, after)
	}
	stop := errors.New("enough")
	if _, _, err := ReadHosts(dir, func(HostCount) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped with %v", err)
	}
}
