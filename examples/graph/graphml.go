package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

const graphMLHead = `<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="title" for="node" attr.name="title" attr.type="string"/>
<key id="state" for="node" attr.name="state" attr.type="string"/>
<key id="status" for="node" attr.name="status" attr.type="int"/>
<key id="depth" for="node" attr.name="depth" attr.type="int"/>
<key id="in" for="node" attr.name="in" attr.type="int"/>
<key id="out" for="node" attr.name="out" attr.type="int"/>
<key id="weight" for="edge" attr.name="weight" attr.type="int"/>
<key id="kind" for="edge" attr.name="kind" attr.type="string"/>
<graph id="site" edgedefault="directed">
`

// graphML writes the whole graph in the GraphML format (graphml.graphdrawing.org, GraphML Primer).
func graphML(w io.Writer, g *graph) error {
	b := bufio.NewWriter(w) // bufio.Writer keeps the first error for Flush
	fmt.Fprint(b, graphMLHead)
	for i := range g.nodes {
		n := &g.nodes[i]
		fmt.Fprintf(b, `<node id="n%d"><data key="label">%s</data><data key="title">%s</data><data key="state">%s</data>`,
			i, escape(n.url), escape(n.title), n.state)
		fmt.Fprintf(b, `<data key="status">%d</data><data key="depth">%d</data><data key="in">%d</data><data key="out">%d</data></node>`+"\n",
			n.status, n.depth, n.in, n.out)
	}
	for _, e := range g.sortedEdges() {
		kind := "link"
		if e.redirect {
			kind = "redirect"
		}
		fmt.Fprintf(b, `<edge source="n%d" target="n%d"><data key="weight">%d</data><data key="kind">%s</data></edge>`+"\n",
			e.from, e.to, g.edges[e], kind)
	}
	fmt.Fprint(b, "</graph>\n</graphml>\n")
	return b.Flush()
}

// escape converts hostile text to XML character data. Characters that XML cannot represent become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to a Builder cannot fail
	return b.String()
}
