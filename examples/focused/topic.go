package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// topic is what the crawl looks for.
type topic []term

type term struct {
	word   string // lower case
	weight float64
}

// maxTerms is the maximum number of words of a topic: each is searched for in every word of every page.
const maxTerms = 50

func parseTopic(list string) (t topic, err error) {
	for item := range strings.SplitSeq(list, ",") {
		word, number, weighted := strings.Cut(item, "=")
		w := term{word: strings.ToLower(strings.TrimSpace(word)), weight: 1}
		if weighted {
			w.weight, err = strconv.ParseFloat(number, 64)
		}
		if err != nil || !(w.weight >= 0.1 && w.weight <= 10) {
			return nil, fmt.Errorf("-words %q: a weight must be a number from 0.1 to 10", item)
		}
		if w.word == "" || strings.IndexFunc(w.word, separates) >= 0 {
			return nil, fmt.Errorf("-words %q: a word is letters and digits", item)
		}
		t = append(t, w)
	}
	if len(t) > maxTerms {
		return nil, errors.New("-words: more than 50")
	}
	return t, nil
}

func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// count adds to n how many times each word of the topic occurs in the text.
func (t topic) count(n []int, text string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), separates) {
		for i := range t {
			if strings.HasPrefix(word, t[i].word) {
				n[i]++
			}
		}
	}
}

// present returns the sum of the weights of the words that occur in the text.
func (t topic) present(text string) (sum float64) {
	n := make([]int, len(t))
	t.count(n, text)
	for i := range t {
		if n[i] > 0 {
			sum += t[i].weight
		}
	}
	return sum
}

// Weights of the places where a word can occur.
const (
	inTitle    = 3
	inURL      = 2
	pageOfLink = 0.5 // a link's share of its page's score
)

// page returns the score of a page: its address, its title and its HTML in UTF-8.
func (t topic) page(url, title string, body []byte) float64 {
	score := inTitle*t.present(title) + inURL*t.present(url)
	n := make([]int, len(t))
	texts(body, func(s string) { t.count(n, s) })
	for i := range t {
		score += t[i].weight * math.Log2(1+float64(n[i]))
	}
	return score
}

// link returns the score of a link with this text and address, on a page with this score.
func (t topic) link(text, url string, page float64) float64 {
	return inTitle*t.present(text) + inURL*t.present(url) + pageOfLink*page
}

// texts calls f with each piece of text that a reader of the page sees, without its title.
func texts(body []byte, f func(string)) {
	z := html.NewTokenizer(bytes.NewReader(body))
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); hidden == "" && unseen(string(name)) {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if hidden == "" {
				f(string(z.Text()))
			}
		}
	}
}

func unseen(element string) bool {
	switch element {
	case "script", "style", "template", "title":
		return true
	}
	return false
}

// priority converts a score to a priority of the crawl: eighths of a doubling, so that both high and low scores are
// distinguished.
func priority(score float64) int8 {
	return int8(min(8*math.Log2(1+score), math.MaxInt8))
}
