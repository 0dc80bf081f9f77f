package crawler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// releasing implements only the methods of a durable frontier that a visit needs before its commit.
type releasing struct{ frontier.Durable }

func (releasing) Release(context.Context, frontier.Claim, time.Time) error { return nil }

// full is a sink that rejects all exchanges.
type full struct{ sink.Sink }

var errNoRoom = errors.New("no room")

func (full) Needs() sink.Needs                                    { return sink.Needs{Exchanges: true} }
func (full) AppendExchange(context.Context, *sink.Exchange) error { return errNoRoom }

// If the archive fails, workers waiting for a commit are released, because no commit will follow.
func TestFailedArchiveLetsWaitingWorkersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{}
		r.output = newOutput([]sink.Sink{full{}}, r.archiveFailed)
		r.commits = newCommitter(releasing{}, r.output, r.fail)
		r.commits.ends = make([]frontier.End, commitVisits)
		gone := false
		go func() {
			gone = r.commits.end(t.Context(), frontier.End{}, nil, nil, func() {}) == nil
		}()
		synctest.Wait()
		if gone {
			t.Fatal("it did not wait")
		}
		u, err := weburl.Parse("http://a.test/robots.txt")
		if err != nil {
			t.Fatal(err)
		}
		r.output.archive(t.Context(), &fetcher.Page{URL: u, Raw: &fetcher.Raw{}}, "robots")
		synctest.Wait()
		if !gone || !errors.Is(r.err, errNoRoom) {
			t.Errorf("gone: %v, %v", gone, r.err)
		}
	})
}

// adding records how many links each call adds.
type adding struct {
	releasing
	links []int // number of links in each call
	bytes []int
}

func (a *adding) Add(_ context.Context, rs ...frontier.Request) (int, error) {
	n := 0
	for i := range rs {
		n += linkBytes(&rs[i])
	}
	a.links, a.bytes = append(a.links, len(rs)), append(a.bytes, n)
	return len(rs), nil
}

// Megabytes of links on one page do not make a commit of megabytes. The links are added in parts, the last part
// together with the page.
func TestHugePagesAreAddedInParts(t *testing.T) {
	var links []frontier.Request
	for i := range 5200 {
		u, err := weburl.Parse(fmt.Sprintf("http://a.test/%d/%s", i, strings.Repeat("x", 1900)))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, frontier.Request{URL: u, Via: u})
	}
	store := &adding{}
	m := newCommitter(store, newOutput(nil, nil), nil)
	if err := m.end(t.Context(), frontier.End{Settlement: frontier.Settlement{Links: links}}, nil, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	all := 0
	for i, n := range store.bytes {
		all += store.links[i]
		if n < commitBytes || n > commitBytes+8000 {
			t.Errorf("part %d has %d bytes, want about %d", i, n, commitBytes)
		}
	}
	rest := m.ends[0].Settlement.Links
	if all += len(rest); all != 5200 || len(store.links) != 4 || m.bytes >= commitBytes || m.bytes == 0 || rest[0].URL.IsZero() {
		t.Errorf("%d links in all, %d parts before the last, which has %d bytes", all, len(store.links), m.bytes)
	}
	if m.full() {
		t.Error("the last part of a page was committed separately")
	}
	m.bytes = commitBytes
	if !m.full() {
		t.Error("links of any length can come together")
	}
}
