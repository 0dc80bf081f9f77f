package keyflags

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// ruleFlags are the flags that scope rules come from, the weakest first.
var ruleFlags = []string{"accept", "rules", "include", "exclude"}

// isRule reports whether scope rules come from a flag.
func isRule(flag string) bool { return slices.Contains(ruleFlags, flag) }

// pattern is a rule of --include, --exclude or the key rules, with its place among all of them.
type pattern struct {
	text string // a regular expression behind "include " or "exclude "
	rank int    // ascending: the later, the stronger
}

// patterns collects the occurrences of one flag.
type patterns []pattern

// Decode implements kong.MapperValue. On the command line, the number of arguments left gives
// the order of --include and --exclude. Values from elsewhere are weaker than those of the command
// line, and those of --accept than all others: they say what an answer is that no other rule matches.
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

// ordered brings rules, includes and excludes, in lists, back into the order they were given in.
func ordered(lists []patterns) (rules []string) {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b pattern) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range all {
		rules = append(rules, p.text)
	}
	return rules
}
