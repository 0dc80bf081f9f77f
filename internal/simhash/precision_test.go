package simhash

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// site generates a corpus of articles with the word frequencies of a language (Zipf's law). Pages share some of their
// words, like a header, menus and a footer. Each article is on several pages, each with some words replaced, like
// dates, counters and teasers.
type site struct {
	articles, versions int
	words, common      int // words per page
	replaced           int // words per version
}

func (s site) pages() (pages []string, article []int) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 20, 50_000)
	text := func(n int) []string {
		t := make([]string, n)
		for i := range t {
			t[i] = fmt.Sprintf("w%d", zipf.Uint64())
		}
		return t
	}
	common := strings.Join(text(s.common), " ")
	for a := range s.articles {
		own := text(s.words - s.common)
		for range s.versions {
			version := append([]string(nil), own...)
			for _, i := range rng.Perm(len(own))[:s.replaced] {
				version[i] = text(1)[0]
			}
			pages, article = append(pages, "<p>"+common+"<p>"+strings.Join(version, " ")), append(article, a)
		}
	}
	return pages, article
}

// fingerprints returns the fingerprints of pages.
func fingerprints(pages []string) []uint64 {
	h, all := NewHasher(), make([]uint64, len(pages))
	for i, p := range pages {
		all[i], _ = h.HTML([]byte(p))
	}
	return all
}

// judge finds similar pages like a crawl. Precision is the share of the found pages that have the same article. Recall
// is the share of an article's later versions that are found.
func judge(pages []uint64, article []int, distance int) (precision, recall float64) {
	x := NewIndex(len(pages), distance)
	found, right, later := 0, 0, 0
	known := map[int]bool{}
	for i, f := range pages {
		if near := x.Meet(fmt.Sprint(article[i]), f); near != "" {
			if found++; near == fmt.Sprint(article[i]) {
				right++
			}
		}
		if known[article[i]] {
			later++
		}
		known[article[i]] = true
	}
	precision = 1
	if found > 0 {
		precision = float64(right) / float64(found)
	}
	return precision, float64(right) / float64(later)
}

// Measures the quality of fingerprints on 900 pages of a site: 300 articles, three versions of each.
func Example_precision() {
	fmt.Println("words  common  replaced   precision, recall of distance 1     2            3")
	for _, s := range []site{
		{300, 3, 200, 0, 1}, {300, 3, 800, 0, 1}, {300, 3, 800, 0, 4}, {300, 3, 800, 0, 16}, {300, 3, 800, 0, 80},
		{300, 3, 3000, 0, 1}, {300, 3, 3000, 0, 4}, {300, 3, 3000, 0, 16},
		{300, 3, 800, 400, 1}, {300, 3, 800, 400, 4}, {300, 3, 800, 600, 4}, {300, 3, 800, 720, 4},
	} {
		pages, article := s.pages()
		prints := fingerprints(pages)
		fmt.Printf("%5d  %6d  %8d                         ", s.words, s.common, s.replaced)
		for distance := 1; distance <= MaxDistance; distance++ {
			precision, recall := judge(prints, article, distance)
			fmt.Printf("  %.2f, %.2f", precision, recall)
		}
		fmt.Println()
	}
	// Output:
	// words  common  replaced   precision, recall of distance 1     2            3
	//   200       0         1                           1.00, 0.11  1.00, 0.28  1.00, 0.47
	//   800       0         1                           1.00, 0.50  1.00, 0.76  1.00, 0.90
	//   800       0         4                           1.00, 0.11  1.00, 0.27  1.00, 0.47
	//   800       0        16                           1.00, 0.00  1.00, 0.01  1.00, 0.04
	//   800       0        80                           1.00, 0.00  1.00, 0.00  1.00, 0.00
	//  3000       0         1                           1.00, 0.81  1.00, 0.95  1.00, 0.99
	//  3000       0         4                           1.00, 0.45  1.00, 0.70  1.00, 0.86
	//  3000       0        16                           1.00, 0.11  1.00, 0.27  1.00, 0.44
	//   800     400         1                           1.00, 0.54  1.00, 0.79  1.00, 0.92
	//   800     400         4                           1.00, 0.15  1.00, 0.33  1.00, 0.54
	//   800     600         4                           1.00, 0.14  0.99, 0.33  0.95, 0.51
	//   800     720         4                           0.30, 0.10  0.22, 0.17  0.15, 0.15
}
