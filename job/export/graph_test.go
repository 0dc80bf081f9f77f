package export_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// unpacked returns the decompressed content of a gzip file.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// graphOf reads the vertices and edges of a graph, and checks that they are numbered and sorted.
func graphOf(t *testing.T, dir string) (names, edges []string) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSpace(unpacked(t, filepath.Join(dir, "vertices.txt.gz"))), "\n") {
		number, name, _ := strings.Cut(line, "\t")
		if number != fmt.Sprint(i) {
			t.Errorf("vertex %d is %q", i, line)
		}
		names = append(names, name)
	}
	var last [2]int
	for sc := bufio.NewScanner(strings.NewReader(unpacked(t, filepath.Join(dir, "edges.txt.gz")))); sc.Scan(); {
		var e [2]int
		if _, err := fmt.Sscanf(sc.Text(), "%d\t%d", &e[0], &e[1]); err != nil || e[0] >= len(names) || e[1] >= len(names) {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
		if len(edges) > 0 && slices.Compare(e[:], last[:]) <= 0 {
			t.Errorf("%v comes after %v", e, last)
		}
		last = e
		edges = append(edges, names[e[0]]+" "+names[e[1]])
	}
	return names, edges
}

// host returns the reversed name of a URL's host, computed by another parser.
func host(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	labels := strings.Split(u.Hostname(), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// The graphs have exactly the hosts and pages that occur in visits and links, whether the links come from the links file or the archive.
func TestGraphs(t *testing.T) {
	for _, archive := range []bool{false, true} {
		dir := exporttest.Job(t, archive)
		pages, links := map[string]bool{}, map[string]int{}
		for _, v := range exporttest.Visits(t, dir) {
			pages[v.URL] = true
			if v.Final != "" {
				pages[v.Final] = true
				links[v.URL+" "+v.Final]++
			}
		}
		for _, l := range readCSV(t, filepath.Join(write(t, dir, export.CSV()), "links.csv")) {
			if l["to_url"] != "" {
				pages[l["to_url"]] = true
				links[l["from_url"]+" "+l["to_url"]]++
			}
		}
		hosts, hostLinks := map[string]bool{}, map[string]int{}
		for p := range pages {
			hosts[host(t, p)] = true
		}
		for l, n := range links {
			from, to, _ := strings.Cut(l, " ")
			if from, to = host(t, from), host(t, to); from != to {
				hostLinks[from+" "+to] += n
			}
		}
		for _, c := range []struct {
			kind  export.Kind
			names map[string]bool
			links map[string]int
		}{{export.PageGraph(), pages, links}, {export.HostGraph(), hosts, hostLinks}} {
			out := write(t, dir, c.kind)
			names, edges := graphOf(t, out)
			key := func(name string) string {
				if c.kind.Name == "hostgraph" {
					return name
				}
				return host(t, name) + "\x00" + name
			}
			if !slices.IsSortedFunc(names, func(a, b string) int { return strings.Compare(key(a), key(b)) }) {
				t.Errorf("%s is not in order: %q", c.kind.Name, names)
			}
			if got, want := slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(c.names)); !slices.Equal(got, want) || len(want) < 2 {
				t.Errorf("%s: %q, want %q", c.kind.Name, got, want)
			}
			if got, want := slices.Sorted(slices.Values(edges)), slices.Sorted(maps.Keys(c.links)); !slices.Equal(got, want) || len(want) < 2 {
				t.Errorf("%s: %q, want %q", c.kind.Name, got, want)
			}
			checkGraphML(t, unpacked(t, filepath.Join(out, "graph.graphml.gz")), names, c.links)
			again := write(t, dir, c.kind)
			for _, name := range []string{"vertices.txt.gz", "edges.txt.gz", "graph.graphml.gz"} {
				one, _ := os.ReadFile(filepath.Join(out, name))
				if two, _ := os.ReadFile(filepath.Join(again, name)); !bytes.Equal(one, two) {
					t.Errorf("%s differs when it is written again", name)
				}
			}
		}
	}
}

// checkGraphML checks that a GraphML file has exactly these vertices and weights of edges.
func checkGraphML(t *testing.T, text string, names []string, links map[string]int) {
	t.Helper()
	type datum struct {
		Key   string `xml:"key,attr"`
		Value string `xml:",chardata"`
	}
	var doc struct {
		XMLName xml.Name `xml:"http://graphml.graphdrawing.org/xmlns graphml"`
		Nodes   []struct {
			ID   int     `xml:"id,attr"`
			Data []datum `xml:"data"`
		} `xml:"graph>node"`
		Edges []struct {
			Source int     `xml:"source,attr"`
			Target int     `xml:"target,attr"`
			Data   []datum `xml:"data"`
		} `xml:"graph>edge"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Nodes) != len(names) || len(doc.Edges) != len(links) {
		t.Fatalf("%d nodes and %d edges, want %d and %d", len(doc.Nodes), len(doc.Edges), len(names), len(links))
	}
	for i, n := range doc.Nodes {
		if name := n.Data[0].Value; n.ID != i || name != names[i] && host(t, "http://"+name) != names[i] {
			t.Errorf("node %d is %+v, want %s", i, n, names[i])
		}
	}
	for _, e := range doc.Edges {
		if l := names[e.Source] + " " + names[e.Target]; e.Data[0].Value != fmt.Sprint(links[l]) {
			t.Errorf("%s has %+v links, want %d", l, e.Data, links[l])
		}
	}
}

// A graph is exported correctly although links were changed to names that are markup, and to texts that are not URLs.
func TestHostileGraph(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	if err := exporttest.Large(dir, 1); err != nil {
		t.Fatal(err)
	}
	lines := ""
	for _, to := range []string{`http://a.example/?a=1&b=<script>"'`, "http://b.example/\\u0001", "http://b.example/\\u0000\\n7\\thttp://c.example/", "http://", "mailto:x", "", "http://user@d.example:8080", "http://[2001:db8::1]:81/", "http://192.0.2.1/", "http://e.example./"} {
		lines += fmt.Sprintf(`{"from":"http://a.example/","to":"%s","kind":"anchor","fate":"follow"}`, strings.ReplaceAll(to, `"`, `\"`)) + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, job.LinksName), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	hosts, edges := graphOf(t, write(t, dir, export.HostGraph()))
	if want := []string{"192.0.2.1", "[2001:db8::1]", "example.a", "example.d", "example.e", "example.site-0.www"}; !slices.Equal(hosts, want) || len(edges) != 4 {
		t.Errorf("%q, want %q; %q", hosts, want, edges)
	}
	out := write(t, dir, export.PageGraph())
	if pages, _ := graphOf(t, out); len(pages) != 7 {
		t.Errorf("%q", pages)
	}
	if text := unpacked(t, filepath.Join(out, "graph.graphml.gz")); !strings.Contains(text, "http://a.example/?a=1&amp;b=&lt;script&gt;") || xml.Unmarshal([]byte(text), new(struct{})) != nil {
		t.Error(text)
	}
}

// Without links, no graph is made and no file is left.
func TestGraphWithoutLinks(t *testing.T) {
	dir := exporttest.Job(t, false)
	if err := os.Remove(filepath.Join(dir, job.LinksName)); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	_, err := exported(t, dir, export.HostGraph(), filepath.Join(parent, "graph"))
	if left, _ := os.ReadDir(parent); err == nil || !strings.Contains(err.Error(), "neither its links nor an archive") || len(left) > 0 {
		t.Errorf("%v; left %v", err, left)
	}
}

// A graph whose names do not fit into the memory for sorting equals one that the test counts in memory.
func TestLargeGraph(t *testing.T) {
	const visits, each = 4000, 10
	dir := filepath.Join(t.TempDir(), "job")
	if err := exporttest.Large(dir, visits); err != nil {
		t.Fatal(err)
	}
	if err := exporttest.LargeLinks(dir, visits, each); err != nil {
		t.Fatal(err)
	}
	export.SortIn(t, 64<<10)
	names, edges := graphOf(t, write(t, dir, export.PageGraph()))
	pages, links := map[string]bool{}, map[string]bool{}
	b, err := os.ReadFile(filepath.Join(dir, job.LinksName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		words := strings.Split(line, `"`)
		pages[words[3]], pages[words[7]], links[words[3]+" "+words[7]] = true, true, true
	}
	if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(pages))) {
		t.Errorf("%d pages, want %d", len(names), len(pages))
	}
	if !slices.Equal(slices.Sorted(slices.Values(edges)), slices.Sorted(maps.Keys(links))) {
		t.Errorf("%d edges, want %d", len(edges), len(links))
	}
}
