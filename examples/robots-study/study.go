package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// study collects the rows of the table. It is the crawl's Handler.
type study struct {
	options
	gate *politeness.Gate

	mu     sync.Mutex
	out    *json.Encoder
	err    error // first error of writing to out
	rows   map[string]row
	bodies map[string]body // responses with a robots.txt or a redirect to it, by URL
}

type body struct {
	status, bytes int
	kind          string // media type
}

func newStudy(o options, stdout io.Writer) *study {
	o.as = cmp.Or(o.as, o.Agent)
	return &study{options: o, out: json.NewEncoder(stdout), rows: map[string]row{}, bodies: map[string]body{}}
}

// keep records the size of a robots.txt. It is the crawl's Config.KeepRobots.
func (s *study) keep(p *fetcher.Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies[p.URL.String()] = body{p.Status, len(p.Body), p.ContentType}
	return s.err
}

// known reports whether the robots.txt of u's origin is known. If it is, it adds the origin's row.
func (s *study) known(u weburl.URL) bool {
	info := s.gate.Origin(u)
	if info.Known {
		s.add(rowOf(u, info, s.as, s.paths))
	}
	return info.Known
}

// Handle implements crawler.Handler. It is called only for hosts whose robots.txt could not be fetched.
func (s *study) Handle(_ context.Context, v *crawler.Visit) error {
	info := s.gate.Origin(v.URL)
	if info.Known {
		return nil // the host already has a row
	}
	s.add(row{
		Origin: v.URL.Origin(), State: cmp.Or(v.Reason, string(v.Outcome)), Status: info.Source.Status, Redirects: info.Source.Redirects,
	})
	return nil
}

func (s *study) add(r row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, done := s.rows[r.Origin]; done {
		return
	}
	at := r.Origin + "/robots.txt"
	if n := len(r.Redirects); n > 0 {
		at = r.Redirects[n-1]
	}
	r.Bytes, r.Type = s.bodies[at].bytes, s.bodies[at].kind
	r.Status = cmp.Or(r.Status, s.bodies[at].status) // the gate does not keep the status if it has given a host up
	s.rows[r.Origin] = r
	s.err = cmp.Or(s.err, s.out.Encode(r))
}

// finish writes the table, and returns an error if a host is missing.
func (s *study) finish(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	if len(s.rows) < len(s.origins) {
		err = errors.Join(err, errors.New("the study was not finished"))
	}
	if path == "" {
		return err
	}
	var b bytes.Buffer
	return errors.Join(err, s.table(&b), os.WriteFile(path, b.Bytes(), 0o644))
}

// summary prints the number of hosts by state and by lint.
func (s *study) summary(w io.Writer) error {
	states, lints, differ := map[string]int{}, map[string]int{}, 0
	for _, r := range s.rows {
		states[r.State]++
		for code := range r.Lints {
			lints[code]++
		}
		if slices.ContainsFunc(r.Paths, func(j judged) bool { return len(j.Differ) > 0 }) {
			differ++
		}
	}
	_, err := fmt.Fprintf(w, "%d hosts: %s\nremarks, by hosts: %s\nstandards differ about a path of %d hosts\n",
		len(s.rows), counts(states), counts(lints), differ)
	return err
}

// counts formats a map of counts, such as "3 file, 1 none".
func counts(m map[string]int) string {
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", m[k], k)
	}
	return cmp.Or(b.String(), "none")
}
