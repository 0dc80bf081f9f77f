package packed

import (
	"bytes"
	"slices"
	"testing"
)

func TestItemRoundTrip(t *testing.T) {
	u := parse(t, "https://a.test/x?y")
	for _, it := range []Item{
		{URL: u},
		{URL: u, Hops: []string{""}},
		{URL: u, Hops: []string{"http://b.test/", "", "x"}},
		{URL: u, Meta: []byte{0, 255}, Beyond: MaxBeyond},
		{URL: u, Beyond: 1},
		{URL: parse(t, "http://b.test/"), Hops: []string{"h"}, Meta: bytes.Repeat([]byte("m"), 300)},
	} {
		b := AppendItem([]byte("before"), "a.test:443", it)
		got, err := ReadItem("a.test:443", b[len("before"):])
		if err != nil || got.URL != it.URL || got.Beyond != it.Beyond || !slices.Equal(got.Hops, it.Hops) || !bytes.Equal(got.Meta, it.Meta) {
			t.Errorf("%+v came back as %+v, %v", it, got, err)
		}
	}
}

// FuzzReadItem checks that damaged bytes give an error, and that any item read can be written and read again.
func FuzzReadItem(f *testing.F) {
	u := "http://a.test/x"
	f.Add([]byte(u))
	f.Add([]byte{byte(HTTP), '/'})
	f.Add([]byte{byte(HTTPS) | hasHops | hasMeta, 2, 1, 'a', 0, 1, 'm', '/', 'x'})
	f.Add([]byte{hasHops, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, '/'})
	f.Add([]byte{hasMeta, 200, '/'})
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := ReadItem("a.test:80", b)
		if err != nil {
			return
		}
		again, err := ReadItem("a.test:80", AppendItem(nil, "a.test:80", it))
		if err != nil || again.URL != it.URL || again.Beyond != it.Beyond || !slices.Equal(again.Hops, it.Hops) || !bytes.Equal(again.Meta, it.Meta) {
			t.Errorf("%+v came back as %+v, %v", it, again, err)
		}
	})
}
