package robots

import "testing"

func TestLongestRuleDecidesAndAllowWinsTies(t *testing.T) { // RFC 9309 section 2.2.2
	const file = "User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\nAllow: /p\nDisallow: /p\nDisallow: /page/*.gif$\nDisallow: /x\n"
	g := Parse([]byte(file)).For("examplebot")
	for _, c := range []struct {
		path    string
		allowed bool
		line    int
	}{
		{"/", true, 0}, {"/p", true, 5}, {"/page/a.gif", false, 7}, {"/page/a.gif?x", true, 5}, {"/x/y", false, 8}, {"/robots.txt", true, 0},
	} {
		if v := g.Test(c.path); v.Allowed != c.allowed || v.Line != c.line {
			t.Errorf("%s: %v line %d, want %v line %d", c.path, v.Allowed, v.Line, c.allowed, c.line)
		}
	}
	if v := Parse([]byte(file)).For("Other").Test("/"); v.Allowed || v.Line != 2 || v.GroupLine != 1 {
		t.Errorf("*: %+v", v)
	}
}
