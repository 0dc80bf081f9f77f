package export

import (
	"errors"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job"
)

// robotsName is the list of answers for robots.txt in a job.
const robotsName = "robots/index.jsonl"

// robotsAnswer is an answer for a robots.txt with its body.
type robotsAnswer struct {
	*job.RobotsAnswer
	fetched time.Time
	body    string
}

// Robots returns the table of robots.txt files as received.
func Robots() *Table {
	return tableOf("robots", "an answer for a robots.txt, with its body, oldest first", robots, []field[*robotsAnswer]{
		{Column{"url", Text, "the robots.txt"}, func(a *robotsAnswer) Value { return text(a.URL) }},
		{Column{"fetched", Time, "when the answer was complete"}, func(a *robotsAnswer) Value { return moment(a.fetched) }},
		{Column{"status", Int, "its status"}, func(a *robotsAnswer) Value { return positive(a.Status) }},
		{Column{"bytes", Int, "length of the body"}, func(a *robotsAnswer) Value { return count(a.Bytes) }},
		{Column{"truncated", Text, "why the body is not complete"}, func(a *robotsAnswer) Value { return text(a.Truncated) }},
		{Column{"sha256", Text, "SHA-256 of the body, hexadecimal"}, func(a *robotsAnswer) Value { return text(a.SHA256) }},
		{Column{"body", Text, "the body; what is not UTF-8 in it is replaced"}, func(a *robotsAnswer) Value { return text(a.body) }},
	})
}

func robots(x *Export) iter.Seq2[*robotsAnswer, error] {
	return func(yield func(*robotsAnswer, error) bool) {
		for line, err := range x.Job.RobotsAnswers() {
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			a := &robotsAnswer{RobotsAnswer: line}
			if err == nil {
				err = a.read(x)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(a, nil) {
				return
			}
		}
	}
}

// read reads the time and the body of an answer.
func (a *robotsAnswer) read(x *Export) (err error) {
	if a.fetched, err = time.Parse(time.RFC3339, a.Fetched); err != nil {
		return err
	}
	body, err := x.Job.RobotsBody(a.SHA256)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	a.body = strings.ToValidUTF8(string(body), "\uFFFD")
	return x.ctx.Err()
}
