package text

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/internal/extsort"
	"github.com/amble-crawler/amble/weburl"
)

// A block of text that a site repeats, such as a request to subscribe or a note about the authors, is not part of the main text. A block
// is removed if it has at least repeatedWords words or repeatedBytes bytes, and is in the main text of at least repeatedPages pages of the
// host and of one page in repeatedShare. Pages with the same text count as one. Headings, tables and preformatted text stay
// (article.Article.Prune). If a page would lose more than half of its words, it keeps all of its text: it is a version of another page.
const (
	repeatedWords = 3
	repeatedBytes = 15
	repeatedPages = 4
	repeatedShare = 10
)

// blocks returns the hashes of the removable blocks of a text, in order.
func blocks(a *article.Article) (list []uint64) {
	a.Prune(func(text string) bool {
		if len(text) >= repeatedBytes || len(strings.Fields(text)) >= repeatedWords {
			list = append(list, hashOf(text))
		}
		return false
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// hashOf returns the hash of a block, which is never 0.
func hashOf(block string) uint64 { return max(1, xxh3.HashString(block)) }

// repeated returns the blocks to remove, as records of a row's number and a hash. It counts blocks in files sorted by site, block
// and text.
func (c *collection) repeated() (*extsort.Sorter, error) {
	counts, hits := extsort.New(c.x.Temp, 0), extsort.New(c.x.Temp, 0)
	defer func() { _ = counts.Close() }() // a temporary file: an error of closing does no harm
	row := uint32(0)
	var b []byte
	for s, err := range inOrder(c.workers, c.rows(), parse) {
		var u weburl.URL
		if err == nil {
			u, err = weburl.Parse(s.Row.URL)
		}
		if err != nil {
			return hits, err
		}
		for _, block := range append([]uint64{0}, s.Blocks...) { // 0 stands for the whole page, to count pages
			b = binary.BigEndian.AppendUint64(b[:0], xxh3.HashString(u.Host()))
			b = binary.BigEndian.AppendUint64(b, block)
			b = binary.BigEndian.AppendUint64(b, s.Sum)
			if err := counts.Add(binary.BigEndian.AppendUint32(b, row)); err != nil {
				return hits, err
			}
		}
		row++
	}
	var group, text []byte // site and block, and text, of the previous record
	var rows []uint32      // rows that have the block
	texts, pages := 0, 0   // distinct texts with the block, and pages of the site
	end := func() error {
		if len(group) == 0 || binary.BigEndian.Uint64(group[8:]) == 0 {
			pages = texts
			return nil
		}
		if texts < repeatedPages || texts*repeatedShare < pages {
			return nil
		}
		for _, row := range rows {
			if err := hits.Add(append(binary.BigEndian.AppendUint32(nil, row), group[8:]...)); err != nil {
				return err
			}
		}
		return nil
	}
	for b, err := range counts.All() {
		if err != nil {
			return hits, err
		}
		if !bytes.Equal(b[:16], group) {
			if err := end(); err != nil {
				return hits, err
			}
			group, text, rows, texts = append(group[:0], b[:16]...), text[:0], rows[:0], 0
		}
		if !bytes.Equal(b[16:24], text) {
			text = append(text[:0], b[16:24]...)
			texts++
		}
		rows = append(rows, binary.BigEndian.Uint32(b[24:]))
	}
	return hits, end()
}

// without builds a row again without the blocks in drop, unless most of the text would be removed. It reports whether it did.
func (c *collection) without(s *stored, drop map[uint64]bool) (bool, error) {
	a, err := c.article(s)
	if err != nil || a == nil {
		return false, err
	}
	words := a.Words
	a.Prune(func(text string) bool { return drop[hashOf(text)] })
	if 2*a.Words < words {
		return false, nil
	}
	c.fill(s, a)
	return true, nil
}
