package extract

import (
	"reflect"
	"strings"
	"testing"
)

// scribbled returns the result of ScanBytes for a page that is overwritten immediately afterwards.
func scribbled(s *Scanner, page string) *Document {
	body := []byte(page)
	d := s.ScanBytes(body)
	for i := range body {
		body[i] = '#'
	}
	return d
}

// The result of ScanBytes shares no memory with the page, and equals the result of Scan.
func TestScanBytesKeepsNothingOfThePage(t *testing.T) {
	every := NewScanner(everything)
	for _, page := range append([]string{benchPage(), "", "<a href=x>", "<title>t", "<svg><a xlink:href=y>z</svg><base href=/b>"}, hostile...) {
		want := HTML([]byte(page), everything)
		got := scribbled(every, page)
		if !same(want, got) {
			t.Errorf("%.60q:\n%+v, want\n%+v", page, got, want)
		}
		if every.page != "" || every.c.linkText.first.s != "" || every.t.name != "" {
			t.Errorf("%.60q: the Scanner remembers the page", page)
		}
	}
}

func same(a, b *Document) bool {
	return len(a.Links) == len(b.Links) && (len(a.Links) == 0 || reflect.DeepEqual(a.Links, b.Links)) &&
		len(a.Metas) == len(b.Metas) && (len(a.Metas) == 0 || reflect.DeepEqual(a.Metas, b.Metas)) &&
		a.Base == b.Base && a.Title == b.Title && a.Canonical == b.Canonical && a.Lang == b.Lang && a.Dropped == b.Dropped
}

// The strings of one page do not change when the Scanner reads the next.
func TestScanBytesStringsStayValid(t *testing.T) {
	s := NewScanner(Options{})
	first := scribbled(s, `<title>one</title><a href=/first>first</a>`)
	title, link := first.Title, first.Links[0]
	for range 100 {
		scribbled(s, strings.Repeat(`<title>two</title><a href=/second>second</a>`, 10))
	}
	if title != "one" || link.Ref != "/first" || link.Text != "first" {
		t.Errorf("%q %+v", title, link)
	}
}

func TestScanBytesAllocatesOnce(t *testing.T) {
	page := []byte(strings.ReplaceAll(benchPage(), "&amp;", ";"))
	s := NewScanner(Options{})
	if n := testing.AllocsPerRun(10, func() { s.ScanBytes(page) }); n > 1 {
		t.Errorf("%v allocations a page", n)
	}
}
