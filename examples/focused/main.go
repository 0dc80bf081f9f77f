// Command focused crawls for a topic: it requests the most promising pages for the given words first, and prints the best pages found.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract/css"
)

// topic has the words of the crawl's topic in lower case, with their weights.
type topic map[string]float64

func parseTopic(list string) (topic, error) {
	t := topic{}
	for item := range strings.SplitSeq(strings.ToLower(list), ",") {
		word, number, weighted := strings.Cut(item, "=")
		weight, err := strconv.ParseFloat(number, 64)
		if !weighted {
			weight, err = 1, nil
		}
		if err != nil || !(weight >= 0.1 && weight <= 10) || word == "" || strings.IndexFunc(word, separates) >= 0 {
			return nil, fmt.Errorf("-words %q: want a word of letters and digits, perhaps with =WEIGHT from 0.1 to 10", item)
		}
		t[word] = weight
	}
	return t, nil
}

func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// in returns a score for a text: the sum, over the words of the topic, of the word's weight times worth(its frequency in the text).
func (t topic) in(text string, worth func(n float64) float64) (sum float64) {
	count := map[string]float64{}
	for found := range strings.FieldsFuncSeq(strings.ToLower(text), separates) {
		for word := range t {
			if strings.HasPrefix(found, word) {
				count[word]++
			}
		}
	}
	for word, n := range count {
		sum += t[word] * worth(n)
	}
	return sum
}

func once(float64) float64    { return 1 }
func often(n float64) float64 { return math.Log2(1 + n) }

// promise returns the score of a link, for Config.Score: a score for the words in its text and URL, plus half the score of its page.
func (t topic) promise(v *crawler.Visit, l *crawler.Link) float64 {
	return t.in(l.Text, once) + t.in(l.URL.PathQuery(), once) + v.Score/2
}

// page is a page that was found.
type page struct {
	score      float64
	url, title string
}

var body = css.MustCompile("body")

// score returns a visited page with its score; nothing if the page has no word of the topic.
func (t topic) score(_ context.Context, v *crawler.Visit) ([]page, error) {
	tree, err := v.Tree()
	if err != nil || tree == nil || v.Directives.NoIndex {
		return nil, err
	}
	score := 3*t.in(v.Doc.Title, once) + 2*t.in(v.URL.PathQuery(), once) + t.in(css.Text(tree, body), often)
	if score == 0 {
		return nil, nil
	}
	return []page{{score, v.URL.String(), strings.Clone(v.Doc.Title)}}, nil
}

// run is the program. cfg is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout io.Writer, cfg crawler.Config) error {
	flags := flag.NewFlagSet("focused", flag.ContinueOnError)
	flags.StringVar(&cfg.Contact, "contact", "", "`URL or mail address` at which site owners reach you")
	words := flags.String("words", "", "the topic: `words` separated by commas, each perhaps with =WEIGHT; solar also stands for solarium")
	flags.Int64Var((*int64)(&cfg.Limits.Pages), "max-pages", 200, "pages fetched at most")
	top := flags.Uint("top", 20, "pages printed")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	t, err := parseTopic(*words)
	if err != nil {
		return err
	}
	cfg.Limits.Depth, cfg.Score, cfg.BestFirst = 10, t.promise, true
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	var pages []page
	for p, err := range crawler.Collect(ctx, c, t.score, flags.Args()...) {
		if failed := (*crawler.VisitError)(nil); err != nil && !errors.As(err, &failed) {
			return err
		} else if err == nil {
			pages = append(pages, p)
		}
	}
	slices.SortFunc(pages, func(x, y page) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.url, y.url)) })
	for _, p := range pages[:min(len(pages), int(*top))] {
		fmt.Fprintf(stdout, "%.1f\t%s\t%q\n", p.score, p.url, p.title)
	}
	if len(pages) == 0 {
		err = errors.New("no page has a word of the topic")
	}
	return err
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, crawler.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, "focused:", err)
		os.Exit(1)
	}
}
