package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// eachLine calls f with every whole line of a file and its number from 1, until f returns false. The
// line is valid until f returns.
func (d plainDir) eachLine(name string, f func(n int, line []byte) bool) error {
	file, err := d.stream(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	return d.lineError(name, jsonl.Lines(file, f))
}

// lineError returns the error of reading lines with the path of the file.
func (d plainDir) lineError(name string, err error) error {
	var bad *jsonl.LineError
	if errors.As(err, &bad) {
		return fmt.Errorf("line %d of %s: %w", bad.Line, d.path(name), bad.Err)
	}
	return err
}

// member returns "name":"value" as it is written in the lines of a job.
func member(name, value string) []byte {
	b, err := json.Marshal(value)
	if err != nil { // a string never fails
		panic(err)
	}
	return append([]byte(`"`+name+`":`), b...)
}

// has reports whether a line may contain the member. It is fast, and exact when it returns false.
func has(line, member []byte) bool { return bytes.Contains(line, member) }
