package article

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/amble-crawler/amble/extract"
)

// The quality of the text is measured on a directory of pages with known texts, which is no part of this repository: the
// public article extraction benchmark, or another benchmark of the same form. ground-truth.json maps ids to {"articleBody", "url"}; the
// pages are html/ID.html.gz, as they were received. With a copy of go-trafilatura in TRAFILATURA, the figures of docs/text.md are from
//
//	go test ./article -run 'Quality|Segments' -v -args -eval DIR -segments TRAFILATURA
//	go test ./article -run CrossValidation -v -args -eval DIR -segments TRAFILATURA
//	go test ./article -run none -bench Read -args -eval DIR
var (
	evalDir     = flag.String("eval", "", "directory of a benchmark: ground-truth.json and html/ID.html.gz")
	predictions = flag.String("predictions", "", "file to write the texts to, as JSON")
	modelFile   = flag.String("model", "", "file to write the learned model to")
	foldCount   = flag.Int("folds", 5, "parts of the cross-validation")
)

// sample is a page of a benchmark.
type sample struct {
	id, host, address string
	body              []byte
	truth             string   // text of the article
	with, without     []string // texts of which the main text must have all, or none
	page              *page

	label, weight []float32
	inner         [][]float32 // features of the first stage
	first         []float32
	score         []float32
}

