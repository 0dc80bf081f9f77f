package crawler

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Defaults and bounds of ReadHistory.
const (
	defaultMaxHistory = 1_000_000
	maxHistoryLine    = 16 << 20
)

// Visited is a [Lister] in memory, made from the visits.jsonl of an earlier crawl. It is safe for
// concurrent use.
type Visited struct {
	pages map[weburl.Key]visited
	order []weburl.Key
}

type visited struct {
	url   weburl.URL
	depth int
	Past
}

// line has the fields of a sink.Record that a History needs.
type line struct {
	Schema       string `json:"schema"`
	URL          string `json:"url"`
	Depth        int    `json:"depth"`
	Outcome      string `json:"outcome"`
	Status       int    `json:"status"`
	Truncated    string `json:"truncated"`
	SHA256       string `json:"sha256"`
	ETag         string `json:"etag"`
	LastModified string `json:"last_modified"`
}

// ReadHistory reads the JSON lines that an earlier crawl wrote: the pages that were fetched completely with
// status 200, or were not modified. If several lines are about one URL, the last one counts. ReadHistory
// keeps up to most pages (0: defaultMaxHistory), about 300 bytes each, and skips the rest, which the next
// crawl then fetches in full. A truncated last line is ignored. The error is the Reader's, or wraps
// ErrHistory and contains the line number.
func ReadHistory(r io.Reader, most int) (*Visited, error) {
	h := &Visited{pages: map[weburl.Key]visited{}}
	most = or(most, defaultMaxHistory)
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, whole, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return h, nil
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if err := h.add(text, most); err != nil {
			if !whole {
				return h, nil
			}
			return nil, fmt.Errorf("line %d: %w: %w", n, ErrHistory, err)
		}
	}
}

// readLine reads a line and reports whether it is complete.
func readLine(in *bufio.Reader) (text []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxHistoryLine:
			return nil, false, fmt.Errorf("%w: longer than %d bytes", ErrHistory, maxHistoryLine)
		case err == nil:
			return text, true, nil
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// add records what a line says.
func (h *Visited) add(text []byte, most int) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.Schema != sink.Schema {
		return fmt.Errorf("schema %q, not %q", l.Schema, sink.Schema)
	}
	u, err := weburl.Parse(l.URL)
	if err != nil {
		return err
	}
	key := u.Key()
	_, known := h.pages[key]
	if !known && len(h.order) >= most {
		return nil
	}
	page := visited{url: u, depth: max(0, l.Depth)}
	if l.usable() {
		page.Validators = fetcher.Validators{ETag: strings.Clone(l.ETag), LastModified: strings.Clone(l.LastModified)}
		hash(&page.SHA256, l.SHA256)
	} else if !known {
		return nil // there is no page, or none to compare with
	}
	if !known {
		h.order = append(h.order, key)
	}
	h.pages[key] = page
	return nil
}

// usable reports whether the line is about a page that is complete.
func (l *line) usable() bool {
	return l.Truncated == "" && len(l.ETag) <= maxValidator && len(l.LastModified) <= maxValidator &&
		(Outcome(l.Outcome) == NotModified || Outcome(l.Outcome) == Fetched && l.Status == http.StatusOK)
}

// hash parses a hash in hexadecimal form; anything else is ignored.
func hash(sum *[32]byte, text string) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(sum) {
		*sum = [32]byte(b)
	}
}

// Past implements History.
func (h *Visited) Past(u weburl.URL) (Past, bool) {
	p, ok := h.pages[u.Key()]
	return p.Past, ok
}

// Len returns the number of pages.
func (h *Visited) Len() int { return len(h.order) }

// All implements [Lister]: it yields the pages in the order in which they were first visited.
func (h *Visited) All() iter.Seq2[weburl.URL, int] {
	return func(yield func(weburl.URL, int) bool) {
		for _, k := range h.order {
			if p := h.pages[k]; !yield(p.url, p.depth) {
				return
			}
		}
	}
}
