package main

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
)

// pattern is a rule of --include, --exclude or the key rules, with its place among all of them.
type pattern struct {
	text string // a regular expression; with rules, behind "include " or "exclude "
	rank int    // ascending: the later, the stronger
}

// patterns collects the occurrences of one flag.
type patterns []pattern

// Decode implements kong.MapperValue. On the command line, the number of arguments left tells in
// which order --include and --exclude came. What comes from under the command line is weaker than
// all of it.
func (p *patterns) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("regular expression")
	if err != nil {
		return err
	}
	texts, rank := []string{fmt.Sprint(t.Value)}, -ctx.Scan.Len()
	if lower, ok := t.Value.(below); ok {
		texts, rank = lower, math.MinInt
	}
	for _, text := range texts {
		if _, err := scopeRule(ctx.Value.Name, text); err != nil {
			return err
		}
		*p = append(*p, pattern{text, rank})
	}
	return nil
}

// scopeRule is the rule that the flag with this name means by text.
func scopeRule(flag, text string) (crawler.ScopeRule, error) {
	kind, re := flag, text
	if flag == "rules" {
		kind, re, _ = strings.Cut(text, " ")
	}
	if kind != "include" && kind != "exclude" {
		return crawler.ScopeRule{}, fmt.Errorf("%q: want include RE or exclude RE", text)
	}
	if _, err := regexp.Compile(re); err != nil {
		return crawler.ScopeRule{}, fmt.Errorf("%q is no regular expression: %w", re, err)
	}
	return crawler.ScopeRule{Exclude: kind == "exclude", Pattern: re}, nil
}

// ordered brings rules, includes and excludes back into the order they were given in.
func (f *scopeFlags) ordered() []crawler.ScopeRule {
	type ranked struct {
		crawler.ScopeRule
		rank int
	}
	var all []ranked
	for _, g := range []struct {
		flag string
		list patterns
	}{{"rules", f.Rules}, {"include", f.Include}, {"exclude", f.Exclude}} {
		for _, p := range g.list {
			r, _ := scopeRule(g.flag, p.text) // was checked when it was read
			all = append(all, ranked{r, p.rank})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	rules := make([]crawler.ScopeRule, len(all))
	for i := range all {
		rules[i] = all[i].ScopeRule
	}
	return rules
}
