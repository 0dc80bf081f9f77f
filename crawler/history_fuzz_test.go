package crawler_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/amble-crawler/amble/crawler"
)

// FuzzReadHistory checks that any input gives an error, or a history within its size limit in which each page can be looked up.
func FuzzReadHistory(f *testing.F) {
	f.Add([]byte(`{"schema":"amble.visit/1","url":"http://a.test/","outcome":"fetched","status":200,"etag":"\"x\"","sha256":"00"}`+"\n"), 1)
	f.Add([]byte("{}\n\n{"), 2)
	f.Add([]byte(`{"schema":"amble.visit/1","url":"http://a.test/%zz","outcome":"not_modified","last_modified":"\r\n"}`), 3)
	f.Fuzz(func(t *testing.T, b []byte, most int) {
		most = most&7 + 1
		h, err := crawler.ReadHistory(bytes.NewReader(b), most)
		if err != nil {
			if !errors.Is(err, crawler.ErrHistory) {
				t.Fatal(err)
			}
			return
		}
		n := 0
		for u, depth := range h.All() {
			if _, known := h.Past(u); !known || depth < 0 {
				t.Errorf("%s at depth %d, known %v", u, depth, known)
			}
			n++
		}
		if n != h.Len() || n > most {
			t.Errorf("%d pages, Len is %d, at most %d", n, h.Len(), most)
		}
	})
}