func samples(t testing.TB) (all []*sample) {
	if *evalDir == "" {
		t.Skip("needs -eval DIR")
	}
	var truth map[string]struct{ ArticleBody, URL string }
	data, err := os.ReadFile(filepath.Join(*evalDir, "ground-truth.json"))
	if err == nil {
		err = json.Unmarshal(data, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	for id, v := range truth {
		u, err := url.Parse(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &sample{id: id, address: v.URL, host: strings.TrimPrefix(u.Host, "www."), truth: v.ArticleBody, body: unzipped(t, filepath.Join(*evalDir, "html", id+".html.gz"))})
	}
	slices.SortFunc(all, func(a, b *sample) int { return strings.Compare(a.id, b.id) })
	return all
}

// unzipped returns the page in a compressed file, in UTF-8.
func unzipped(t testing.TB, name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, raw)
}

// decoded returns a page converted to UTF-8.
func decoded(t testing.TB, raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	e, name, _ := charset.DetermineEncoding(raw[:min(len(raw), 1024)], "")
	if name == "utf-8" {
		return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	body, err := e.NewDecoder().Bytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestQuality measures the texts as the benchmark does: by multisets of runs of four words; precision and recall are averaged over the
// pages, and F1 is computed from the averages.
func TestQuality(t *testing.T) {
	all := samples(t)
	texts := map[string]string{}
	var bytes int
	var took time.Duration
	for _, s := range all {
		began := time.Now()
		a, err := Read(s.body, s.address)
		if err != nil {
			t.Fatal(s.id, err)
		}
		texts[s.id] = a.Text()
		took += time.Since(began)
		bytes += len(s.body)
	}
	f, precision, recall := measure(all, func(s *sample) string { return texts[s.id] })
	t.Logf("%d pages: F1 %.4f, precision %.4f, recall %.4f; %.1f MB/s, %.0f pages/s", len(all), f, precision, recall, float64(bytes)/1e6/took.Seconds(), float64(len(all))/took.Seconds())
	if *predictions != "" {
		out, err := json.Marshal(texts)
		if err == nil {
			err = os.WriteFile(*predictions, out, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkRead reads all pages of a benchmark once in each round.
func BenchmarkRead(b *testing.B) {
	all, size := samples(b), 0
	for _, s := range all {
		size += len(s.body)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, s := range all {
			if _, err := Read(s.body, s.address); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// shinglesOf returns the runs of four words in a text.
func shinglesOf(text string) map[string]int {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !isWord(r) })
	m := map[string]int{}
	for i := range max(min(1, len(words)), len(words)-3) {
		m[strings.Join(words[i:min(len(words), i+4)], " ")]++
	}
	return m
}

func measure(all []*sample, text func(*sample) string) (f, precision, recall float64) {
	var np, nr float64
	for _, s := range all {
		want, got := shinglesOf(s.truth), shinglesOf(text(s))
		var both, wanted, found float64
		for k, n := range want {
			both += float64(min(n, got[k]))
			wanted += float64(n)
		}
		for _, n := range got {
			found += float64(n)
		}
		if found > 0 {
			precision += both / found
			np++
		}
		if wanted > 0 {
			recall += both / wanted
			nr++
		}
	}
	precision, recall = precision/np, recall/nr
	return 2 * precision * recall / (precision + recall), precision, recall
}

// TestCrossValidation measures the texts of pages from hosts that the model was not trained on.
func TestCrossValidation(t *testing.T) {
	parts, own := folds(prepared(t), *foldCount, 1), ownPages(t)
	var articles []*sample
	segments := make([]tally, len(bars))
	for i := range parts {
		m := learnStages(append(without(parts, i), own...))
		for _, s := range parts[i] {
			if s.truth == "" {
				for k, bar := range bars {
					segments[k].count(s, s.textBy(m, bar))
				}
				continue
			}
			s.locate()
			s.score = s.page.judge(m)
			articles = append(articles, s)
		}
	}
	for k, bar := range bars {
		if len(articles) > 0 {
			f, precision, recall := measure(articles, func(s *sample) string { return s.chosen(bar) })
			t.Logf("%d pages in %d parts, threshold %.1f: F1 %.4f, precision %.4f, recall %.4f", len(articles), len(parts), bar, f, precision, recall)
		}
		if *segmentsDir != "" {
			t.Logf("segments, threshold %.1f: %v", bar, &segments[k])
		}
	}
}

// bars are the thresholds of the score to try.
var bars = []float32{-0.4, 0, 0.4}

// TestLearn learns the model from all pages.
func TestLearn(t *testing.T) {
	if *modelFile == "" {
		t.Skip("needs -model FILE")
	}
	if err := os.WriteFile(*modelFile, []byte(learnStages(append(prepared(t), ownPages(t)...)).String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// chosen returns the text of the blocks with a score above a threshold.
func (s *sample) chosen(bar float32) string {
	moved := slices.Clone(s.score)
	for i := range moved {
		moved[i] -= bar
	}
	var b strings.Builder
	for i, keep := range s.page.chooseBy(moved) {
		if keep {
			fmt.Fprintln(&b, s.page.blocks[i].content())
		}
	}
	return b.String()
}

// prepared returns the samples of both directories with labels and features.
func prepared(t testing.TB) (all []*sample) {
	if *evalDir != "" || *segmentsDir == "" {
		all = samples(t)
	}
	if *segmentsDir != "" {
		all = append(all, segmentedPages(t)...)
	}
	return prepare(t, all)
}

func prepare(t testing.TB, all []*sample) []*sample {
	for _, s := range all {
		tree, err := extract.Tree(s.body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := fromTree(tree, s.address) // only a.Data is used below
		if err != nil {
			t.Fatal(err)
		}
		if tree, err = extract.Tree(s.body); err != nil {
			t.Fatal(err)
		}
		s.page = newPage(tree, a.Data)
		if s.truth == "" {
			s.markSegments()
		} else {
			s.mark()
		}
	}
	return all
}

// mark gives each block the share of its runs of words that occur in the true text. A short block must occur there together with a
// neighbour.
func (s *sample) mark() {
	joined := func(i int, text string) string { return " " + strings.Join(wordsOf(text), " ") + " " }
	truth, total := joined(0, s.truth), float32(max(1, len(wordsOf(s.truth))))
	known, had := shinglesOf(s.truth), map[uint64]bool{}
	for i := range s.page.blocks {
		b := &s.page.blocks[i]
		w := wordsOf(b.content())
		var y float32
		switch {
		case len(w) == 0 || b.chars >= 100 && had[b.hash] || s.page.demoted[b.box]&saysComment != 0:
		case len(w) >= 4:
			mine := shinglesOf(b.content())
			in := 0
			for k := range mine {
				in += min(1, known[k])
			}
			y = ratio(in, len(mine))
		default:
			self := strings.Join(w, " ")
			if i > 0 {
				if q := wordsOf(s.page.blocks[i-1].content()); len(q) > 0 && strings.Contains(truth, " "+strings.Join(q[max(0, len(q)-3):], " ")+" "+self+" ") {
					y = 1
				}
			}
			if i+1 < len(s.page.blocks) {
				if q := wordsOf(s.page.blocks[i+1].content()); len(q) > 0 && strings.Contains(truth, " "+self+" "+strings.Join(q[:min(3, len(q))], " ")+" ") {
					y = 1
				}
			}
		}
		had[b.hash] = true
		weight := float32(len(w))/total + 0.002
		if s.page.demoted[b.box]&saysComment != 0 {
			weight = 0 // a comment is never chosen
		}
		s.label, s.weight = append(s.label, y), append(s.weight, weight)
		s.inner = append(s.inner, s.page.features(nil, i))
	}
}

// locate resets a page to its state before the first stage.
func (s *sample) locate() {
	p := s.page
	p.locate(func(i int) float32 {
		b := &p.blocks[i]
		return yes(b.prosaic() && p.demoted[b.box]&(saysComment|saysRelated) == 0 && b.in&inHidden == 0 && !b.repeats())
	})
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !isWord(r) })
}

// folds distributes the samples so that samples of one host stay together, and articles independently of other samples.
func folds(all []*sample, n int, seed uint64) [][]*sample {
	by, known, parts := map[string][]*sample{}, map[string]bool{}, make([][]*sample, n)
	for _, s := range all {
		by[s.host] = append(by[s.host], s)
	}
	for _, articles := range []bool{true, false} {
		var hosts []string
		for _, s := range all {
			if (s.truth != "") == articles && !known[s.host] {
				hosts = append(hosts, s.host)
				known[s.host] = true
			}
		}
		rng := rand.New(rand.NewPCG(seed, 7))
		rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		for i, h := range hosts {
			parts[i%n] = append(parts[i%n], by[h]...)
		}
	}
	return parts
}

func without(parts [][]*sample, i int) []*sample {
	return slices.Concat(slices.Delete(slices.Clone(parts), i, i+1)...)
}
