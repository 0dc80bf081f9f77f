package crawler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// releasing is as much of a durable frontier as a visit needs before its commit.
type releasing struct{ frontier.Durable }

func (releasing) Release(context.Context, frontier.Claim, time.Time) error { return nil }

// full takes no exchange.
type full struct{ sink.Sink }

var errNoRoom = errors.New("no room")

func (full) AppendExchange(context.Context, *sink.Exchange) error { return errNoRoom }

// An archive that fails lets go who waits for a commit, since there will be none.
func TestFailedArchiveLetsWaitingWorkersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{exchanges: []sink.ExchangeSink{full{}}}
		r.commits = newCommitter(r, releasing{})
		r.commits.ends = make([]frontier.End, commitVisits)
		gone := false
		go func() {
			gone = r.commits.end(t.Context(), frontier.End{}, nil, func() {}) == nil
		}()
		synctest.Wait()
		if gone {
			t.Fatal("it did not wait")
		}
		u, err := weburl.Parse("http://a.test/robots.txt")
		if err != nil {
			t.Fatal(err)
		}
		r.archive(t.Context(), &fetcher.Page{URL: u, Raw: &fetcher.Raw{}}, "robots")
		synctest.Wait()
		if !gone || !errors.Is(r.err, errNoRoom) {
			t.Errorf("gone: %v, %v", gone, r.err)
		}
	})
}
