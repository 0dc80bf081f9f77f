package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// graphOf runs the program on w and returns its exit code and what it printed.
func graphOf(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-graph", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

func TestTable(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		code, out, errs := graphOf(t.Context(), w, "https://site.example/")
		want := `  in  out  depth  status       state  URL
   3    4      0     200     fetched  https://site.example/
   2    1      2     200     fetched  https://site.example/~c
   1    3      1     200     fetched  https://site.example/a
   1    2      1     200     fetched  https://site.example/target
   1    1      1     302  redirected  https://site.example/moved
   1    0      2       -   unvisited  https://site.example/b
   1    0      1     404     fetched  https://site.example/gone
   1    0      1       -     refused  https://site.example/private
`
		got := strings.ReplaceAll(out, "/%7Ec", "/~c")
		if code != 0 || got != want || errs != "8 nodes, 11 edges\n" {
			t.Errorf("exit %d, said %s, wrote\n%s", code, errs, out)
		}
		if other := w.Visited("other.example"); len(other) > 0 {
			t.Errorf("requested %v", other)
		}
	})
}

type graphMLDoc struct {
	XMLName xml.Name `xml:"http://graphml.graphdrawing.org/xmlns graphml"`
	Nodes   []struct {
		ID   string `xml:"id,attr"`
		Data []datum
	} `xml:"graph>node"`
	Edges []struct {
		Source string  `xml:"source,attr"`
		Target string  `xml:"target,attr"`
		Data   []datum `xml:"data"`
	} `xml:"graph>edge"`
}

type datum struct {
	Key   string `xml:"key,attr"`
	Value string `xml:",chardata"`
}

func TestGraphML(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		file := filepath.Join(t.TempDir(), "site.graphml")
		graphOf(t.Context(), w, "-external", "-graphml", file, "https://site.example/")
		var doc graphMLDoc
		text := read(t, file)
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Nodes) != 9 || len(doc.Edges) != 12 {
			t.Errorf("%d nodes, %d edges, want 9 and 12", len(doc.Nodes), len(doc.Edges))
		}
		for _, want := range []string{
			`<data key="title">Home &lt;&amp; more&gt;</data>`,
			`<data key="label">https://other.example/</data><data key="title"></data><data key="state">external</data>`,
			`<data key="weight">2</data><data key="kind">link</data>`, // /a: two links from the home page
			`<data key="weight">1</data><data key="kind">redirect</data>`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
	})
}

func TestPictureShowsTheBusiest(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		file := filepath.Join(t.TempDir(), "site.svg")
		graphOf(t.Context(), w, "-svg", file, "-nodes", "3", "https://site.example/")
		text := read(t, file)
		var svg struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Nodes   []struct {
				Href  string `xml:"href,attr"`
				Label string `xml:"text"`
			} `xml:"a"`
			Lines []struct{} `xml:"line"`
		}
		if err := xml.Unmarshal([]byte(text), &svg); err != nil {
			t.Fatal(err)
		}
		if len(svg.Nodes) != 3 || svg.Nodes[0].Href != "https://site.example/" || svg.Nodes[0].Label != "Home <& more>" || len(svg.Lines) != 4 {
			t.Errorf("%+v\n%s", svg, text)
		}
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLimitsAreReported(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		code, _, errs := graphOf(t.Context(), w, "-max-pages", "1", "-max-edges", "2", "https://site.example/")
		want := "not the whole site: ended by max_pages with 4 URLs left\n3 nodes, 2 edges\n2 links left out: more edges than -max-edges\n"
		if code != 0 || errs != want {
			t.Errorf("exit %d, said %s", code, errs)
		}
	})
}

func TestInterruptedCrawlWritesWhatItSaw(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.LoadFile("testdata/site.txtar")
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		code, out, errs := graphOf(ctx, w, "https://site.example/")
		if code != 1 || !strings.Contains(errs, "ended by canceled") || !strings.Contains(out, "https://site.example/a") {
			t.Errorf("exit %d, said %s, wrote %s", code, errs, out)
		}
	})
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                                 0,
		"":                                      2,
		"https://a.example/ https://b.example/": 2,
		"-nodes 1001 https://a.example/":        2,
		"-nodes 0 https://a.example/":           2,
		"-rows -1 https://a.example/":           2,
		"-max-pages 0 https://a.example/":       2,
		"-max-edges 0 https://a.example/":       2,
		"ftp://a.example/":                      2,
		"https://a.example/":                    1, // the contact is missing
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}

// TestLayoutKeepsNeighboursTogether lays out two cliques with one edge between them: nodes of one clique must on average be nearer to each
// other than to the other clique, and no two nodes may have the same position.
func TestLayoutKeepsNeighboursTogether(t *testing.T) {
	const n = 8
	var edges [][2]int
	for i := range 2 * n {
		for j := range i {
			if i/n == j/n {
				edges = append(edges, [2]int{i, j})
			}
		}
	}
	edges = append(edges, [2]int{0, n})
	at := layout(make([]int, 2*n), edges)
	var inside, across, pairs, others float64
	for i := range at {
		for j := range i {
			d := math.Hypot(at[i].x-at[j].x, at[i].y-at[j].y)
			if math.IsNaN(d) || d < 0.05 {
				t.Errorf("nodes %d and %d are %v apart", i, j, d)
			}
			if i/n == j/n {
				inside, pairs = inside+d, pairs+1
			} else {
				across, others = across+d, others+1
			}
		}
	}
	if inside/pairs*2 > across/others {
		t.Errorf("%v apart inside of a clique, %v across", inside/pairs, across/others)
	}
	if again := layout(make([]int, 2*n), edges); !slices.Equal(at, again) {
		t.Error("the same graph has two layouts")
	}
}

func TestFitStaysInside(t *testing.T) {
	for _, at := range [][]point{{}, {{5, 5}}, {{0, 0}, {0, 0}}, {{-3, 1}, {40, 2}, {7, -9}}} {
		fit(at, 100, 10)
		for _, p := range at {
			if !(p.x >= 9.99 && p.x <= 90.01 && p.y >= 9.99 && p.y <= 90.01) {
				t.Errorf("%v is outside", p)
			}
		}
	}
}
