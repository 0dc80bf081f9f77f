package main

import (
	"cmp"
	"slices"

	"github.com/amble-crawler/amble/weburl"
)

// graph holds the known links of a site. All spellings of a URL are one node.
type graph struct {
	nodes    []node
	edges    map[edge]int // number of occurrences of each link on the page that contains the link
	index    map[weburl.Key]int
	maxEdges int
	dropped  int // number of links beyond maxEdges
}

// node is one URL or, with stateExternal, another site.
type node struct {
	url, title string
	state      string // outcome of the visit, or one of the states below
	status     int
	depth      int
	in, out    int // numbers of edges to and from the node, without links of a page to itself
}

// States of nodes that the crawl has not visited.
const (
	stateUnvisited = "unvisited"
	stateExternal  = "external"
)

// edge is a link or a redirect from one node to another.
type edge struct {
	from, to int
	redirect bool
}

func newGraph(maxEdges int) *graph {
	return &graph{edges: map[edge]int{}, index: map[weburl.Key]int{}, maxEdges: maxEdges}
}

// node returns the index of the node for u. If there is none, it creates it.
func (g *graph) node(u weburl.URL, depth int) int {
	i, known := g.index[u.Key()]
	if !known {
		i = len(g.nodes)
		g.index[u.Key()] = i
		g.nodes = append(g.nodes, node{url: u.String(), state: stateUnvisited, depth: depth})
	}
	g.nodes[i].depth = min(g.nodes[i].depth, depth)
	return i
}

// link adds an edge to u, unless u is the same page. Beyond the maximum number, it adds no edges, and no nodes to which only such edges
// would lead.
func (g *graph) link(from int, u weburl.URL, depth int, redirect bool) (to int, ok bool) {
	to, known := g.index[u.Key()]
	if known && to == from {
		return to, false
	}
	if e := (edge{from, to, redirect}); len(g.edges) >= g.maxEdges && (!known || g.edges[e] == 0) {
		g.dropped++
		return 0, false
	}
	to = g.node(u, depth)
	g.edges[edge{from, to, redirect}]++
	return to, true
}

func (g *graph) countDegrees() {
	for i := range g.nodes {
		g.nodes[i].in, g.nodes[i].out = 0, 0
	}
	for e := range g.edges {
		g.nodes[e.from].out++
		g.nodes[e.to].in++
	}
}

// sortedEdges returns the edges in an order that depends only on the graph.
func (g *graph) sortedEdges() []edge {
	list := make([]edge, 0, len(g.edges))
	for e := range g.edges {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), compareBool(a.redirect, b.redirect))
	})
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// ranked returns the indexes of the nodes, sorted by the number of links to them.
func (g *graph) ranked() []int {
	order := make([]int, len(g.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &g.nodes[i], &g.nodes[j]
		return cmp.Or(cmp.Compare(b.in, a.in), cmp.Compare(b.out, a.out), cmp.Compare(a.url, b.url))
	})
	return order
}
