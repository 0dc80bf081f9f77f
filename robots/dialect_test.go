package robots

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// question represents a line in the verdicts section of a test file: a robot, a path, and the expected verdict.
type question struct {
	agent, path string
	allowed     bool
	line        int
}

func parseQuestions(t *testing.T, s string) (qs []question) {
	t.Helper()
	for line := range strings.SplitSeq(s, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 || f[2] != "allow" && f[2] != "refuse" {
			t.Fatalf("bad line %q", line)
		}
		n := 0
		if f[3] != "-" {
			var err error
			if n, err = strconv.Atoi(f[3]); err != nil {
				t.Fatalf("bad line %q", line)
			}
		}
		qs = append(qs, question{f[0], f[1], f[2] == "allow", n})
	}
	return qs
}

// TestDialects runs each dialect's table of cases, which includes the examples of its standard.
func TestDialects(t *testing.T) {
	for _, d := range Dialects() {
		t.Run(d.String(), func(t *testing.T) { testDialect(t, d) })
	}
}

func testDialect(t *testing.T, d Dialect) {
	files := readTxtar(t, filepath.Join("testdata", "dialects", d.String()+".txtar"))
	for i := 0; i+1 < len(files); i += 2 {
		name, ok := strings.CutSuffix(files[i].name, "/robots.txt")
		if !ok || files[i+1].name != name+"/verdicts" {
			t.Fatalf("sections %q and %q do not go together", files[i].name, files[i+1].name)
		}
		t.Run(name, func(t *testing.T) {
			rules := Parse([]byte(files[i].body), WithDialect(d))
			for _, q := range parseQuestions(t, files[i+1].body) {
				v := rules.For(q.agent).Test(q.path)
				if v.Allowed != q.allowed || v.Line != q.line {
					t.Errorf("%s %s: %s", q.agent, q.path, Explain(v, Source{}))
				}
			}
		})
	}
}

func TestParseDialect(t *testing.T) {
	for _, d := range Dialects() {
		for _, name := range []string{d.String(), strings.ToLower(d.String()), strings.ToUpper(d.String())} {
			if got, err := ParseDialect(name); err != nil || got != d {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		text, _ := d.MarshalText()
		var back Dialect
		if err := back.UnmarshalText(text); err != nil || back != d {
			t.Errorf("%s: %v, %v", text, back, err)
		}
	}
	for year, want := range map[string]Dialect{"9309": RFC9309, "1994": Original1994, "1997": Draft1997, "1996": Revisited1996} {
		if got, err := ParseDialect(year); err != nil || got != want {
			t.Errorf("%s: %v, %v", year, got, err)
		}
	}
	for _, bad := range []string{"", "google", "199", "RFC 9309"} {
		if d, err := ParseDialect(bad); err == nil {
			t.Errorf("%q: %v", bad, d)
		}
	}
	if got := Dialect(200).String(); got != "Dialect(200)" {
		t.Error(got)
	}
}

// TestDisagree reads a file that each older standard interprets differently.
func TestDisagree(t *testing.T) {
	const file = "User-agent: *\nDisallow: /\nAllow: /x\n"
	got := Parse([]byte(file)).Disagree("a", "/x")
	want := []Dialect{Original1994, Draft1997, Revisited1996, Strictest}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v", got)
		}
	}
	if got := Parse([]byte(file)).Disagree("a", "/y"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := Parse([]byte(file), WithDialect(Original1994)).Disagree("a", "/x"); len(got) != 1 || got[0] != RFC9309 {
		t.Errorf("%v", got)
	}
}
