package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// spent is CPU time by duty.
type spent map[string]time.Duration

var errEmpty = errors.New("no samples: the input must be what go tool pprof -traces writes")

// read sums up the samples in a text. Each sample begins, after a line of hyphens, with its time and its innermost function. The callers
// follow, one per line.
func read(r io.Reader) (spent, error) {
	all := spent{}
	var took time.Duration
	var stack []string
	end := func() {
		if len(stack) > 0 {
			all[of(stack)] += took
		}
		took, stack = 0, nil
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "-----------+"):
			end()
		case took == 0:
			if d, err := time.ParseDuration(first); err == nil {
				took, stack = d, []string{function(rest)}
			}
		case line != "":
			stack = append(stack, function(line))
		}
	}
	end()
	if len(all) == 0 {
		return nil, cmp.Or(sc.Err(), errEmpty)
	}
	return all, sc.Err()
}

// function returns the function of a frame, without the mark for inlining.
func function(frame string) string { return strings.TrimSuffix(strings.TrimSpace(frame), " (inline)") }

// write prints the duties as rows of a table, the largest first.
func (s spent) write(w io.Writer, page float64) error {
	var total time.Duration
	for _, d := range s {
		total += d
	}
	names := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b))
	})
	for _, n := range names {
		share := s[n].Seconds() / total.Seconds()
		row := fmt.Sprintf("| %s | %.1f %% |", n, 100*share)
		if page > 0 {
			row += fmt.Sprintf(" %.1f |", page*share)
		}
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	return nil
}
