package render

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// committed is what a crawler has committed.
type committed map[string][]byte

func (c committed) Get(key string) ([]byte, error) { return c[key], nil }

func (c committed) Each(_ string, f func(string, []byte) error) error {
	for k, v := range c {
		if err := f(k, v); err != nil {
			return err
		}
	}
	return nil
}

func (c committed) commit(t *testing.T, records []Record, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if c[r.Key] = r.Value; r.Value == nil {
			delete(c, r.Key)
		}
	}
}

// waiting returns a page that waited for a URL and then received an answer that is reserved for this page.
func waiting(t *testing.T, s *Store, url, answer string, at time.Time) *Rendering {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Begin(&Policy{}, s, u, &Answer{Status: 200, Body: []byte(url)}, "test", at)
	if err != nil {
		t.Fatal(err)
	}
	w := Want{URL: u, Method: http.MethodGet, Kind: KindFetch}
	r.Task("", at).Have(w)
	r.Answered(w, &Answer{Status: 200, Body: []byte(answer)}, at)
	return r
}

// A sweep removes what is neither named by a committed state nor used by a page in progress.
func TestSweep(t *testing.T) {
	dir, x, now := filepath.Join(t.TempDir(), "resources"), committed{}, time.Unix(1e9, 0)
	s, err := OpenStore(dir, x)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	count := func() int {
		all, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	kept, ended, under := waiting(t, s, "http://a.test/1", "one", now), waiting(t, s, "http://a.test/2", "two", now), waiting(t, s, "http://a.test/3", "three", now)
	records, err := kept.Records(PrefixPage+"1", now)
	x.commit(t, records, err)
	if records, err = kept.Records(PrefixPage+"1", now.Add(time.Hour)); len(records) > 0 || err != nil {
		t.Errorf("nothing has changed, and there are %d records, %v", len(records), err)
	}
	kept.End("") // now only the committed record of kept needs its resource
	ended.End("")
	if err := s.Sweep(); err != nil || count() != 6 {
		t.Errorf("%d files, %v: it is too early", count(), err)
	}
	s.folder.written = leastSwept
	if err := s.Sweep(); err != nil || count() != 4 {
		t.Errorf("%d files, %v", count(), err)
	}
	if d := under.Task("", now).Have(Want{URL: under.page, Method: http.MethodGet, Kind: KindFetch}); d.Answer == nil || string(d.Answer.Body) != "three" {
		t.Errorf("of a page under way: %+v", d)
	}
	x.commit(t, under.End(""), nil)
	resumed, err := Resume(&Policy{}, s, x[PrefixPage+"1"], now)
	if err != nil {
		t.Fatal(err)
	}
	x.commit(t, []Record{{Key: PrefixPage + "1"}}, nil)
	s.folder.written = leastSwept
	if err := s.Sweep(); err != nil || count() != 2 {
		t.Errorf("%d files, %v: of a page that was resumed", count(), err)
	}
	resumed.End("")
	s.folder.written = leastSwept
	if err := s.Sweep(); err != nil || count() != 0 {
		t.Errorf("%d files, %v: of nobody", count(), err)
	}
}

// Time in which no process runs does not count as waiting time of a page.
func TestTimeWithoutProcessIsNotWaitingTime(t *testing.T) {
	now, x := time.Unix(1e9, 0), committed{}
	s, err := OpenStore(filepath.Join(t.TempDir(), "r"), x)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := waiting(t, s, "http://a.test/", "x", now)
	records, err := r.Records(PrefixPage, now.Add(time.Minute))
	x.commit(t, records, err)
	later := now.Add(24 * time.Hour)
	if r, err = Resume(&Policy{}, s, x[PrefixPage], later); err != nil {
		t.Fatal(err)
	}
	if left := r.Deadline().Sub(later); left != defaultMaxWait-time.Minute {
		t.Errorf("%v left", left)
	}
}

func TestAttached(t *testing.T) {
	now, x, dir := time.Unix(1e9, 0), committed{}, filepath.Join(t.TempDir(), "r")
	s, err := OpenStore(dir, x)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := waiting(t, s, "http://a.test/", "x", now)
	if _, err := r.Attached(); !errors.Is(err, ErrGone) {
		t.Errorf("nothing attached: %v", err)
	}
	if err := r.Attach([]byte("this")); err != nil {
		t.Fatal(err)
	}
	records, err := r.Records(PrefixPage, now)
	x.commit(t, records, err)
	if r, err = Resume(&Policy{}, s, x[PrefixPage], now); err != nil {
		t.Fatal(err)
	}
	if b, err := r.Attached(); string(b) != "this" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	var st state
	if err := json.Unmarshal(x[PrefixPage], &st); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, place(*st.Attached)), []byte("that"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Attached(); !errors.Is(err, ErrGone) {
		t.Errorf("damaged: %v", err)
	}
}

// An attacker who can put a link into the parent directory cannot make a process write elsewhere.
func TestStoreFollowsNoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "resources")); err != nil {
		t.Skip(err)
	}
	if s, err := OpenStore(filepath.Join(dir, "resources"), committed{}); err == nil {
		t.Error("opened", s.Close())
	}
}
