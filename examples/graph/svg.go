package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/amble-crawler/amble/crawler"
)

const (
	side     = 1200
	labelled = 25 // maximum number of nodes with a label
)

const svgHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 1200" font-family="sans-serif" font-size="11">
<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L6 3L0 6z" fill="#999"/></marker></defs>
<rect width="1200" height="1200" fill="#fff"/>
`

// picture draws at most most nodes, those with the most edges, and the edges between them.
func picture(w io.Writer, g *graph, most int) error {
	show := g.busiest(most)
	place := make(map[int]int, len(show)) // position of each node in show
	depths := make([]int, len(show))
	for i, n := range show {
		place[n], depths[i] = i, g.nodes[n].depth
	}
	drawn, pairs := g.between(place)
	at := layout(depths, pairs)
	fit(at, side, 60)
	b := bufio.NewWriter(w) // bufio.Writer keeps the first error for Flush
	fmt.Fprint(b, svgHead)
	for i, e := range drawn {
		arrow(b, e, at[pairs[i][0]], at[pairs[i][1]], radius(&g.nodes[e.to]))
	}
	for i, n := range show {
		circle(b, &g.nodes[n], at[i], i < labelled)
	}
	fmt.Fprint(b, "</svg>\n")
	return b.Flush()
}

// busiest returns the nodes with the most edges, most edges first.
func (g *graph) busiest(most int) []int {
	order := g.ranked()
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(g.nodes[j].in+g.nodes[j].out, g.nodes[i].in+g.nodes[i].out)
	})
	return order[:min(most, len(order))]
}

// between returns the edges between the nodes in place, and the two places that each edge joins.
func (g *graph) between(place map[int]int) (edges []edge, pairs [][2]int) {
	for _, e := range g.sortedEdges() {
		from, shown := place[e.from]
		to, also := place[e.to]
		if shown && also {
			edges, pairs = append(edges, e), append(pairs, [2]int{from, to})
		}
	}
	return edges, pairs
}

// radius returns the radius of a node, which grows with the number of links to it.
func radius(n *node) float64 { return 4 + 3*math.Log2(1+float64(n.in)) }

// arrow draws an edge up to the border of its target node.
func arrow(w io.Writer, e edge, from, to point, rim float64) {
	length := max(math.Hypot(to.x-from.x, to.y-from.y), nearest)
	cut := max(0, 1-rim/length)
	dash := ""
	if e.redirect {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#999" stroke-opacity="0.5"%s marker-end="url(#tip)"/>`+"\n",
		from.x, from.y, from.x+(to.x-from.x)*cut, from.y+(to.y-from.y)*cut, dash)
}

// circle draws a node as a link to its page, with its URL as the tooltip.
func circle(w io.Writer, n *node, p point, label bool) {
	url := escape(n.url)
	fmt.Fprintf(w, `<a href="%s"><circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="#fff"><title>%s (%s, in %d, out %d)</title></circle>`,
		url, p.x, p.y, radius(n), colour(n), url, n.state, n.in, n.out)
	if label {
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, p.x, p.y-radius(n)-3, escape(shorten(name(n))))
	}
	fmt.Fprint(w, "</a>\n")
}

// name returns a page's title, or its address if it has none.
func name(n *node) string { return cmp.Or(n.title, n.url) }

// shorten cuts text so that it fits beside the neighbours.
func shorten(s string) string {
	const most = 32
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// colour returns the colour for the outcome of the visit.
func colour(n *node) string {
	switch {
	case n.state == string(crawler.Fetched) && n.status < 400:
		return "#2b7bba"
	case n.state == string(crawler.Fetched), n.state == string(crawler.Failed):
		return "#c0392b"
	case n.state == string(crawler.Redirected):
		return "#8e6bbf"
	case n.state == stateExternal:
		return "#3a9d5d"
	}
	return "#aaaaaa"
}
