package export

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/sink"
)

// HostGraph returns the kind hostgraph: the links between hosts, in a directory with vertices.txt.gz and edges.txt.gz in the
// format of Common Crawl's host graphs, and the same graph as graph.graphml.gz. A vertex is a host, without its port, that was
// visited or that a page links to; links within a host are not edges. A job whose links cannot be read is refused.
func HostGraph() Kind {
	return Kind{
		Name: "hostgraph", Doc: "which host links to which: files as of Common Crawl, and GraphML", Suffix: "-hostgraph", Dir: true,
		Write: func(x *Export) error { return writeGraph(x, true) },
	}
}

// PageGraph returns the kind pagegraph: the links between URLs, in the format of [HostGraph]. A vertex is a URL that was visited
// or that a page links to; a redirect is an edge, too.
func PageGraph() Kind {
	return Kind{
		Name: "pagegraph", Doc: "which page links to which, in the same form", Suffix: "-pagegraph", Dir: true,
		Write: func(x *Export) error { return writeGraph(x, false) },
	}
}

// sortMemory limits the memory of each sorter in bytes: five of them are in use at the same time.
var sortMemory = 16 << 20

// graph is a graph that is being written. Sorted files replace names by numbers; until then hashes stand for names. The hashes
// depend on random seeds, so that a site cannot construct a collision.
type graph struct {
	x     *Export
	hosts bool
	seeds [2]maphash.Seed
	seen  [][2]uint64 // hashes of recently added names
	names *extsort.Sorter
	ids   *extsort.Sorter
	edges *extsort.Sorter
	out   graphFiles
	steps int // steps of the work on sorted files, for progress
}

func writeGraph(x *Export, hosts bool) (err error) {
	if err := x.checkLinks(); err != nil {
		return err
	}
	g := &graph{x: x, hosts: hosts, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, seen: make([][2]uint64, 1<<17)}
	g.names, g.ids, g.edges = g.sorter(), g.sorter(), g.sorter()
	defer func() { err = errors.Join(err, g.names.Close(), g.ids.Close(), g.edges.Close()) }()
	if err := g.read(); err != nil {
		return err
	}
	g.seen = nil
	if err := g.out.open(x, hosts); err != nil {
		return err
	}
	err = g.vertices()
	if err == nil {
		err = g.link()
	}
	return g.out.close(err)
}

func (g *graph) sorter() *extsort.Sorter { return extsort.New(g.x.Temp, sortMemory) }

// vertex is a host or a URL.
type vertex struct {
	key     string // vertices are sorted by key; key and url together identify a vertex
	url     string // "" for hosts
	visits  uint64
	fetched uint64
	status  uint64 // pages only
	depth   uint64 // pages only
	outcome string // pages only
}

// name returns the text that identifies a vertex in its graph: its URL, or the reversed host.
func (v *vertex) name() string {
	if v.url == "" {
		return v.key
	}
	return v.url
}

// vertex returns a vertex for a URL that was not visited, and its hash; false if url has no host.
func (g *graph) vertex(url string) (v vertex, hash [2]uint64, ok bool) {
	if v.key, ok = reversedHost(url); !ok {
		return v, hash, false
	}
	if !g.hosts {
		v.url = url
	}
	return v, g.hash(&v), true
}

// hash returns the hash that stands for a vertex until it has a number.
func (g *graph) hash(v *vertex) [2]uint64 {
	return [2]uint64{maphash.String(g.seeds[0], v.name()), maphash.String(g.seeds[1], v.name())}
}

// reversedHost returns the host of a URL as it was written by this module, its labels in reverse order: org.example.www.
// Addresses are left unchanged. ok is false for other text.
func reversedHost(url string) (string, bool) {
	_, rest, ok := strings.Cut(url, "://")
	if !ok || strings.ContainsFunc(url, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		rest = rest[:i]
	}
	if rest == "" {
		return "", false
	}
	if _, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		return rest, true
	}
	labels := strings.Split(strings.TrimSuffix(rest, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, "."), true
}

