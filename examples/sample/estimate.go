package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// counted has the number of pages of each host, by the URL of the host's home page.
type counted map[string]int

// counting is a sink that counts pages.
type counting struct {
	sink.Base
	pages counted
}

// Append counts a page.
func (c counting) Append(_ context.Context, r *sink.Record) error {
	if r.Outcome != "fetched" || r.Status >= 400 {
		return nil
	}
	u, err := weburl.Parse(r.URL)
	if err == nil {
		u, err = u.Resolve("/")
	}
	if err == nil {
		c.pages[u.String()]++
	}
	return err
}

// Sync does nothing: counts are only in memory.
func (counting) Sync(_ context.Context) (int64, error) { return 0, nil }

// Restore does nothing: a run is not resumed.
func (counting) Restore(context.Context, int64) error { return nil }

// Close does nothing.
func (counting) Close(_ context.Context) error { return nil }

// estimate is the estimated total of a group of the population, or of all of it.
type estimate struct {
	group       string
	size, drawn int     // numbers of hosts
	total       float64 // estimated total
	variance    float64 // variance of total; NaN if only one host of several was drawn
}

// estimates estimates the sum of value over the population. Each host that was drawn stands for 1/Probability hosts (Horvitz and Thompson).
// The error is computed from the differences between hosts of a group, and from the number of hosts that were not drawn (Cochran, Sampling
// Techniques, 5.4). The last element is the estimate for the whole population.
func estimates(all []drawn, value func(url string) float64) []estimate {
	var list []estimate
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Group == all[from].Group {
			to++
		}
		list = append(list, estimateOf(all[from:to], value))
		from = to
	}
	sum := estimate{group: "all"}
	for _, e := range list {
		sum.size, sum.drawn, sum.total, sum.variance = sum.size+e.size, sum.drawn+e.drawn, sum.total+e.total, sum.variance+e.variance
	}
	return append(list, sum)
}

// estimateOf estimates the total of one group.
func estimateOf(hosts []drawn, value func(url string) float64) estimate {
	e := estimate{group: hosts[0].Group, size: len(hosts)}
	var sum, squares float64
	for _, h := range hosts {
		if h.Drawn {
			y := value(h.URL)
			e.drawn, sum, squares, e.total = e.drawn+1, sum+y, squares+y*y, e.total+y/h.Probability
		}
	}
	n, N := float64(e.drawn), float64(e.size)
	if e.drawn < e.size { // otherwise the whole group was drawn
		s2 := max(0, squares-sum*sum/n) / (n - 1)
		e.variance = N * N * (1 - n/N) * s2 / n
	}
	return e
}

// write prints the estimate with its error: 1.96 standard errors to each side. If enough hosts were drawn, this range contains the true
// total in 95 of 100 samples.
func (e *estimate) write(w io.Writer) {
	plus := fmt.Sprintf("± %.1f", 1.96*math.Sqrt(e.variance))
	switch {
	case math.IsNaN(e.variance):
		plus = "± unknown: draw two or more"
	case e.variance == 0 && e.drawn == e.size:
		plus = "exactly: all were drawn"
	}
	fmt.Fprintf(w, "%s\t%d of %d\t%.1f\t%s\n", e.group, e.drawn, e.size, e.total, plus)
}

// tell prints the estimates for the population.
func tell(w io.Writer, all []drawn, pages counted) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, q := range []struct {
		what string
		of   func(url string) float64
	}{
		{"hosts that gave a page", func(url string) float64 { return float64(min(1, pages[url])) }},
		{"pages within the bound", func(url string) float64 { return float64(pages[url]) }},
	} {
		fmt.Fprintf(t, "group\tdrawn\t%s\terror (95 %%)\n", q.what)
		for _, e := range estimates(all, q.of) {
			e.write(t)
		}
	}
	_ = t.Flush() // an error of the terminal is ignored
}
