package sink

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/internal/hidden"
)

// NewItems writes only the results of a crawl: each element of [Record].Data on a line of its own, as the program
// emitted it, and nothing of the visit. A visit without results has no line. Like all sinks it is committed with the
// visits, so that a crawl which is killed and resumed has each result once.
//
// The conditions are those of [NewJSONL]. Lines are compact JSON, with hidden characters escaped.
func NewItems(w io.Writer) *JSONL { return items(NewJSONL(w)) }

// OpenItems is NewItems with the file at path, under the same conditions as [OpenJSONL].
func OpenItems(path string) (*JSONL, error) {
	j, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	return items(j), nil
}

// AppendItems is NewItems with an open file, under the same conditions as [AppendJSONL].
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

// appendItems appends the results of a record, each on a line.
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

// compact returns a JSON value on one line, with its hidden characters escaped.
func compact(value json.RawMessage) ([]byte, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return nil, fmt.Errorf("a result that is not valid JSON: %w", err)
	}
	return hidden.Escape(line.Bytes()), nil
}
