package export

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// graphMLHead returns what comes before the vertices of a GraphML file.
func graphMLHead(hosts bool) string {
	keys := `<key id="url" for="node" attr.name="url" attr.type="string"/>
<key id="outcome" for="node" attr.name="outcome" attr.type="string"/>
<key id="status" for="node" attr.name="status" attr.type="int"/>
<key id="depth" for="node" attr.name="depth" attr.type="int"/>
`
	if hosts {
		keys = `<key id="host" for="node" attr.name="host" attr.type="string"/>
<key id="visits" for="node" attr.name="visits" attr.type="long"/>
<key id="fetched" for="node" attr.name="fetched" attr.type="long"/>
`
	}
	return xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
` + keys + `<key id="links" for="edge" attr.name="links" attr.type="long"/>
<graph edgedefault="directed">
`
}

const graphMLFoot = "</graph>\n</graphml>\n"

// graphMLNode returns a vertex: without an outcome if it was not visited.
func graphMLNode(id uint64, v *vertex, hosts bool) []byte {
	var b bytes.Buffer
	data := func(key, value string) {
		fmt.Fprintf(&b, `<data key="%s">`, key)
		_ = xml.EscapeText(&b, []byte(value)) // a buffer takes everything
		b.WriteString("</data>")
	}
	fmt.Fprintf(&b, `<node id="%d">`, id)
	switch {
	case hosts:
		data("host", forward(v.key))
		data("visits", fmt.Sprint(v.visits))
		data("fetched", fmt.Sprint(v.fetched))
	default:
		data("url", v.url)
		if v.outcome == "" {
			break
		}
		data("outcome", v.outcome)
		if v.status > 0 {
			data("status", fmt.Sprint(v.status))
		}
		data("depth", fmt.Sprint(v.depth))
	}
	b.WriteString("</node>\n")
	return b.Bytes()
}

// forward returns the host of which reversedHost made this.
func forward(key string) string {
	if host, ok := reversedHost("http://" + strings.TrimSuffix(key, ".") + "/"); ok {
		return host
	}
	return key
}
