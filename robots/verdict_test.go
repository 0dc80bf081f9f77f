package robots

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

const verdictFile = `# who may do what
User-agent: ExampleBot
User-agent: OtherBot
Disallow: /private /tmp # two
  Allow: /private/open
Crawl-delay: 2

User-agent: examplebot
Disallow: /*?sid=
Allow: /shop?sid=1

User-agent: *
Disallow: /
`

// TestVerdictNamesEverything checks line, column, texts, group and runner-up.
func TestVerdictNamesEverything(t *testing.T) {
	g := Parse([]byte(verdictFile)).For("ExampleBot")
	for _, c := range []struct {
		path string
		want Verdict
	}{
		{"/tmp/x", Verdict{Line: 4, Column: 20, Rule: "Disallow: /private /tmp", Path: "/tmp", Reason: ByRule, Agent: "ExampleBot", GroupLine: 2}},
		{"/private/open/", Verdict{
			Allowed: true, Line: 5, Column: 10, Rule: "Allow: /private/open", Path: "/private/open", Reason: ByRule, Agent: "ExampleBot", GroupLine: 2,
			RunnerUp: Rule{Line: 4, Column: 11, Text: "Disallow: /private /tmp", Path: "/private"},
		}},
		{"/shop?sid=1", Verdict{
			Allowed: true, Line: 10, Column: 8, Rule: "Allow: /shop?sid=1", Path: "/shop?sid=1", Reason: ByRule, Agent: "examplebot", GroupLine: 8,
			RunnerUp: Rule{Line: 9, Column: 11, Text: "Disallow: /*?sid=", Path: "/*?sid="},
		}},
		{"/private/open?sid=2", Verdict{
			Allowed: true, Line: 5, Column: 10, Rule: "Allow: /private/open", Path: "/private/open", Reason: ByRule, Agent: "ExampleBot", GroupLine: 2,
			RunnerUp: Rule{Line: 4, Column: 11, Text: "Disallow: /private /tmp", Path: "/private"},
		}},
		{"/else", Verdict{Allowed: true, Reason: NoMatch, Agent: "ExampleBot", GroupLine: 2}},
		{"/robots.txt", Verdict{Allowed: true, Reason: RobotsFile}},
	} {
		if got := g.Test(c.path); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.path, got, c.want)
		}
		v := g.Test(c.path)
		if got := v.Clone(); got != c.want || got.Rule != "" && unsafe.StringData(got.Rule) == unsafe.StringData(v.Rule) {
			t.Errorf("%s: the clone is %+v", c.path, got)
		}
	}
	if got := g.Lines(); !slices.Equal(got, []int{2, 8}) {
		t.Errorf("group lines %v", got)
	}
	var texts []string
	for _, r := range g.Rules() {
		texts = append(texts, r.Path)
	}
	if got := strings.Join(texts, " "); got != "/private /tmp /private/open /*?sid= /shop?sid=1" {
		t.Errorf("rules %s", got)
	}
}

// TestFirstNameCounts checks that the line given for a group is the first one with the robot's name.
func TestFirstNameCounts(t *testing.T) {
	v := Parse([]byte("User-agent: a\nUser-agent: b\nUser-agent: B/2\nUser-agent: *\nUser-agent: *\nDisallow: /\n")).For("b").Test("/")
	if v.GroupLine != 2 || v.Agent != "b" {
		t.Errorf("%+v", v)
	}
	// An empty name has no group.
	g := Parse([]byte("User-agent:\nUser-agent: *bot\nDisallow: /a\nUser-agent: *\nDisallow: /b\n")).For("")
	if g.Test("/a").Line != 0 || g.Test("/b").Line != 5 {
		t.Errorf("%+v", g.Test("/a"))
	}
}

// TestRunnerUpIsTheStrongestOfTheOtherKind checks that wildcards and literal rules are compared alike.
func TestRunnerUpIsTheStrongestOfTheOtherKind(t *testing.T) {
	const file = "User-agent: *\nAllow: /\nAllow: /a\nAllow: /*b\nAllow: /zzz\nDisallow: /a/b/c\nDisallow: /a/\nDisallow: /*/c$\n"
	g := Parse([]byte(file)).For("x")
	for path, want := range map[string][2]int{"/a/b/c": {6, 4}, "/a/x": {7, 3}, "/x/c": {8, 2}, "/b": {4, 0}} {
		if v := g.Test(path); v.Line != want[0] || v.RunnerUp.Line != want[1] {
			t.Errorf("%s: line %d over %d, want %v", path, v.Line, v.RunnerUp.Line, want)
		}
	}
	// In Draft1997 the runner-up is the first rule of the other kind.
	v := Parse([]byte("User-agent: *\nDisallow: /a\nDisallow: /\nAllow: /a/b\nAllow: /a\n"), WithDialect(Draft1997)).For("x").Test("/a/b")
	if v.Line != 2 || v.RunnerUp.Line != 4 {
		t.Errorf("%+v", v)
	}
}

