package crawler_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// fullDisk is a disk with room for a number of lines. Of a line that does not fit, nothing is written.
type fullDisk struct {
	room  int
	lines []ledger.Entry
}

func (d *fullDisk) Write(line []byte) (int, error) {
	if d.room--; d.room < 0 {
		return 0, syscall.ENOSPC
	}
	var e ledger.Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return 0, err
	}
	d.lines = append(d.lines, e)
	return len(line), nil
}

// If the end of a request cannot be recorded, its response is not a visit, because nobody could verify it. The crawl
// ends, and the next process repeats only that request. This holds for whichever line does not fit.
func TestAnswersThatAreNotRecordedAreNoVisits(t *testing.T) {
	for room := range 16 { // robots.txt, six pages and one 404, two lines each
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := numbers(w, 6)
			var seen visits
			store, d := frontier.NewMemory(frontier.MemoryConfig{}), &fullDisk{room: room}
			process := func() error {
				c := newCrawler(t, w, crawler.Config{
					Frontier: store, Handler: &seen, Limits: crawler.Limits{Depth: 10}, Politeness: politeness.Config{Ledger: d},
				})
				repeats(w)
				_, err := c.Run(t.Context(), s.URL("/1"))
				return err
			}
			err := process()
			if !errors.Is(err, syscall.ENOSPC) || fetcher.ReasonOf(err) != fetcher.ReasonLedger {
				t.Errorf("room for %d lines: %v", room, err)
			}
			if answers := strings.Join(ends(d), " "); answers != strings.Join(answered(&seen), " ") {
				t.Errorf("room for %d lines: answers %s, visits %s", room, answers, answered(&seen))
			}
			d.room = 1000
			if err := process(); err != nil {
				t.Error(err)
			}
			if got, want := answered(&seen), ends(d); len(got) != 7 || !slices.Equal(got, want) {
				t.Errorf("room for %d lines, and then for all: visits %s, answers %s", room, got, want)
			}
		})
	}
}

// answered returns the URLs of visits with a response, in order.
func answered(v *visits) (all []string) {
	for _, u := range v.all {
		if x := v.by[u]; x.Status() > 0 {
			all = append(all, u)
		}
	}
	return all
}

// ends returns the URLs of pages whose responses are in the ledger, in order.
func ends(d *fullDisk) (all []string) {
	asked := map[string]string{}
	for _, e := range d.lines {
		if e.Event == ledger.Start {
			asked[e.Run+string(rune(e.ID))] = e.URL
		} else if u := asked[e.Run+string(rune(e.ID))]; e.Event == ledger.End && !strings.HasSuffix(u, "/robots.txt") {
			all = append(all, u)
		}
	}
	return all
}
