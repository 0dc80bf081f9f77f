package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/text"
)

// searchIn holds the arguments of the tool search.
type searchIn struct {
	Job   string `json:"job" jsonschema:"a crawl: the job in the answer of crawl"`
	Query string `json:"query" jsonschema:"words; pages that have more of them, and more often, come first"`
	Limit int    `json:"limit,omitempty" jsonschema:"pages at most, 1 to 50 (10)"`
}

// searchOut is the result of the tool search.
type searchOut struct {
	Texts  int        `json:"texts" jsonschema:"pages of the crawl that have a text"`
	Found  int        `json:"found" jsonschema:"of them, pages with at least one of the words"`
	Quoted quotedHits `json:"quoted"`
}

// quotedHits holds the pages that were found.
type quotedHits struct {
	Notice string `json:"notice"`
	Hits   []hit  `json:"hits"`
}

// hit is a page that was found.
type hit struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Excerpt string  `json:"excerpt" jsonschema:"around the first of the words"`
	Score   float64 `json:"score"`
}

const (
	defaultHits = 10
	maxHits     = 50
	excerptSize = 300 // maximum bytes of an excerpt
)

// search searches the texts of a job for the words of a query. It reads the texts once, and keeps only the best hits in memory.
func (t *tools) search(_ context.Context, in searchIn) (out searchOut, err error) {
	words := fields(in.Query)
	switch {
	case len(words) == 0 || len(words) > 20:
		return out, errors.New("query: give 1 to 20 words")
	case in.Limit < 0 || in.Limit > maxHits:
		return out, fmt.Errorf("limit %d: give 1 to %d", in.Limit, maxHits)
	}
	limit := cmp.Or(in.Limit, defaultHits)
	info, err := t.Jobs.Info(in.Job)
	if err != nil {
		return out, err
	}
	r, err := job.Read(info.Dir)
	if err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	f, err := r.Open(job.TextName)
	if err != nil {
		return out, err
	}
	defer func() { _ = f.Close() }() // opened only for reading
	out.Quoted = quotedHits{Notice: quotedNotice, Hits: []hit{}}
	err = eachText(f.SectionReader, func(row *text.Row) {
		out.Texts++
		h := rate(row, words)
		if h.Score == 0 {
			return
		}
		out.Found++
		at, _ := slices.BinarySearchFunc(out.Quoted.Hits, h, func(a, b hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.URL, b.URL)) })
		if at < limit {
			out.Quoted.Hits = slices.Insert(out.Quoted.Hits, at, h)
			out.Quoted.Hits = out.Quoted.Hits[:min(limit, len(out.Quoted.Hits))]
		}
	})
	return out, err
}

// fields returns the words of a text in lower case.
func fields(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// rate scores a page by the words of the query that it contains. The score of a word grows with its frequency relative to the length of the
// text (as in BM25 with k = 1.2 and b = 0.75, if texts have 500 words on average); a word in the title adds 2.
func rate(row *text.Row, words []string) hit {
	counts, total := map[string]int{}, 0
	for _, w := range fields(row.Text) {
		total++
		counts[w]++
	}
	title := fields(row.Title)
	h := hit{URL: row.URL, Title: row.Title}
	for _, w := range words {
		n := float64(counts[w])
		h.Score += n * 2.2 / (n + 1.2*(0.25+0.75*float64(total)/500))
		if slices.Contains(title, w) {
			h.Score += 2
		}
	}
	h.Score = math.Round(h.Score*1000) / 1000
	h.Excerpt = excerpt(row.Text, words)
	return h
}

// excerpt returns the part of a text around the first occurrence of one of the words.
func excerpt(s string, words []string) string {
	low := strings.ToLower(s)
	if len(low) != len(s) { // positions in low are not positions in s
		s = low
	}
	first := len(s)
	for _, w := range words {
		if i := strings.Index(low, w); i >= 0 {
			first = min(first, i)
		}
	}
	if first == len(s) {
		first = 0
	}
	from := max(0, first-excerptSize/3)
	to := min(len(s), from+excerptSize)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	for to > from && to < len(s) && !utf8.RuneStart(s[to]) {
		to--
	}
	return strings.Join(strings.Fields(s[from:to]), " ")
}
