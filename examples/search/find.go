package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// result is a page that was found.
type result struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Snippet string `json:"snippet"` // text around the words that were found, with these words in [brackets]
	Fetched string `json:"fetched"`
}

// find prints at most most pages that contain all words, and returns their number.
func (p program) find(ctx context.Context, dir string, words []string, most int, asJSON bool) (found int, err error) {
	match, err := expression(words)
	if err != nil {
		return 0, err
	}
	x, err := open(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	list, err := x.search(ctx, match, most)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		fmt.Fprintln(p.stderr, "nothing found")
	}
	return len(list), show(p.stdout, list, asJSON)
}

// expression returns the words in the syntax of FTS5: each is quoted, so that none is taken for an operator.
func expression(words []string) (string, error) {
	var b strings.Builder
	for _, w := range words {
		word, prefix := strings.CutSuffix(w, "*")
		if strings.IndexFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			return "", fmt.Errorf("%q: a word has a letter or a digit", w)
		}
		b.WriteString(` "` + strings.ReplaceAll(word, `"`, `""`) + `"`)
		if prefix {
			b.WriteByte('*')
		}
	}
	return b.String(), nil
}

// search returns the pages that match, best first (BM25; a word in the title counts five times).
func (x *index) search(ctx context.Context, match string, most int) (list []result, err error) {
	rows, err := x.db.QueryContext(ctx, `SELECT url, title, snippet(page, 1, '[', ']', '…', 24), fetched
		FROM page JOIN address ON address.id = page.rowid
		WHERE page MATCH ? ORDER BY bm25(page, 5.0, 1.0), url LIMIT ?`, match, most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r result
		if err := rows.Scan(&r.URL, &r.Title, &r.Snippet, &r.Fetched); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// show prints the results: numbered, or as JSON.
func show(w io.Writer, list []result, asJSON bool) error {
	e := json.NewEncoder(w)
	for i, r := range list {
		var err error
		if asJSON {
			err = e.Encode(r)
		} else {
			_, err = fmt.Fprintf(w, "%d. %s\n   %s\n   %s\n", i+1, printable(r.Title), r.URL, printable(r.Snippet))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printable returns a page's text without characters that control a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
