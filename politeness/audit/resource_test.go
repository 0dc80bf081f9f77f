package audit

import (
	"strings"
	"testing"
)

// Like a page, a resource must be allowed by the robots.txt of its origin. In addition, its page must have been requested before.
func TestResources(t *testing.T) {
	script := func(at float64, path, page string) req {
		return req{url: "http://a.test" + path, at: at, end: at + 0.1, status: 200, purpose: "resource", forURL: page}
	}
	const first = "http://a.test/1"
	for name, c := range map[string]struct {
		add  []req
		want string
	}{
		"as it must be":                     {[]req{page(10, "/1"), script(20, "/app.js", first)}, ""},
		"forbidden":                         {[]req{page(10, "/1"), script(20, "/private/app.js", first)}, "is forbidden by line"},
		"too early":                         {[]req{page(10, "/1"), script(10.3, "/app.js", first)}, "P4"},
		"for no page":                       {[]req{page(10, "/1"), script(20, "/app.js", "")}, "a resource for no page"},
		"for a page that was not requested": {[]req{page(10, "/1"), script(20, "/app.js", "http://a.test/2")}, "was not requested before"},
		"before its page":                   {[]req{script(10, "/app.js", first), page(20, "/1")}, "was not requested before"},
		"for a resource":                    {[]req{page(10, "/1"), script(20, "/a.js", first), script(30, "/b.js", "http://a.test/a.js")}, "was not requested before"},
		"a page for another":                {[]req{with(page(10, "/1"), func(r *req) { r.forURL = "http://a.test/2" })}, "a page for another URL"},
	} {
		b := newBook().add(robotsReq(0, "User-agent: *\nDisallow: /private")).add(c.add...)
		rep, err := Check(strings.NewReader(b.b.String()), config(), b.body)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		for _, v := range rep.Violations {
			said.WriteString(v.Invariant + " " + v.Message + "\n")
		}
		if !strings.Contains(said.String(), c.want) || (said.Len() > 0) != (c.want != "") {
			t.Errorf("%s: %q, want %q", name, said.String(), c.want)
		}
	}
}
