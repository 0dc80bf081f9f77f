package sink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/internal/hidden"
)

// Outlink is a link of a page: one line in the output of [NewLinks].
type Outlink struct {
	From string `json:"from"`          // URL of the page
	To   string `json:"to,omitempty"`  // "" if Ref is not a URL that can be crawled
	Ref  string `json:"ref,omitempty"` // reference as written, without a password; set if To is ""
	// Fragment follows "#" in the reference, as written. It is "" if it has more than 256 bytes.
	Fragment string   `json:"fragment,omitempty"`
	Text     string   `json:"text,omitempty"` // text of the link, with white space collapsed; cut to 256 bytes
	Rel      []string `json:"rel,omitempty"`
	Kind     string   `json:"kind"`           // what the link is for: anchor, image, …
	Fate     string   `json:"fate"`           // the crawl's decision: follow, out_of_scope, …
	Rule     string   `json:"rule,omitempty"` // rule that decided the fate
}

// Needs implements [Sink]. It needs links if j was made by [NewLinks], OpenLinks or AppendLinks.
func (j *JSONL) Needs() Needs { return Needs{Links: j.links} }

// NewLinks writes only the links of pages: each [Outlink] on one line, in the order in which the links are on the page. The output is
// committed together with the visits, as with all sinks: even if a crawl is killed and resumed, it has the links of each page once.
//
// The conditions are those of [NewJSONL].
func NewLinks(w io.Writer) *JSONL { return outlinks(NewJSONL(w)) }

// OpenLinks is like NewLinks with the file at path, under the same conditions as [OpenJSONL].
func OpenLinks(path string) (*JSONL, error) {
	j, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	return outlinks(j), nil
}

// AppendLinks is like NewLinks for an open file, under the same conditions as [AppendJSONL].
func AppendLinks(f File, path string) (*JSONL, error) {
	j, err := AppendJSONL(f, path)
	if err != nil {
		return nil, err
	}
	return outlinks(j), nil
}

func outlinks(j *JSONL) *JSONL {
	j.encode, j.stream, j.links = appendOutlinks, "links", true
	return j
}

// appendOutlinks appends the links of a record, each on one line.
func appendOutlinks(b []byte, r *Record) ([]byte, error) {
	for i := range r.Outlinks {
		line, err := json.Marshal(&r.Outlinks[i])
		if err != nil {
			return b, err
		}
		b = append(append(b, hidden.Escape(line)...), '\n')
	}
	return b, nil
}

// NewItems writes only the results of a crawl: each element of [Record].Data on one line, as emitted by the program, and nothing else of
// the visit. A visit without results has no line. The output is committed together with the visits, as with all sinks: even if a crawl is
// killed and resumed, it has each result once.
//
// The conditions are those of [NewJSONL]. Lines are compact JSON, with hidden characters escaped.
func NewItems(w io.Writer) *JSONL { return items(NewJSONL(w)) }

// OpenItems is like NewItems with the file at path, under the same conditions as [OpenJSONL].
func OpenItems(path string) (*JSONL, error) {
	j, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	return items(j), nil
}

// AppendItems is like NewItems for an open file, under the same conditions as [AppendJSONL].
func AppendItems(f File, path string) (*JSONL, error) {
	j, err := AppendJSONL(f, path)
	if err != nil {
		return nil, err
	}
	return items(j), nil
}

func items(j *JSONL) *JSONL {
	j.encode, j.stream = appendItems, "items"
	return j
}

// appendItems appends the results of a record, each on one line.
func appendItems(b []byte, r *Record) ([]byte, error) {
	for _, item := range r.Data {
		line, err := compact(item)
		if err != nil {
			return b, err
		}
		b = append(append(b, line...), '\n')
	}
	return b, nil
}

// compact returns a JSON value on one line, with hidden characters escaped.
func compact(value json.RawMessage) ([]byte, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return nil, fmt.Errorf("a result that is not valid JSON: %w", err)
	}
	return hidden.Escape(line.Bytes()), nil
}
