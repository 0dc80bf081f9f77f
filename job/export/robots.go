package export

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// robotsName is the list of answers for robots.txt in a job.
const robotsName = "robots/index.jsonl"

// robotsAnswer is an answer for a robots.txt.
type robotsAnswer struct {
	URL       string    `json:"url"`
	Status    int       `json:"status"`
	Fetched   time.Time `json:"fetched"`
	Bytes     int       `json:"bytes"`
	Truncated string    `json:"truncated"`
	SHA256    string    `json:"sha256"`

	body string
}

// Robots returns the table of robots.txt files as they were received.
func Robots() *Table {
	return tableOf("robots", "an answer for a robots.txt, with its body, oldest first", robots, []field[*robotsAnswer]{
		{Column{"url", Text, "the robots.txt"}, func(a *robotsAnswer) Value { return text(a.URL) }},
		{Column{"fetched", Time, "when the answer was complete"}, func(a *robotsAnswer) Value { return moment(a.Fetched) }},
		{Column{"status", Int, "its status"}, func(a *robotsAnswer) Value { return positive(a.Status) }},
		{Column{"bytes", Int, "length of the body"}, func(a *robotsAnswer) Value { return count(a.Bytes) }},
		{Column{"truncated", Text, "why the body is not complete"}, func(a *robotsAnswer) Value { return text(a.Truncated) }},
		{Column{"sha256", Text, "SHA-256 of the body, hexadecimal"}, func(a *robotsAnswer) Value { return text(a.SHA256) }},
		{Column{"body", Text, "the body; what is not UTF-8 in it is replaced"}, func(a *robotsAnswer) Value { return text(a.body) }},
	})
}

func robots(x *Export) iter.Seq2[*robotsAnswer, error] {
	return func(yield func(*robotsAnswer, error) bool) {
		f, err := x.Job.Open(robotsName)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = f.Close() }() // only read
		in := bufio.NewReader(f)
		for n := 1; ; n++ {
			line, err := jsonl.ReadLine(in, nil)
			if errors.Is(err, io.EOF) {
				return // a line that is still being written
			}
			a := new(robotsAnswer)
			if err == nil {
				err = a.read(x, line)
			}
			if err != nil {
				yield(nil, fmt.Errorf("line %d of %s: %w", n, robotsName, err))
				return
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// read reads a line and the body that it names.
func (a *robotsAnswer) read(x *Export, line []byte) error {
	if err := json.Unmarshal(line, a); err != nil {
		return err
	}
	body, err := x.Job.RobotsBody(a.SHA256)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a.body = strings.ToValidUTF8(string(body), "\uFFFD")
	return x.ctx.Err()
}
