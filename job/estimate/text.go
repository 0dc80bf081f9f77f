package estimate

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
)

// WriteText prints the result for a person, within 80 columns unless values of groups are long.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Of about %s in the sitemaps of %s, %s were drawn.\nOf those, %s answered, which stand for %s of the pages.\n",
		cli.Nums(int(math.Round(r.Frame)), "page"), cli.Nums(r.Sites, "site"), cli.Num(r.Drawn), cli.Num(r.Answered), percent(r.Response))
	for _, s := range r.Silent {
		what := s.Outcome
		if s.Reason != "" {
			what += ", " + s.Reason
		}
		fmt.Fprintf(&b, "  no answer: %s (%s)\n", cli.Nums(s.Pages, "page"), cli.Printable(what))
	}
	for _, list := range []struct {
		sites []string
		what  string
	}{{r.LeftOut, "of which no page answered, left out"}, {r.Unlisted, "that list no page in scope"}} {
		if n := len(list.sites); n > 0 {
			shown := list.sites[:min(n, 3)]
			fmt.Fprintf(&b, "  %s %s: %s%s\n", cli.Nums(n, "site"), list.what, cli.Printable(strings.Join(shown, ", ")), cli.AndMore(n-len(shown)))
		}
	}
	r.writeTable(&b)
	if r.Share && len(r.Groups) == 1 && r.Groups[0].Bounds != nil && r.Response < 1 {
		in := r.Groups[0].Bounds
		fmt.Fprintf(&b, "If no page without an answer is such a page, the share of those drawn is\n%s, and if all are, %s.\n", percent(in.Low), percent(in.High))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable prints a line for each group, and the meaning of the columns.
func (r *Result) writeTable(b *strings.Builder) {
	mean, total := ">mean", ">total"
	if r.Share {
		mean, total = ">share", ">such pages"
	}
	table := cli.NewTable("", r.By, mean, ">in these sites", ">in all sites", total, ">in sample")
	overSites := false
	for i := range r.Groups {
		g := &r.Groups[i]
		name := "all"
		switch {
		case g.Value != nil:
			name = *g.Value
		case r.By != "":
			name = "(none)"
		}
		here, all := "-", "-"
		if g.Of != nil {
			here = r.interval(*g.Of)
		}
		if g.OfAll != nil {
			all, overSites = r.interval(*g.OfAll), true
		}
		table.Row(name, r.figure(g.Mean), here, all, number(g.Total)+" ± "+number(g.TotalOf.High-g.Total), cli.Num(g.Pages))
	}
	fmt.Fprintf(b, "\n%s\n\n%s", cli.Printable(r.Of), table)
	b.WriteString("\nAn interval holds the truth in 95 of 100 samples: of all pages that these sites\nlist")
	if overSites {
		b.WriteString(", and of all sites, if the seeds were drawn from them at random")
	}
	b.WriteString(".\n")
}

// figure formats a mean or a share.
func (r *Result) figure(v float64) string {
	if r.Share {
		return percent(v)
	}
	return number(v)
}

func (r *Result) interval(in Interval) string {
	if r.Share {
		return strings.TrimSuffix(percent(in.Low), " %") + " to " + percent(in.High)
	}
	return number(in.Low) + " to " + number(in.High)
}

// percent returns a share with one digit after the point.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

// number returns a figure with three significant digits or, from 100, rounded to a whole number.
func number(v float64) string {
	if math.Abs(v) >= 100 {
		return cli.Num(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
