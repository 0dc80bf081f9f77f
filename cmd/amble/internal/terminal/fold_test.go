package terminal

import (
	"strings"
	"testing"
)

func TestFoldBreaksLinesAtWords(t *testing.T) {
	t.Parallel()
	const url = "http://site.test/a/folder/with/a/long/name/page.html"
	text := "  robots   allowed: no rule matches in http://site.test/robots.txt (200)\n" +
		"2026-01-02: a sentence that is longer than forty columns\n" +
		"    on " + url + "  \"text\"\n" +
		"short\n" +
		"\x1b[1m" + strings.Repeat("a word ", 9) + "\n" +
		"a line without an end remains as it is, however long"
	want := "  robots   allowed: no rule matches in\n" +
		"           http://site.test/robots.txt\n" +
		"           (200)\n" +
		"2026-01-02: a sentence that is longer\n" +
		"  than forty columns\n" +
		"    on " + url + "\n" +
		"      \"text\"\n" +
		"short\n" +
		"\x1b[1m" + strings.Repeat("a word ", 9) + "\n" +
		"a line without an end remains as it is, however long"
	if got := string(Fold([]byte(text), 40)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestShortenShowsWhatDiffersInAURL(t *testing.T) {
	t.Parallel()
	const one, two = "http://site.test/manual/of/the/service/chapter-one/index.html", "http://site.test/manual/of/the/service/chapter-two/index.html?q=a+long+one"
	for _, c := range []struct {
		earlier string
		host    bool
		columns int
		want    string
	}{
		{one, false, 80, two},
		{one, false, 40, ".../chapter-two/index.html?q=a+long+one"},
		{one, false, 24, "...chapter-two/index...."},
		{one, true, 40, "site.test/...chapter-two/index.html?q..."},
		{"", true, 30, "site.test/manua...q=a+long+one"},
		{"", false, 24, "/manual...l?q=a+long+one"},
		{"", true, 2, ".."},
	} {
		got := Shorten(two, c.earlier, c.host, c.columns)
		if got != c.want || Width(got) > c.columns {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