// TestExplain checks the sentence for each kind of verdict.
func TestExplain(t *testing.T) {
	at := time.Date(2026, 1, 5, 11, 0, 0, 0, time.FixedZone("", 3600))
	src := Source{RobotsURL: "https://h.example/robots.txt", Status: 200, FetchedAt: at}
	star := Parse([]byte("# 1\n# 2\n# 3\n# 4\n# 5\n# 6\n# 7\n# 8\nUser-agent: *\nAllow: /p\nDisallow: /x\nDisallow: /*?sid=\nDisallow: /\"\x00é\n")).For("x")
	with := func(change func(*Source)) Source { s := src; change(&s); return s }
	for _, c := range []struct {
		v    Verdict
		s    Source
		want string
	}{
		{star.Test("/a?sid=1"), src, `refused: line 12 "Disallow: /*?sid=" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9`},
		{star.Test("/p?sid=1"), src, `refused: line 12 "Disallow: /*?sid=" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9, over line 10 "Allow: /p"`},
		{star.Test("/p"), src, `allowed: line 10 "Allow: /p" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9`},
		{star.Test("/q"), src, `allowed: no rule matches in https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9`},
		{star.Test("/\"\x00é"), src, `refused: line 13 "Disallow: /\"\x00é" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z), group "*" line 9`},
		{star.Test("/robots.txt"), src, `allowed: robots.txt itself may always be fetched`},
		{Parse(nil).For("x").Test("/"), src, `allowed: no group for this robot in https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z)`},
		{Verdict{}, with(func(s *Source) { s.Status = 404 }), `allowed: no rules, because of https://h.example/robots.txt (404, fetched 2026-01-05T10:00:00Z)`},
		{Verdict{}, with(func(s *Source) { s.Status = 503 }), `deferred: nothing may be fetched for now, because of https://h.example/robots.txt (503, fetched 2026-01-05T10:00:00Z)`},
		{Verdict{}, with(func(s *Source) { s.Status = 0 }), `deferred: nothing may be fetched for now, because of https://h.example/robots.txt (no answer, tried 2026-01-05T10:00:00Z)`},
		{Verdict{}, Source{}, `deferred: nothing may be fetched for now, because of robots.txt`},
		{Verdict{}, Source{Status: 200}, `not judged: robots.txt (200)`},
		{DenyAll.Verdict(), with(func(s *Source) { s.Status = 403 }), `refused: everything, because of https://h.example/robots.txt (403, fetched 2026-01-05T10:00:00Z)`},
		{star.Test("/x"), with(func(s *Source) { s.Stale = true; s.Redirects = []string{"https://a.example/r", "https://b.example/r"} }),
			`refused: line 11 "Disallow: /x" of https://h.example/robots.txt (200, fetched 2026-01-05T10:00:00Z, redirected to https://b.example/r, stale), group "*" line 9`},
		{Parse([]byte("User-agent: *\nDisallow: /x\n"), WithDialect(Strictest)).For("x").Test("/x"), Source{}, `refused: line 2 "Disallow: /x" of robots.txt, group "*" line 1`},
		{Parse([]byte("User-agent: *\nDisallow: /x\n"), WithDialect(Original1994)).For("x").Test("/x"), Source{}, `refused: line 2 "Disallow: /x" of robots.txt, group "*" line 1, read as Original1994`},
	} {
		if got := Explain(c.v, c.s); got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
	long := Parse([]byte("User-agent: *\nDisallow: /" + strings.Repeat("a", 10_000))).For("x").Test("/" + strings.Repeat("a", 10_000))
	if s := Explain(long, Source{}); len(s) > 400 || !strings.Contains(s, "…") {
		t.Errorf("%d bytes: %.100s", len(s), s)
	}
}

// TestForStatus covers RFC 9309 section 2.3.1, and this package's decisions where the RFC leaves a choice.
func TestForStatus(t *testing.T) {
	for status, want := range map[int]Policy{
		200: Obey, 204: Obey, 299: Obey, 301: Redirect, 302: Redirect, 307: Redirect, 308: Redirect,
		400: AllowAll, 401: AllowAll, 403: AllowAll, 404: AllowAll, 410: AllowAll, 418: AllowAll, 451: AllowAll, 499: AllowAll,
		429: Unreachable, 500: Unreachable, 502: Unreachable, 503: Unreachable, 599: Unreachable,
		0: Unreachable, -1: Unreachable, 100: Unreachable, 199: Unreachable, 600: Unreachable,
	} {
		if got := ForStatus(status); got != want {
			t.Errorf("%d: %v", status, got)
		}
		strict := StatusPolicy{ForbiddenDenies: true}
		if status == 401 || status == 403 {
			want = DenyAll
		}
		if got := strict.ForStatus(status); got != want {
			t.Errorf("%d, forbidden denies: %v", status, got)
		}
	}
	for p, want := range map[Policy]Verdict{
		Obey: {}, AllowAll: {Allowed: true, Reason: NoFile}, Redirect: {Allowed: true, Reason: NoFile},
		Unreachable: {Reason: NoAnswer}, DenyAll: {Reason: Forbidden},
	} {
		if got := p.Verdict(); got != want {
			t.Errorf("%v: %+v", p, got)
		}
	}
	if Policy(99).String() != "unknown" || Reason(99).String() != "unknown" || Unreachable.String() != "unreachable" || ByRule.String() != "rule" {
		t.Error("names")
	}
}

// TestStatusLints covers statuses that may not mean what the site owner intended.
func TestStatusLints(t *testing.T) {
	for status, want := range map[int]LintCode{401: lintForbidden, 403: lintForbidden, 429: lintTooManyRequests, 200: "", 404: "", 500: ""} {
		for _, p := range []StatusPolicy{{}, {ForbiddenDenies: true}} {
			if l, ok := p.Lint(status); l.Code != want || ok != (want != "") {
				t.Errorf("%d: %v", status, l)
			}
		}
	}
}

// TestFreshness covers RFC 9111 section 4.2, and the limit of one day in RFC 9309 section 2.4.
func TestFreshness(t *testing.T) {
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	type h = map[string][]string
	for _, c := range []struct {
		name string
		h    h
		want time.Duration
	}{
		{"nothing said", nil, defaultFreshness},
		{"max-age", h{"Cache-Control": {"public, max-age=3600"}}, time.Hour},
		{"quoted", h{"Cache-Control": {`MAX-AGE="3600"`}}, time.Hour},
		{"less age", h{"Cache-Control": {"max-age=3600"}, "Age": {"600"}}, 50 * time.Minute},
		{"all age", h{"Cache-Control": {"max-age=3600"}, "Age": {"4000"}}, MinFreshness},
		{"more than a day", h{"Cache-Control": {"max-age=31536000"}}, 24 * time.Hour},
		{"more than any number", h{"Cache-Control": {"max-age=99999999999999999999999"}}, 24 * time.Hour},
		{"the least of several, first", h{"Cache-Control": {"max-age=3600", "max-age=7200"}}, time.Hour},
		{"the least of several", h{"Cache-Control": {"max-age=7200", "max-age=3600"}}, time.Hour},
		{"unreadable", h{"Cache-Control": {"max-age=soon"}}, MinFreshness},
		{"negative", h{"Cache-Control": {"max-age=-1"}}, MinFreshness},
		{"no-store", h{"Cache-Control": {"max-age=3600, no-store"}}, MinFreshness},
		{"no-cache", h{"Cache-Control": {"no-cache"}, "Expires": {"Mon, 05 Jan 2026 12:00:00 GMT"}}, MinFreshness},
		{"shared caches only", h{"Cache-Control": {"s-maxage=60"}}, defaultFreshness},
		{"max-age before Expires", h{"Cache-Control": {"max-age=60"}, "Expires": {"Mon, 05 Jan 2026 12:00:00 GMT"}}, time.Minute},
		{"Expires", h{"Expires": {"Mon, 05 Jan 2026 12:00:00 GMT"}}, 2 * time.Hour},
		{"Expires less Date", h{"Expires": {"Mon, 05 Jan 2026 12:00:00 GMT"}, "Date": {"Mon, 05 Jan 2026 11:00:00 GMT"}}, time.Hour},
		{"Expires, RFC 850", h{"Expires": {"Monday, 05-Jan-26 12:00:00 GMT"}}, 2 * time.Hour},
		{"Expires, asctime", h{"Expires": {"Mon Jan  5 12:00:00 2026"}}, 2 * time.Hour},
		{"Expires passed", h{"Expires": {"Thu, 01 Jan 1970 00:00:00 GMT"}}, MinFreshness},
		{"Expires 0", h{"Expires": {"0"}}, MinFreshness},
	} {
		if got := Freshness(c.h, now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
