package render_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// index has the records that a crawler has committed.
type index struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (x *index) Get(key string) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.values[key], nil
}

func (x *index) Each(prefix string, f func(string, []byte) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, v := range x.values {
		if strings.HasPrefix(k, prefix) {
			if err := f(k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *index) commit(records []render.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range records {
		if r.Value == nil {
			delete(x.values, r.Key)
		} else {
			x.values[r.Key] = r.Value
		}
	}
}

// answer returns an answer that any page may use for a minute.
func answer(body string) *render.Answer {
	return &render.Answer{Status: 200, Header: http.Header{"Cache-Control": {"max-age=60"}}, Body: []byte(body)}
}

// begin starts the rendering of a page.
func begin(t *testing.T, s *render.Store, page string) *render.Rendering {
	t.Helper()
	r, err := render.Begin(&render.Policy{}, s, parse(t, page), answer("<html>"+page), "test", noon)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wants makes a page request a URL at a time, and returns the decision.
func wants(t *testing.T, r *render.Rendering, w render.Want, at time.Time) render.Decision {
	t.Helper()
	return r.Task("agent", at).Have(w)
}

func script(t *testing.T, url string) render.Want {
	return render.Want{URL: parse(t, url), Method: "GET", Kind: render.KindScript, Accept: "*/*"}
}

func data(t *testing.T, url string) render.Want {
	return render.Want{URL: parse(t, url), Method: "GET", Kind: render.KindFetch, Accept: "*/*"}
}

func stores(t *testing.T, f func(t *testing.T, s *render.Store, x *index)) {
	t.Run("memory", func(t *testing.T) { f(t, render.NewStore(0), &index{values: map[string][]byte{}}) })
	t.Run("directory", func(t *testing.T) {
		x := &index{values: map[string][]byte{}}
		s, err := render.OpenStore(filepath.Join(t.TempDir(), "resources"), x)
		if err != nil {
			t.Fatal(err)
		}
		f(t, s, x)
	})
}

func TestAnswersServeOtherPages(t *testing.T) {
	stores(t, func(t *testing.T, s *render.Store, _ *index) {
		a, b, c := begin(t, s, "http://a.test/1"), begin(t, s, "http://a.test/2"), begin(t, s, "http://a.test/3")
		lib, api, own := script(t, "http://a.test/lib.js"), data(t, "http://a.test/api"), data(t, "http://a.test/own")
		for _, w := range []render.Want{lib, api, own} {
			wants(t, a, w, noon)
		}
		stale := answer("lib")
		stale.Header = http.Header{"Cache-Control": {"max-age=0"}}
		a.Answered(lib, stale, noon)
		a.Answered(api, answer("api"), noon)
		mine := answer("own")
		mine.Header = http.Header{"Cache-Control": {"no-store"}}
		a.Answered(own, mine, noon)

		for _, w := range []render.Want{lib, api} {
			if d := wants(t, b, w, noon.Add(59*time.Second)); d.Answer == nil || d.Answer.Status != 200 {
				t.Errorf("%s does not serve another page: %+v", w.URL, d)
			}
		}
		if d := wants(t, b, own, noon); d.Answer != nil {
			t.Errorf("a no-store answer serves another page")
		}
		if d := wants(t, a, own, noon.Add(time.Hour)); d.Answer == nil || string(d.Answer.Body) != "own" {
			t.Errorf("a no-store answer does not serve its own page: %+v", d)
		}
		if d := wants(t, c, api, noon.Add(60*time.Second)); d.Answer != nil {
			t.Errorf("a stale answer serves another page")
		}
		if d := wants(t, b, api, noon.Add(time.Hour)); d.Answer == nil {
			t.Errorf("an answer that a page has had is no longer its own")
		}
		if d := wants(t, c, lib, noon.Add(100*time.Hour)); d.Answer == nil || string(d.Answer.Body) != "lib" {
			t.Errorf("a script is not kept: %+v", d)
		}
	})
}

func TestVaryAccept(t *testing.T) {
	stores(t, func(t *testing.T, s *render.Store, _ *index) {
		a, b, c := begin(t, s, "http://a.test/1"), begin(t, s, "http://a.test/2"), begin(t, s, "http://a.test/3")
		json, other := data(t, "http://a.test/api"), data(t, "http://a.test/api")
		json.Accept = "application/json"
		wants(t, a, json, noon)
		x := answer("{}")
		x.Header.Set("Vary", "Accept")
		a.Answered(json, x, noon)
		if d := wants(t, b, json, noon); d.Answer == nil {
			t.Error("not for the same Accept")
		}
		if d := wants(t, c, other, noon); d.Answer != nil {
			t.Error("for another Accept")
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	const each, limit = 1000, 20_000
	s := render.NewStore(limit)
	a := begin(t, s, "http://a.test/")
	body := strings.Repeat("x", each)
	refused := 0
	for i := range 40 {
		w := script(t, fmt.Sprint("http://a.test/", i))
		wants(t, a, w, noon)
		a.Answered(w, answer(fmt.Sprint(i, body)), noon)
		if d := wants(t, a, w, noon); d.Refuse == "render_store" {
			refused++
		} else if d.Answer == nil {
			t.Fatalf("%d is neither stored nor refused", i)
		}
	}
	if refused < 20 || refused > 25 {
		t.Errorf("%d of 40 refused", refused)
	}
	a.End("k")
	b := begin(t, s, "http://b.test/")
	w := script(t, "http://b.test/new.js")
	wants(t, b, w, noon)
	b.Answered(w, answer("new"+body), noon)
	if d := wants(t, b, w, noon); d.Answer == nil {
		t.Errorf("no room after the end of the page that took it: %+v", d)
	}
	if d := wants(t, b, script(t, "http://a.test/0"), noon); d.Answer != nil {
		t.Error("the least recently used is still there")
	}
	_, err := render.Begin(&render.Policy{}, s, parse(t, "http://c.test/"), answer(strings.Repeat("x", limit+1)), "", noon)
	if !errors.Is(err, render.ErrFull) {
		t.Errorf("a document larger than the store: %v", err)
	}
}

// A resource that a page uses is not evicted, even if another page requested it first.
func TestUsedResourcesAreNotEvicted(t *testing.T) {
	s := render.NewStore(20_000)
	a, b := begin(t, s, "http://a.test/1"), begin(t, s, "http://a.test/2")
	lib := script(t, "http://a.test/lib.js")
	wants(t, a, lib, noon)
	a.Answered(lib, answer("lib"), noon)
	fill := func(n int) {
		c := begin(t, s, fmt.Sprint("http://c.test/", n))
		for i := range 30 {
			w := script(t, fmt.Sprint("http://c.test/", n, "/", i))
			wants(t, c, w, noon)
			c.Answered(w, answer(strings.Repeat("x", 1000)+fmt.Sprint(n, i)), noon)
		}
		c.End("c")
	}
	has := func(r *render.Rendering) bool { return wants(t, r, lib, noon).Answer != nil }
	if !has(b) {
		t.Fatal("it does not serve the second page")
	}
	a.End("a")
	fill(1)
	if !has(b) {
		t.Error("evicted when the first page ended")
	}
	b.End("b")
	c := begin(t, s, "http://a.test/3")
	if !has(c) {
		t.Fatal("evicted without need")
	}
	fill(2)
	if !has(c) {
		t.Error("evicted although it was taken up again")
	}
}

// After a restart, resources that were committed with the frontier still exist; others are gone, and so are their files.
func TestRestart(t *testing.T) {
	dir, x := filepath.Join(t.TempDir(), "resources"), &index{values: map[string][]byte{}}
	open := func() *render.Store {
		t.Helper()
		s, err := render.OpenStore(dir, x)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	r := begin(t, s, "http://a.test/")
	first, second := script(t, "http://a.test/1.js"), script(t, "http://a.test/2.js")
	wants(t, r, first, noon)
	r.Took(&render.Result{Missing: []render.Want{first}})
	r.Answered(first, answer("one"), noon)
	records, err := r.Records(render.PrefixPage+"a", noon)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 {
		t.Errorf("%d records: want a script's and the page's", len(records))
	}
	x.commit(records)
	mine, third := answer("mine"), script(t, "http://a.test/3.js")
	mine.Header = http.Header{"Cache-Control": {"no-store"}}
	wants(t, r, third, noon)
	r.Answered(third, mine, noon)
	if records, err = r.Records(render.PrefixPage+"a", noon); len(records) != 1 || err != nil {
		t.Errorf("%d records after a no-store answer: want the page's, %v", len(records), err)
	}
	wants(t, r, second, noon)
	r.Answered(second, answer("two"), noon) // this answer is not committed

	s = open()
	r, err = render.Resume(&render.Policy{}, s, x.values[render.PrefixPage+"a"], noon)
	if err != nil {
		t.Fatal(err)
	}
	if doc, at := r.Document(); string(doc.Body) != "<html>http://a.test/" || !at.Equal(noon) || r.Rounds() != 1 || r.Why() != "test" || r.URL() != parse(t, "http://a.test/") {
		t.Errorf("resumed as %s %v %d %s %s", doc.Body, at, r.Rounds(), r.Why(), r.URL())
	}
	if d := wants(t, r, first, noon); d.Answer == nil || string(d.Answer.Body) != "one" {
		t.Errorf("committed: %+v", d)
	}
	if d := wants(t, r, second, noon); d.Answer != nil {
		t.Error("not committed, but there")
	}
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files: want the document and one script", n)
	}
	x.commit(r.End(render.PrefixPage + "a"))
	if _, ok := x.values[render.PrefixPage+"a"]; ok {
		t.Error("the rendering outlives its end")
	}
	other := begin(t, open(), "http://a.test/other")
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files: want a script for other pages, and a new document", n)
	}
	if d := wants(t, other, first, noon.Add(time.Hour)); d.Answer == nil || string(d.Answer.Body) != "one" {
		t.Errorf("after the end of the page that requested it: %+v", d)
	}
}

func files(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A damaged answer is requested again, and its file does not prevent the new one.
func TestDamage(t *testing.T) {
	dir, x := filepath.Join(t.TempDir(), "resources"), &index{values: map[string][]byte{}}
	s, err := render.OpenStore(dir, x)
	if err != nil {
		t.Fatal(err)
	}
	r := begin(t, s, "http://a.test/")
	w := script(t, "http://a.test/1.js")
	wants(t, r, w, noon)
	r.Answered(w, answer("one"), noon)
	records, err := r.Records(render.PrefixPage+"a", noon)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.ReplaceAll(b, []byte("on"), []byte("no")), 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := wants(t, r, w, noon); d.Answer != nil {
		t.Fatal("a damaged answer is used")
	}
	r.Answered(w, answer("one"), noon)
	if d := wants(t, r, w, noon); d.Answer == nil || string(d.Answer.Body) != "one" {
		t.Errorf("requested again: %+v", d)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := render.Resume(&render.Policy{}, s, records[len(records)-1].Value, noon); !errors.Is(err, render.ErrGone) {
		t.Errorf("without its document: %v", err)
	}
	if _, err := render.Resume(&render.Policy{}, s, []byte("nothing"), noon); err == nil || errors.Is(err, render.ErrGone) {
		t.Errorf("without a state: %v", err)
	}
}

// Opening a store in a directory with other files does not touch these files.
func TestOnlyOwnFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	keep := []string{"notes.txt", "ab/notes.txt", "abcd/" + strings.Repeat("ab", 32), strings.Repeat("cd", 32)}
	lose := []string{"ab/" + strings.Repeat("ab", 32), "ab/new-123"}
	for _, name := range append(keep, lose...) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := render.OpenStore(dir, &index{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range lose {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// A state with an impossible request is not used to make that request.
func TestDamagedState(t *testing.T) {
	s := render.NewStore(0)
	r := begin(t, s, "http://a.test/")
	wants(t, r, script(t, "http://a.test/1.js"), noon)
	records, err := r.Records("k", noon)
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.ReplaceAll(records[0].Value, []byte("http://a.test/1.js"), []byte("ftp://a.test/"))
	if r, err = render.Resume(&render.Policy{}, s, value, noon); err != nil {
		t.Fatal(err)
	}
	if w, ok := r.Next(noon); ok {
		t.Errorf("%s is to be requested", w.URL)
	}
}
