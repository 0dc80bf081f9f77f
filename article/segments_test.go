package article

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/article/language"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/schema"
	"github.com/amble-crawler/amble/weburl"
)

// The quality on pages in several languages is measured on the comparison of go-trafilatura (Apache licence), which is no part of
// this repository: its scripts/comparison/data.go names for each page texts that must be in the main text and texts that must not be.
var segmentsDir = flag.String("segments", "", "directory of go-trafilatura, with scripts/comparison and test-files")

// segmentedPages reads the pages that have a file, in the order of their addresses.
func segmentedPages(t testing.TB) (all []*sample) {
	if *segmentsDir == "" {
		t.Skip("needs -segments DIR")
	}
	source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(*segmentsDir, "scripts", "comparison", "data.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(source, func(n ast.Node) bool {
		entry, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		values, composite := entry.Value.(*ast.CompositeLit)
		if !composite {
			return true
		}
		fields := map[string][]string{}
		for _, e := range values.Elts {
			if field, ok := e.(*ast.KeyValueExpr); ok {
				fields[field.Key.(*ast.Ident).Name] = literals(t, field.Value)
			}
		}
		address := literals(t, entry.Key)[0]
		u, err := url.ParseRequestURI(address)
		if err != nil {
			return false // as in go-trafilatura's comparison
		}
		if _, err := weburl.Parse(address); err != nil {
			address = ""
		}
		s := &sample{id: fields["File"][0], address: address, host: strings.TrimPrefix(u.Hostname(), "www."), with: fields["With"], without: fields["Without"]}
		for _, dir := range []string{"comparison", "mock"} {
			if raw, err := os.ReadFile(filepath.Join(*segmentsDir, "test-files", dir, s.id)); err == nil {
				s.body = decoded(t, raw)
				all = append(all, s)
				break
			}
		}
		return false
	})
	slices.SortFunc(all, func(a, b *sample) int { return strings.Compare(a.address, b.address) })
	return all
}

// literals returns the texts in an expression.
func literals(t testing.TB, e ast.Expr) (list []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		return true
	})
	return list
}

// tally counts named texts over all pages as go-trafilatura's comparison does: true and false positives and negatives.
type tally struct{ tp, fn, fp, tn int }

func (c *tally) count(s *sample, text string) {
	for _, want := range s.with {
		if strings.Contains(text, want) {
			c.tp++
		} else {
			c.fn++
		}
	}
	for _, bad := range s.without {
		if strings.Contains(text, bad) {
			c.fp++
		} else {
			c.tn++
		}
	}
}

func (c *tally) f() float64 { return 2 * float64(c.tp) / float64(2*c.tp+c.fp+c.fn) }

func (c *tally) String() string {
	tp, fn, fp, tn := float64(c.tp), float64(c.fn), float64(c.fp), float64(c.tn)
	return fmt.Sprintf("precision %.3f, recall %.3f, accuracy %.3f, F %.4f", tp/(tp+fp), tp/(tp+fn), (tp+tn)/(tp+tn+fp+fn), c.f())
}

// half returns the half that a page belongs to, by its host. Rules are derived only from failures in half 0.
func (s *sample) half() int {
	h := fnv.New32a()
	h.Write([]byte(s.host))
	return int(h.Sum32() >> 16 & 1)
}

// TestSegments measures the texts of pages in several languages. Pages that cannot be read do not count, as in go-trafilatura's comparison.
func TestSegments(t *testing.T) {
	all := segmentedPages(t)
	var total tally
	var halves [2]tally
	pages, languages := map[string]int{}, map[string]*tally{}
	for _, s := range all {
		a, err := Read(s.body, s.address)
		if err != nil {
			t.Log(s.id, err)
			continue
		}
		text := a.Text()
		l := language.Detect(strings.Join(s.with, " ") + " " + text).Tag
		if languages[l] == nil {
			languages[l] = &tally{}
		}
		pages[l]++
		languages[l].count(s, text)
		halves[s.half()].count(s, text)
		total.count(s, text)
	}
	for _, l := range slices.SortedFunc(maps.Keys(pages), func(a, b string) int { return cmp.Or(pages[b]-pages[a], strings.Compare(a, b)) }) {
		t.Logf("%3d pages in %s: %v", pages[l], l, languages[l])
	}
	t.Logf("half A: %v", &halves[0])
	t.Logf("half B: %v", &halves[1])
	t.Logf("%d pages: %v", len(all), &total)
}

// segmentWeight is the weight of a named text; the text of a whole article weighs 1.
const segmentWeight = 0.05

// markSegments gives the label 1 to the longest block with a text that must be in the main text, and 0 to those with a text that must not
// be there. Other blocks have no weight.
func (s *sample) markSegments() {
	n := len(s.page.blocks)
	s.label, s.weight = make([]float32, n), make([]float32, n)
	contents := make([]string, n)
	for i := range contents {
		contents[i] = collapsed(s.page.blocks[i].content())
		s.inner = append(s.inner, s.page.features(nil, i))
	}
	for _, want := range s.with {
		longest := -1
		for i, c := range contents {
			if strings.Contains(c, collapsed(want)) && (longest < 0 || len(c) > len(contents[longest])) {
				longest = i
			}
		}
		if longest >= 0 {
			s.label[longest] = 1
			s.weight[longest] += segmentWeight
		}
	}
	for _, bad := range s.without {
		for i, c := range contents {
			if s.label[i] == 0 && strings.Contains(c, collapsed(bad)) {
				s.weight[i] += segmentWeight
			}
		}
	}
	for i := range s.weight {
		if s.page.demoted[s.page.blocks[i].box]&saysComment != 0 {
			s.weight[i] = 0 // a comment is never chosen
		}
	}
}

func collapsed(s string) string { return strings.Join(strings.Fields(s), " ") }

// textBy returns the text that a model chooses with the given threshold.
func (s *sample) textBy(m *model, bar float32) string {
	tree, err := extract.Tree(s.body)
	if err != nil {
		return ""
	}
	p := newPage(tree, schema.Read(tree, s.address))
	score := p.judge(m)
	for i := range score {
		score[i] -= bar
	}
	a := Article{Tree: p.cut(tree, p.chooseBy(score))}
	return a.Text()
}

// TestHalves learns from half 0 and from all pages with whole texts, and measures half 1.
func TestHalves(t *testing.T) {
	segmentedPages(t)
	var known, rest []*sample
	for _, s := range prepared(t) {
		if s.truth == "" && s.half() == 1 {
			rest = append(rest, s)
		} else {
			known = append(known, s)
		}
	}
	m := learnStages(append(known, ownPages(t)...))
	for _, bar := range bars {
		var c tally
		for _, s := range rest {
			c.count(s, s.textBy(m, bar))
		}
		t.Logf("%d pages of half B, threshold %.1f: %v", len(rest), bar, &c)
	}
}
