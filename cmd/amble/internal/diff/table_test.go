package diff

import (
	"fmt"
	"hash/maphash"
	"testing"
	"unsafe"
)

// A row for a visit has 40 bytes, so that two crawls of a million pages each can be compared in 80 MB.
func TestRowIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(row{}); n > 40 {
		t.Errorf("%d bytes", n)
	}
}

func TestSpellingsOfAURLAreOnePage(t *testing.T) {
	h := hasher{maphash.MakeSeed(), maphash.MakeSeed()}
	if h.key("http://a.org/%7Eme") != h.key("http://a.org/~me") || h.key("http://a.org/a") == h.key("http://a.org/b") {
		t.Error("keys")
	}
}

// If several pages share their content, or the content is unknown, this content does not show where a page has moved.
func TestMoves(t *testing.T) {
	h := hasher{maphash.MakeSeed(), maphash.MakeSeed()}
	visits := func(contents map[string]byte) (rows table) {
		for url, c := range contents {
			r := row{key: h.key(url), class: page, status: 200}
			r.content[0] = c
			rows = append(rows, r)
		}
		rows.sort()
		return rows
	}
	a := visits(map[string]byte{"http://a/1": 1, "http://a/2": 2, "http://a/3": 2, "http://a/4": 0, "http://a/5": 5, "http://a/6": 6})
	b := visits(map[string]byte{"http://a/x1": 1, "http://a/x2": 2, "http://a/x4": 0, "http://a/x5": 5, "http://a/y5": 5, "http://a/6": 6, "http://a/x6": 6})
	got := moves(a, b)
	if len(got) != 1 || got[h.key("http://a/1")] != h.key("http://a/x1") {
		t.Errorf("%v", fmt.Sprint(got))
	}
}
