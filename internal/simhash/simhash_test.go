package simhash

import "testing"

func TestMarkupDoesNotCount(t *testing.T) {
	h := NewHasher()
	a, n := h.HTML([]byte("<html><style>p{x}</style><p class='x'>one two three four five</p><script>var a = 'six <b>';</script>"))
	b, m := h.HTML([]byte("<div><SCRIPT src=x></SCRIPT>one <b>two</b> three\nfour five</div>"))
	if a != b || n != 5 || m != 5 {
		t.Errorf("%x of %d words, %x of %d", a, n, b, m)
	}
	h.HTML([]byte("<script>"))
	h.HTML([]byte("<"))
	h.HTML([]byte("<style></st"))
}

func BenchmarkHTML(b *testing.B) {
	pages, _ := site{articles: 1, versions: 1, words: 4000}.pages()
	page, h := []byte(pages[0]), NewHasher()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		h.HTML(page)
	}
}
