package crawler_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// keptBodies stores robots.txt files by hash, and the ledger that refers to these files.
type keptBodies struct {
	ledger bytes.Buffer
	bodies map[string][]byte
}

func (k *keptBodies) keep(p *fetcher.Page) error {
	k.bodies[fmt.Sprintf("%x", sha256.Sum256(p.Body))] = bytes.Clone(p.Body)
	return nil
}

func (k *keptBodies) body(sum string) ([]byte, error) {
	if b, ok := k.bodies[sum]; ok {
		return b, nil
	}
	return nil, errors.New("no such body")
}

// missing returns the hashes in the ledger that have no stored body.
func (k *keptBodies) missing(t *testing.T) (sums []string) {
	t.Helper()
	for line := range bytes.Lines(k.ledger.Bytes()) {
		var e ledger.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if _, err := k.body(e.SHA256); e.SHA256 != "" && err != nil {
			sums = append(sums, e.SHA256)
		}
	}
	return sums
}

// If a process is killed while it stores a robots.txt, the ledger has no line about it, and the next process requests
// the file again. So every robots.txt in the ledger is available.
func TestKilledWhileRobotsIsKept(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("a.example")
		s.Page("/", "")
		asked := 0
		s.Handle("/robots.txt", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			asked++
			rw.Header().Set("Content-Type", "text/plain")
			fmt.Fprintf(rw, "# version %d\n", asked) // gives every version another hash
		}))
		k := &keptBodies{bodies: map[string][]byte{}}
		c := config(w, crawler.Config{})
		c.Politeness.Ledger = &k.ledger
		var left []byte // ledger of the killed process
		c.KeepRobots = func(*fetcher.Page) error {
			left = bytes.Clone(k.ledger.Bytes())
			return errKilled
		}
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Run(t.Context(), s.URL("/")); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		k.ledger = *bytes.NewBuffer(left)
		if sums := k.missing(t); len(sums) > 0 {
			t.Errorf("after the kill, the ledger names bodies that are not stored: %v", sums)
		}

		c.KeepRobots, c.Politeness.LedgerSize = k.keep, int64(len(left))
		if x, err = crawler.New(c); err != nil {
			t.Fatal(err)
		}
		if err := x.Gate().Replay(bytes.NewReader(left), k.body); err != nil {
			t.Fatal(err)
		}
		rep, err := x.Run(t.Context(), s.URL("/"))
		if err != nil || rep.Pages != 1 || asked != 2 {
			t.Errorf("%v: %d pages after %d requests for robots.txt", err, rep.Pages, asked)
		}
		if sums := k.missing(t); len(sums) > 0 || len(k.bodies) != 1 {
			t.Errorf("the ledger names bodies that are not kept: %v", sums)
		}
	})
}
