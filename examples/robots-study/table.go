package main

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// table writes the rows as CSV, in the order of the list. It contains only numbers and codes, no text that hosts have written.
func (s *study) table(w io.Writer) error {
	c := csv.NewWriter(w) // csv.Writer keeps the first error
	head := []string{"origin", "state", "status", "redirects", "bytes", "rules", "crawl_delay", "request_rate", "sitemaps", "lints"}
	head = append(head, uses...)
	for _, p := range s.paths {
		head = append(head, p, p+" differ")
	}
	_ = c.Write(head)
	for _, u := range s.origins {
		r, done := s.rows[u.Origin()]
		if !done {
			r = row{Origin: u.Origin(), State: stateNotReached}
		}
		_ = c.Write(s.fields(r))
	}
	c.Flush()
	return c.Error()
}

func (s *study) fields(r row) []string {
	f := []string{
		r.Origin, r.State, strconv.Itoa(r.Status), strconv.Itoa(len(r.Redirects)), strconv.Itoa(r.Bytes), strconv.Itoa(r.Rules),
		seconds(r.CrawlDelay), seconds(r.RequestRate), strconv.Itoa(len(r.Sitemaps)),
		strings.Join(slices.Sorted(maps.Keys(r.Lints)), " "),
	}
	for _, use := range uses {
		f = append(f, r.Usage[use])
	}
	for i := range s.paths {
		if i < len(r.Paths) {
			f = append(f, verdict(r.Paths[i]), differing(r.Paths[i]))
		} else {
			f = append(f, "", "")
		}
	}
	return f
}

func seconds(s *float64) string {
	if s == nil {
		return ""
	}
	return strconv.FormatFloat(*s, 'g', -1, 64)
}

func verdict(j judged) string {
	if j.Allowed {
		return "allow"
	}
	return "disallow"
}

// differing returns the names of the dialects with the opposite verdict.
func differing(j judged) string {
	names := make([]string, len(j.Differ))
	for i, d := range j.Differ {
		names[i] = d.String()
	}
	return strings.Join(names, " ")
}
