package main

import (
	"cmp"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
)

// pattern is one --include or --exclude with its place on the command line.
type pattern struct {
	re   string
	left int // arguments that followed it
}

// patterns collects the occurrences of one flag.
type patterns []pattern

// Decode implements kong.MapperValue. The number of arguments left tells in which order --include
// and --exclude came.
func (p *patterns) Decode(ctx *kong.DecodeContext) error {
	var re string
	if err := ctx.Scan.PopValueInto("regular expression", &re); err != nil {
		return err
	}
	*p = append(*p, pattern{re, ctx.Scan.Len()})
	return nil
}

// MarshalYAML writes the patterns as a list of strings.
func (p patterns) MarshalYAML() (any, error) {
	res := make([]string, len(p))
	for i := range p {
		res[i] = p[i].re
	}
	return res, nil
}

// mergePatterns brings includes and excludes back into the order they were given in.
func mergePatterns(include, exclude patterns) []crawler.ScopeRule {
	type ranked struct {
		crawler.ScopeRule
		left int
	}
	var all []ranked
	for _, p := range include {
		all = append(all, ranked{crawler.ScopeRule{Pattern: p.re}, p.left})
	}
	for _, p := range exclude {
		all = append(all, ranked{crawler.ScopeRule{Pattern: p.re, Exclude: true}, p.left})
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.left, a.left) })
	rules := make([]crawler.ScopeRule, len(all))
	for i := range all {
		rules[i] = all[i].ScopeRule
	}
	return rules
}
