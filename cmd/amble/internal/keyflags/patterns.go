package keyflags

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// ruleFlags lists the flags for scope rules, in ascending order of precedence.
var ruleFlags = []string{"accept", "rules", "include", "exclude"}

// isRule reports whether a flag is for scope rules.
func isRule(flag string) bool { return slices.Contains(ruleFlags, flag) }

// pattern is a rule of --include, --exclude or the key rules, with its rank among all rules.
type pattern struct {
	text string // a regular expression after "include " or "exclude "
	rank int    // rules with a higher rank take precedence
}

// patterns has the rules that one flag gives.
type patterns []pattern

// Decode implements kong.MapperValue. On the command line, the number of remaining arguments gives the rank of a rule among --include and
// --exclude. Values from other origins have a lower rank. Values of --accept have the lowest: they decide only if no other rule matches.
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
	case patterns, Words, wordList, optionalWords:
		return true
	}
	return false
}

// ordered merges lists of rules and sorts the rules by rank.
func ordered(lists []patterns) (rules []string) {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b pattern) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range all {
		rules = append(rules, p.text)
	}
	return rules
}
