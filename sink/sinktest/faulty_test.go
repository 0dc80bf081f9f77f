package sinktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

var fault = flag.String("fault", "", "of the sink that TestFaulty tests")

// plain is a small, correct sink into which a test puts one fault. For each record, it writes a line with the URL and its
// length.
type plain struct {
	sink.Base

	f      *os.File
	buf    []byte
	size   int64
	room   int
	err    error
	closed bool
	held   []*sink.Record
}

func is(name string) bool { return *fault == name }

func open(dir string, room int) (sink.Sink, error) {
	f, err := os.OpenFile(filepath.Join(dir, "out"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if is("opens anywhere") && err != nil {
		return new(plain), nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if is("empties on open") {
		_ = f.Truncate(0)
	}
	p := &plain{f: f, size: info.Size(), room: room}
	if is("counts from the opening") {
		p.size = 0
	}
	return p, err
}

func (p *plain) Append(_ context.Context, r *sink.Record) error {
	if p.closed && !is("appends when closed") {
		return sink.ErrClosed
	}
	if p.err != nil && !is("forgets errors") {
		return p.err
	}
	if is("keeps records") {
		p.held = append(p.held, r)
		return nil
	}
	if is("changes records") {
		defer func() { r.Outcome = "stored" }()
	}
	p.line(r.URL)
	if is("doubles") && r.Depth == 7 {
		p.line(r.URL)
	}
	return nil
}

func (p *plain) line(url string) {
	b, _ := json.Marshal(url)
	if is("mixes up") && len(p.buf) > 0 {
		p.buf = append(append(b, '\n'), p.buf...)
		return
	}
	p.buf = append(append(p.buf, b...), '\n')
}

func (p *plain) Sync(ctx context.Context) (int64, error) {
	if p.closed && !is("syncs when closed") {
		return 0, sink.ErrClosed
	}
	if is("loses what is canceled") && ctx.Err() != nil {
		p.buf = nil
		return p.size, nil
	}
	for _, r := range p.held {
		p.line(r.URL)
	}
	p.held = nil
	if p.err != nil {
		if is("forgets errors") {
			return p.size, nil
		}
		return 0, p.err
	}
	if is("does not write in Sync") {
		return p.size + int64(len(p.buf)), nil
	}
	n, err := p.write(p.buf)
	p.size, p.buf = p.size+int64(n), nil
	p.err = err
	if is("swallows errors") {
		p.err, err = nil, nil
	}
	if is("hides the cause") && err != nil {
		p.err, err = errors.New("no"), errors.New("no")
	}
	if is("returns 1 for nothing") && p.size == 0 {
		return 1, err
	}
	if is("moves in Sync") {
		p.size++
		defer func() { _, _ = p.f.WriteString(" ") }()
	}
	if is("returns an offset too small") && p.size > 40 {
		return p.size - 1, err
	}
	return p.size, err
}

func (p *plain) write(b []byte) (int, error) {
	n, err := p.f.Write(b[:min(len(b), p.room)])
	if p.room -= n; err == nil && n < len(b) {
		err = fmt.Errorf("plain: %w", syscall.ENOSPC)
	}
	return n, err
}

func (p *plain) Restore(_ context.Context, offset int64) error {
	if p.closed && !is("restores when closed") {
		return sink.ErrClosed
	}
	if (offset > p.size || offset < 0) && !is("restores to anywhere") {
		return errors.New("plain: beyond the end")
	}
	if is("restores nothing") {
		return nil
	}
	if is("restores to a line's end") && offset < p.size {
		b, _ := os.ReadFile(p.f.Name())
		offset += int64(strings.IndexByte(string(b[offset:]), '\n') + 1)
	}
	if is("cannot restore to 0") && offset == 0 {
		return errors.New("plain: no")
	}
	p.err, p.buf = nil, nil
	if is("keeps what is buffered") {
		p.buf = []byte("\"late\"\n")
	}
	if !is("forgets its size") {
		p.size = offset
	}
	return p.f.Truncate(offset)
}

func (p *plain) Close(ctx context.Context) error {
	if is("cannot close when canceled") && ctx.Err() != nil {
		return ctx.Err()
	}
	if p.closed {
		if is("closes twice") {
			return sink.ErrClosed
		}
		return nil
	}
	var err error
	if !is("does not flush in Close") && p.err == nil {
		_, err = p.Sync(ctx)
	}
	p.closed = true
	return errors.Join(err, p.f.Close())
}

func suite() sinktest.Suite {
	s := sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return open(dir, 1<<30) },
		Read: func(dir string, _ bool) ([]string, error) {
			b, err := os.ReadFile(filepath.Join(dir, "out"))
			if errors.Is(err, os.ErrNotExist) {
				return nil, nil
			}
			var urls []string
			for line := range strings.Lines(string(b)) {
				var url string
				if e := json.Unmarshal([]byte(line), &url); e != nil || !strings.HasSuffix(line, "\"\n") {
					return urls, fmt.Errorf("%q: %w", line, e)
				}
				urls = append(urls, url)
			}
			return urls, err
		},
		OpenFull: open,
		Thorough: true,
	}
	return s
}

func TestCorrectSinkPasses(t *testing.T) { sinktest.Run(t, suite()) }

// TestFaulty runs only in the processes that TestEveryFaultIsFound starts.
func TestFaulty(t *testing.T) {
	if *fault == "" {
		t.Skip("without -fault")
	}
	sinktest.Run(t, suite())
}

// TestEveryFaultIsFound runs the suite with sinks that each break one clause of the contract, and checks which of its tests fail.
func TestEveryFaultIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("a process for each fault")
	}
	failed := regexp.MustCompile(`(?m)^    --- FAIL: TestFaulty/(\w+?)_`)
	for name, clauses := range map[string]string{
		"doubles":                     "S1",
		"mixes up":                    "S1",
		"returns 1 for nothing":       "S2",
		"moves in Sync":               "S2",
		"counts from the opening":     "S2",
		"does not write in Sync":      "S3",
		"empties on open":             "S3 S8",
		"returns an offset too small": "S4",
		"cannot restore to 0":         "S4",
		"restores nothing":            "S4 S5",
		"restores to a line's end":    "S5",
		"restores to anywhere":        "S6",
		"keeps what is buffered":      "S7",
		"forgets its size":            "S7",
		"does not flush in Close":     "S8",
		"swallows errors":             "S9",
		"forgets errors":              "S9",
		"hides the cause":             "S9",
		"opens anywhere":              "S10",
		"appends when closed":         "S11",
		"syncs when closed":           "S11",
		"restores when closed":        "S11",
		"closes twice":                "S11",
		"keeps records":               "S12",
		"changes records":             "S12",
		"loses what is canceled":      "S13",
		"cannot close when canceled":  "S13",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(os.Args[0], "-test.run=^TestFaulty$", "-test.short", "-fault="+name).CombinedOutput()
			var found []string
			for _, m := range failed.FindAllStringSubmatch(string(out), -1) {
				found = append(found, m[1])
			}
			for clause := range strings.FieldsSeq(clauses) {
				if err == nil || !slices.Contains(found, clause) {
					t.Errorf("%s holds; found %v, %v\n%.2000s", clause, found, err, out)
				}
			}
		})
	}
}

func TestCorrectSinkOutlivesKills(t *testing.T) { sinktest.RunKilled(t, suite(), 16) }

// TestFaultyKilled runs only in the processes that TestKillingFindsFaults starts.
func TestFaultyKilled(t *testing.T) {
	if *fault == "" {
		t.Skip("without -fault")
	}
	sinktest.RunKilled(t, suite(), 40)
}

func TestKillingFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("a process for each fault, and for each kill")
	}
	for _, name := range []string{"does not write in Sync", "returns an offset too small", "restores nothing", "empties on open", "does not flush in Close", "forgets its size"} {
		out, err := exec.Command(os.Args[0], "-test.run=^TestFaultyKilled$", "-fault="+name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestFaultyKilled") {
			t.Errorf("%s is not found: %v\n%.2000s", name, err, out)
		}
	}
}
