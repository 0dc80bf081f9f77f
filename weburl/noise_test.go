package weburl_test

import (
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

func TestSessionless(t *testing.T) {
	for raw, want := range map[string]string{
		"http://a.test/x":                                     "",
		"http://a.test/x?":                                    "",
		"http://a.test/x?a&&b=1&sid=5":                        "",
		"http://a.test/x?PHPSESSID=5":                         "http://a.test/x",
		"http://a.test/x?a=1&PHPSESSID=5&&b":                  "http://a.test/x?a=1&&b",
		"http://a.test/x?sid=0123456789abcdef&a=1":            "http://a.test/x?a=1",
		"http://a.test/x;jsessionid=F00?a=1":                  "http://a.test/x?a=1",
		"http://a.test/x;jsessionid=F00/y;v=1":                "http://a.test/x/y;v=1",
		"http://a.test/x;jsessionid=F00?aspsessionidqq=1&b=2": "http://a.test/x?b=2",
		"http://a.test/..;jsessionid=F00/":                    "",
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, had := u.Sessionless()
		if had != (want != "") || had && got != want || !had && got != u.String() {
			t.Errorf("%s: %q, %v", raw, got, had)
		}
	}
	if got, had := (weburl.URL{}).Sessionless(); had || got != "" {
		t.Error("the zero URL")
	}
	u, err := weburl.Parse("http://a.test/some/path?with=a&query")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { u.Sessionless() }); n != 0 {
		t.Errorf("%v allocations without a session", n)
	}
}