// read reads visits and links.
func (g *graph) read() error {
	var last string
	var from [2]uint64
	page := func(url string) (ok bool, err error) {
		if url == last {
			return true, nil
		}
		v, hash, ok := g.vertex(url)
		if !ok {
			return false, nil
		}
		last, from = strings.Clone(url), hash
		return true, g.add(&v, hash)
	}
	for v, err := range g.x.Visits() {
		if err == nil {
			err = g.visit(v)
		}
		if err == nil && v.Final != "" {
			var ok bool
			if ok, err = page(v.URL); ok && err == nil {
				err = g.edge(from, v.Final)
			}
		}
		if err != nil {
			return err
		}
	}
	return g.x.Links(func(l *sink.Outlink) error {
		ok, err := page(l.From)
		if !ok || err != nil {
			return err
		}
		return g.edge(from, l.To)
	})
}

func (g *graph) visit(r *sink.Record) error {
	v, _, ok := g.vertex(r.URL)
	if !ok {
		return nil
	}
	if v.visits, v.status, v.depth, v.outcome = 1, uint64(max(0, r.Status)), uint64(max(0, r.Depth)), r.Outcome; r.Outcome == "fetched" {
		v.fetched = 1
	}
	return g.names.Add(v.append(nil))
}

// add adds the name of a link's target, unless it was added recently.
func (g *graph) add(v *vertex, hash [2]uint64) error {
	slot := &g.seen[hash[0]%uint64(len(g.seen))]
	if *slot == hash {
		return nil
	}
	*slot = hash
	return g.names.Add(v.append(nil))
}

// edge adds a link from a vertex to a URL.
func (g *graph) edge(from [2]uint64, to string) error {
	v, hash, ok := g.vertex(to)
	if !ok {
		return nil
	}
	if err := g.add(&v, hash); err != nil || g.hosts && hash == from {
		return err
	}
	return g.edges.Add(appendHash(appendHash(nil, from), hash))
}

func appendHash(b []byte, hash [2]uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, hash[0]), hash[1])
}

// append encodes the vertex as a record. Records sort like vertices.
func (v *vertex) append(b []byte) []byte {
	b = append(append(append(append(b, v.key...), 0), v.url...), 0)
	for _, n := range []uint64{v.visits, v.fetched, v.status, v.depth} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, v.outcome...)
}

// read decodes a record that append has encoded.
func (v *vertex) read(b []byte) {
	key, rest, _ := bytes.Cut(b, []byte{0})
	url, rest, _ := bytes.Cut(rest, []byte{0})
	*v = vertex{key: string(key), url: string(url)}
	for _, n := range []*uint64{&v.visits, &v.fetched, &v.status, &v.depth} {
		value, size := binary.Uvarint(rest)
		*n, rest = value, rest[max(0, size):]
	}
	v.outcome = string(rest)
}

// merge adds the data of another record of the same vertex. If a URL was visited more than once, the last record in order counts.
func (v *vertex) merge(o *vertex) {
	v.visits, v.fetched = v.visits+o.visits, v.fetched+o.fetched
	if o.outcome != "" {
		v.status, v.depth, v.outcome = o.status, o.depth, o.outcome
	}
}

// vertices assigns a number to each name and writes the vertices.
func (g *graph) vertices() error {
	var v, next vertex
	id, some := uint64(0), false
	put := func() error {
		b := appendHash(nil, g.hash(&v))
		if err := g.ids.Add(binary.BigEndian.AppendUint64(b, id)); err != nil {
			return err
		}
		g.out.vertex(id, &v)
		id++
		return g.x.step(&g.steps)
	}
	for b, err := range g.names.All() {
		if err != nil {
			return err
		}
		if next.read(b); some && next.key == v.key && next.url == v.url {
			v.merge(&next)
			continue
		}
		if some {
			if err := put(); err != nil {
				return err
			}
		}
		v, some = next, true
	}
	if some {
		if err := put(); err != nil {
			return err
		}
	}
	return g.names.Close()
}

// link replaces the names of edges by numbers, and writes them.
func (g *graph) link() error {
	byTarget, done := g.sorter(), g.sorter()
	defer func() { _ = errors.Join(byTarget.Close(), done.Close()) }() // temporary files: an error of closing does no harm
	err := g.number(g.edges, func(id, to []byte) error {
		return byTarget.Add(append(slices.Clone(to), id...))
	})
	if err == nil {
		err = g.edges.Close()
	}
	if err == nil {
		err = g.number(byTarget, func(id, from []byte) error {
			return done.Add(append(slices.Clone(from), id...))
		})
	}
	if err == nil {
		err = byTarget.Close()
	}
	if err != nil {
		return err
	}
	return g.count(done)
}

