package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// table writes the nodes with the most links to them.
func table(w io.Writer, g *graph, rows int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "in\tout\tdepth\tstatus\tstate\t  URL")
	order := g.ranked()
	for _, i := range order[:min(rows, len(order))] {
		n := &g.nodes[i]
		status := "-"
		if n.status > 0 {
			status = fmt.Sprint(n.status)
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t  %s\n", n.in, n.out, n.depth, status, n.state, n.url)
	}
	return t.Flush()
}
