package render_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/render"
)

// TestSharedStore checks that pages of all crawls use an answer at once, and that a later process uses the stored ones.
func TestSharedStore(t *testing.T) {
	dir := t.TempDir()
	open := func() *render.Store {
		s, err := render.OpenShared(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	kept, lost := script(t, "http://a.test/kept.js"), script(t, "http://a.test/lost.js")
	s := open()
	one := begin(t, s, "http://a.test/1")
	for _, w := range []render.Want{kept, lost} {
		wants(t, one, w, noon)
		one.Answered(w, answer("body of "+w.URL.String()), noon)
		if w == kept {
			s.Keep(one.Found())
		}
	}
	if len(one.Found()) != 1 {
		t.Error("an answer for other pages has no record")
	}
	two := begin(t, s, "http://b.test/1")
	for _, w := range []render.Want{kept, lost} {
		if d := wants(t, two, w, noon); d.Answer == nil || string(d.Answer.Body) != "body of "+w.URL.String() {
			t.Errorf("%s: %+v", w.URL, d)
		}
	}
	later := begin(t, open(), "http://c.test/1")
	if d := wants(t, later, kept, noon); d.Answer == nil || string(d.Answer.Body) != "body of "+kept.URL.String() {
		t.Errorf("a later process: %+v", d)
	}
	if d := wants(t, later, lost, noon); d.Answer != nil {
		t.Errorf("what was not kept: %+v", d)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{"empty": nil, "cut": b[:len(b)-1], "changed": bytes.Replace(b, []byte("body of"), []byte("text of"), 1), "other": []byte(strings.Repeat("x", len(b)))} {
		if err := os.WriteFile(files[0], damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if d := wants(t, begin(t, open(), "http://d.test/1"), kept, noon); d.Answer != nil {
			t.Errorf("%s: %+v", what, d)
		}
	}
}

// TestReserve checks that the pages in progress reserve at most 64 MiB of a store together.
func TestReserve(t *testing.T) {
	s := render.NewStore(0)
	if !s.Reserve(64<<20) || s.Reserve(1) {
		t.Error("there is room for 64 MiB")
	}
	if s.Free(1); !s.Reserve(1) {
		t.Error("what is free can be taken")
	}
}