// count writes the edges. All links between the same two vertices are one edge.
func (g *graph) count(links *extsort.Sorter) error {
	var edge [16]byte
	weight := 0
	for b, err := range links.All() {
		if err == nil {
			err = g.x.step(&g.steps)
		}
		if err != nil {
			return err
		}
		if weight > 0 && !bytes.Equal(b, edge[:]) {
			g.out.edge(edge, weight)
			weight = 0
		}
		copy(edge[:], b)
		weight++
	}
	if weight > 0 {
		g.out.edge(edge, weight)
	}
	return nil
}

const hashBytes = 16

// number calls f for each record that begins with a hash, with the number of the vertex and the bytes after the hash.
func (g *graph) number(records *extsort.Sorter, f func(id, rest []byte) error) error {
	next, stop := iter.Pull2(g.ids.All())
	defer stop()
	var at []byte
	for b, err := range records.All() {
		if err == nil {
			err = g.x.step(&g.steps)
		}
		if err != nil {
			return err
		}
		for at == nil || !bytes.Equal(at[:hashBytes], b[:hashBytes]) {
			id, err, ok := next()
			if !ok {
				return errors.New("an edge without a vertex")
			}
			if err != nil {
				return err
			}
			at = append(at[:0], id...)
		}
		if err := f(at[hashBytes:], b[hashBytes:]); err != nil {
			return err
		}
	}
	return nil
}

// graphFiles are the output files of a graph. close returns their first error.
type graphFiles struct {
	hosts   bool
	text    [2]*packed // vertices and edges
	graphml *packed
}

// packed is a compressed file.
type packed struct {
	file *output
	zip  *gzip.Writer
}

func (x *Export) pack(name string) (*packed, error) {
	o, err := x.create(filepath.Join(x.Path, name))
	if err != nil {
		return nil, err
	}
	return &packed{o, gzip.NewWriter(o)}, nil // the gzip header has no time, so that the same graph has the same bytes
}

// Write implements io.Writer.
func (p *packed) Write(b []byte) (int, error) { return p.zip.Write(b) }

func (f *graphFiles) open(x *Export, hosts bool) error {
	f.hosts = hosts
	for name, p := range map[string]**packed{"vertices.txt.gz": &f.text[0], "edges.txt.gz": &f.text[1], "graph.graphml.gz": &f.graphml} {
		var err error
		if *p, err = x.pack(name); err != nil {
			return f.close(err)
		}
	}
	_, err := io.WriteString(f.graphml, graphMLHead(hosts))
	if err != nil {
		return f.close(err)
	}
	return nil
}

// vertex writes a vertex.
func (f *graphFiles) vertex(id uint64, v *vertex) {
	_, _ = fmt.Fprintf(f.text[0], "%d\t%s\n", id, v.name())
	_, _ = f.graphml.Write(graphMLNode(id, v, f.hosts))
}

// edge writes an edge: two vertex numbers, and the number of links.
func (f *graphFiles) edge(e [16]byte, links int) {
	from, to := binary.BigEndian.Uint64(e[:8]), binary.BigEndian.Uint64(e[8:])
	_, _ = fmt.Fprintf(f.text[1], "%d\t%d\n", from, to)
	_, _ = fmt.Fprintf(f.graphml, `<edge source="%d" target="%d"><data key="links">%d</data></edge>`+"\n", from, to, links)
}

// close closes the files. After an error it does not complete them.
func (f *graphFiles) close(err error) error {
	if err == nil {
		_, err = io.WriteString(f.graphml, graphMLFoot)
	}
	for _, p := range []*packed{f.text[0], f.text[1], f.graphml} {
		if p == nil {
			continue
		}
		if err == nil {
			err = p.zip.Close() // a gzip.Writer keeps the first error
		}
		err = p.file.finish(err)
	}
	return err
}

// graphMLHead returns the beginning of a GraphML file, up to the vertices.
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
		_ = xml.EscapeText(&b, []byte(value)) // a bytes.Buffer never fails
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

// forward is the inverse of reversedHost.
func forward(key string) string {
	if host, ok := reversedHost("http://" + strings.TrimSuffix(key, ".") + "/"); ok {
		return host
	}
	return key
}
