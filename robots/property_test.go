package robots

import (
	"strings"
	"testing"
)

// TestVerdictsEqualTheReference compares every dialect with the slow reference parser, on generated files.
func TestVerdictsEqualTheReference(t *testing.T) {
	files := 4_000
	if testing.Short() {
		files = 500
	}
	for seed := range files {
		g := newGen(uint64(seed))
		body, agent := g.file(), g.agent()
		paths := make([]string, 6)
		for i := range paths {
			paths[i] = g.question(body)
		}
		compareWithReference(t, body, agent, paths)
	}
}

// compareWithReference fails the test if any dialect's verdict on any path differs from the reference.
func compareWithReference(t *testing.T, body, agent string, paths []string) {
	t.Helper()
	rules := Parse([]byte(body))
	lines := refLines(strings.TrimPrefix(body, "\ufeff"))
	for _, d := range Dialects() {
		group, judge := rules.In(d).For(agent), refJudge(d, body, agent)
		for _, path := range paths {
			v := group.Test(path)
			if want := judge(path); (refVerdict{v.Allowed, v.Line, v.RunnerUp.Line}) != want {
				t.Fatalf("%v: %s asks for %q: %s; the reference says %+v\n%q", d, agent, path, Explain(v, Source{}), want, body)
			}
			checkVerdict(t, lines, v)
		}
	}
}

// checkVerdict checks that a verdict's texts match the lines that it names.
func checkVerdict(t *testing.T, lines []string, v Verdict) {
	t.Helper()
	has := func(line int, part string) bool {
		return line >= 1 && line <= len(lines) && strings.Contains(lines[line-1], part)
	}
	at := func(line, column int, part string) bool {
		return has(line, part) && strings.HasPrefix(lines[line-1][column-1:], part)
	}
	rule := has(v.Line, v.Rule) && at(v.Line, v.Column, v.Path) && has(v.GroupLine, v.Agent) && v.GroupLine < v.Line
	other := v.RunnerUp
	runner := at(other.Line, other.Column, other.Path) && other.Allow != v.Allowed && (other.Line != v.Line || other.Path != v.Path)
	switch {
	case v.Reason == ByRule && !rule,
		v.Reason != ByRule && (v.Line != 0 || !v.Allowed),
		v.Reason == NoMatch && !has(v.GroupLine, v.Agent),
		other.Line != 0 && !runner:
		t.Fatalf("%+v\n%q", v, lines)
	}
}
