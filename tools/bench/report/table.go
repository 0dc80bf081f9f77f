package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a benchmark with the medians of its figures.
type row struct {
	name    string
	figures map[string]float64 // figures by unit
}

// line matches a line in a benchmark's output: name, number of iterations, figures with their units.
var line = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// medians parses the output of benchmarks. It returns the medians of repeated benchmarks, in the order of their first lines.
func medians(out string) (rows []row) {
	all := map[string]map[string][]float64{}
	var names []string
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		if all[m[1]] == nil {
			all[m[1]] = map[string][]float64{}
			names = append(names, m[1])
		}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				all[m[1]][fields[i+1]] = append(all[m[1]][fields[i+1]], v)
			}
		}
	}
	for _, name := range names {
		r := row{name, map[string]float64{}}
		for unit, values := range all[name] {
			slices.Sort(values)
			r.figures[unit] = values[len(values)/2]
		}
		rows = append(rows, r)
	}
	return rows
}

// table writes rows, without columns in which no row has a figure.
func (s set) table(w io.Writer, rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	units := s.units(rows)
	fmt.Fprintf(w, "\n## %s\n\n```\ngo test -run '^$' -bench '%s' -benchmem %s\n```\n\n", s.title, s.bench, strings.Join(s.packages, " "))
	fmt.Fprintf(w, "| benchmark | %s |\n|---|%s\n", strings.Join(units, " | "), strings.Repeat("---|", len(units)))
	for _, r := range rows {
		cells := []string{strings.ReplaceAll(r.name, "|", `\|`)}
		for _, u := range units {
			cells = append(cells, cell(r, u))
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

func (s set) units(rows []row) (units []string) {
	has := func(u string) bool {
		return slices.ContainsFunc(rows, func(r row) bool { _, ok := r.figures[u]; return ok })
	}
	if s.columns != nil {
		return slices.DeleteFunc(slices.Clone(s.columns), func(u string) bool { return !has(u) })
	}
	for _, r := range rows {
		for u := range r.figures {
			if !slices.Contains(units, u) {
				units = append(units, u)
			}
		}
	}
	usual := []string{"B/op", "allocs/op", "ns/op"} // the usual units come last, in this order
	slices.SortFunc(units, func(a, b string) int {
		return cmp.Or(slices.Index(usual, b)-slices.Index(usual, a), strings.Compare(a, b))
	})
	return units
}

// cell formats a figure with three significant digits; a larger figure has all digits of its integer part.
func cell(r row, unit string) string {
	v, ok := r.figures[unit]
	switch {
	case !ok:
		return ""
	case v == 0 || v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// processor returns the name of the processor, if the system shows it.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // this file exists only on Linux
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return "processor not known"
}
