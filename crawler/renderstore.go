package crawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// keptRenders stores renderings in a durable frontier, and the responses that their pages load in a directory, so that a process that
// resumes the crawl does not request them again. A rendering is committed like a visit, in one step with the archived exchanges of its
// resources.
type keptRenders struct{ store frontier.Durable }

// Get implements render.Index.
func (k keptRenders) Get(key string) ([]byte, error) {
	return k.store.Value(context.Background(), "", key)
}

// Each implements render.Index.
func (k keptRenders) Each(prefix string, f func(key string, value []byte) error) error {
	return k.store.Values(context.Background(), "", prefix, f)
}

// makeRenders prepares the rendering of pages.
func (r *run) makeRenders() (err error) {
	if !r.cfg.Render.Renders() {
		return nil
	}
	r.renders = newRenders(&r.cfg)
	if r.cfg.RenderStore != nil {
		r.shareRenders()
		return nil
	}
	if r.commits == nil || r.cfg.RenderDir == "" {
		r.renders.store = render.NewStore(0)
		return nil
	}
	k := &keptRenders{r.checkpoint.store}
	if r.renders.store, err = render.OpenStore(r.cfg.RenderDir, k); err != nil {
		return fmt.Errorf("%w: %w", ErrResume, err)
	}
	r.closers = append(r.closers, func() { _ = r.renders.store.Close() }) // the workers have ended, so nothing is lost by an error
	r.renders.kept = k
	r.commits.committed = func(bool) {
		if err := r.renders.store.Sweep(); err != nil {
			r.fail(err)
		}
	}
	return nil
}

// renderKey returns the key under which a rendering is stored.
func renderKey(u weburl.URL) string {
	h := sha256.Sum256([]byte(u.String()))
	return render.PrefixPage + hex.EncodeToString(h[:16])
}

// recordValues adds records to values.
func recordValues(values map[string][]byte, records []render.Record) map[string][]byte {
	if values == nil {
		values = map[string][]byte{}
	}
	for _, r := range records {
		values[r.Key] = r.Value
	}
	return values
}

// heldPage is the stored form of a fetched page, without its body and header, which package render stores.
type heldPage struct {
	Attempt int
	Page    fetcher.Page
}

// attach adds to a stored rendering the data that its visit needs. If these are missing, a resumed crawl fetches the page again.
func (s *renders) attach(x *rendering) {
	if s.kept == nil {
		return
	}
	h := heldPage{Attempt: x.attempt, Page: *x.page}
	h.Page.Body, h.Page.Header, h.Page.Permit = nil, nil, politeness.Permit{}
	b, err := json.Marshal(h)
	if err == nil {
		_ = x.Attach(b)
	}
}

// keepRendering adds the current state of a rendering to the next commit.
func (a *attempt) keepRendering(x *rendering) {
	if a.run.renders.kept == nil {
		return
	}
	records, err := x.Records(renderKey(x.page.URL), time.Now())
	if err != nil {
		a.run.fail(fmt.Errorf("crawler: %w", err))
		return
	}
	a.values = recordValues(a.values, records)
}

// prefixStuck is the prefix of the keys under which the numbers of consecutive stuck renderings are stored; the host follows it.
const prefixStuck = "render/stuck/"

// keepStuck updates a host's number of consecutive stuck renderings, and commits it with the visit of the page.
func (a *attempt) keepStuck(host string, stuck bool) {
	n, changed := a.run.renders.noteStuck(host, stuck)
	if a.run.renders.kept == nil || !changed {
		return
	}
	var value []byte // nil removes the key
	if n > 0 {
		value = strconv.AppendInt(nil, int64(n), 10)
	}
	a.values = recordValues(a.values, []render.Record{{Key: prefixStuck + host, Value: value}})
}

// resumeStuck restores the counts of consecutive stuck renderings.
func (s *renders) resumeStuck() error {
	return s.kept.Each(prefixStuck, func(key string, value []byte) error {
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 || n > maxStuck {
			return fmt.Errorf("%w: the value %s is %.20q, and must be a number of renderings", ErrResume, key, value)
		}
		s.stuck[strings.TrimPrefix(key, prefixStuck)] = n
		return nil
	})
}

// saveRendering commits the current state of a rendering, in one step with the archived exchange of its latest response p.
func (a *attempt) saveRendering(ctx context.Context, x *rendering, p *fetcher.Page) {
	if a.run.renders.kept == nil {
		a.run.output.archive(ctx, p, politeness.Resource.String())
		a.run.renders.found.add(x.Found())
		return
	}
	a.keepRendering(x)
	a.run.commits.keep(ctx, a.values, exchange(p, politeness.Resource.String()))
	a.values = nil
}

// resume restores the renderings that an earlier process stored.
func (s *renders) resume(ctx context.Context, now time.Time) error {
	if s == nil || s.kept == nil {
		return nil
	}
	if err := s.resumeStuck(); err != nil {
		return err
	}
	gone := map[string][]byte{}
	err := s.kept.Each(render.PrefixPage, func(key string, value []byte) error {
		x, err := s.revive(value, now)
		if err != nil {
			gone[key] = nil
			return nil //nolint:nilerr // The page is fetched again.
		}
		s.keep(x.page.URL, x)
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return s.kept.store.Commit(ctx, nil, frontier.Checkpoint{Values: gone})
}

// revive restores a rendering from its stored value.
func (s *renders) revive(value []byte, now time.Time) (*rendering, error) {
	r, err := render.Resume(&s.cfg.Render, s.store, value, now)
	if err != nil {
		return nil, err
	}
	var h heldPage
	b, err := r.Attached()
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	document, _ := r.Document()
	if err == nil && (h.Page.URL != r.URL() || h.Page.Status != document.Status) {
		err = errors.New("crawler: the stored state of a page belongs to another page")
	}
	if err == nil && !s.store.Reserve(renderingSize+len(document.Body)) {
		err = render.ErrFull
	}
	if err != nil {
		r.End("")
		return nil, err
	}
	h.Page.Body, h.Page.Header = document.Body, document.Header
	return &rendering{Rendering: r, page: &h.Page, attempt: h.Attempt}, nil
}

// sharedRenders holds the responses that a crawl with Config.RenderStore has added to the store, until the exchanges of these responses
// are committed. Later processes may use them only then.
type sharedRenders struct {
	mu      sync.Mutex
	added   []render.Record // records added since the last commit ended
	earlier []render.Record // records added before that; the next commit includes the exchanges of their responses
}

// shareRenders makes the crawl use Config.RenderStore.
func (r *run) shareRenders() {
	s := r.renders
	s.store, s.found = r.cfg.RenderStore, &sharedRenders{}
	if r.commits != nil {
		r.commits.committed = func(last bool) { s.store.Keep(s.found.committed(last)) }
	}
	r.closers = append(r.closers, func() { // return reserved space of the store to other crawls
		for _, x := range s.waiting {
			x.End("")
			s.store.Free(renderingSize + len(x.page.Body))
		}
	})
}

// add records responses whose exchanges were archived.
func (f *sharedRenders) add(records []render.Record) {
	if f == nil || len(records) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added, records...)
}

// committed is called when a commit has ended. It returns the responses whose exchanges the commit included; the last commit included
// those of all responses.
func (f *sharedRenders) committed(last bool) []render.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	safe := f.earlier
	f.earlier, f.added = f.added, nil
	if last {
		safe = append(safe, f.earlier...)
	}
	return safe
}
