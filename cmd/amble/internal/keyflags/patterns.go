package keyflags

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// ruleFlags are the flags for scope rules, weakest first.
var ruleFlags = []string{"accept", "rules", "include", "exclude"}

// isRule reports whether a flag is for scope rules.
func isRule(flag string) bool { return slices.Contains(ruleFlags, flag) }

// pattern is a rule of --include, --exclude or the key rules, with its rank among all rules.
type pattern struct {
	text string // a regular expression after "include " or "exclude "
	rank int    // ascending: later rules take precedence
}

// patterns collects the occurrences of one flag.
type patterns []pattern

// Decode implements kong.MapperValue. On the command line, the number of remaining arguments gives the order of --include and --exclude.
// Values from other origins have lower rank, and those of --accept the lowest: they decide about responses that no other rule matches.
func (p *patterns) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("regular expression")
	if err != nil {
		return err
	}
	texts, rank := []string{fmt.Sprint(t.Value)}, -ctx.Scan.Len()
	if lower, ok := t.Value.(below); ok {
		texts, rank = lower, math.MinInt
	}
	if ctx.Value.Name == "accept" {
		rank = math.MinInt
	}
	for _, text := range texts {
		if err := job.KeyNamed(ctx.Value.Name).Check(text); err != nil {
			return err
		}
		if ctx.Value.Name != "rules" {
			text = job.RuleOf(ctx.Value.Name, text)
		}
		*p = append(*p, pattern{text, rank})
	}
	return nil
}

// takesSeveral reports whether a flag takes a list.
func takesSeveral(flag *kong.Flag) bool {
	switch flag.Target.Interface().(type) {
	case patterns, Words, several, perhaps:
		return true
	}
	return false
}

// ordered merges rules, includes and excludes from lists in the order in which they were given.
func ordered(lists []patterns) (rules []string) {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b pattern) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range all {
		rules = append(rules, p.text)
	}
	return rules
}
