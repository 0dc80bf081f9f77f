package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// summaryText is the report as a person reads it.
func summaryText(r *crawler.Report, color bool) string {
	var b strings.Builder
	head := fmt.Sprintf("%d pages in %s: %s", r.Pages, round(r.Ended.Sub(r.Started)), finishText(r))
	if color {
		head = "\x1b[1m" + head + "\x1b[0m"
	}
	fmt.Fprintln(&b, head)
	hosts := "hosts"
	if r.Hosts == 1 {
		hosts = "host"
	}
	fmt.Fprintf(&b, "  requests   %d, pages from %d %s, %s received\n", r.Requests, r.Hosts, hosts, octets(r.Bytes))
	row(&b, "outcomes", r.Outcomes)
	row(&b, "statuses", r.Statuses)
	row(&b, "types", r.Types)
	row(&b, "reasons", r.Reasons)
	row(&b, "links", r.Links)
	if len(r.Sitemaps) > 0 {
		fmt.Fprintf(&b, "  sitemaps   %s\n", strings.Join(r.Sitemaps[:min(3, len(r.Sitemaps))], " "))
	}
	return b.String()
}

func finishText(r *crawler.Report) string {
	switch r.Finish {
	case crawler.FinishDone:
		return "done, nothing left"
	case crawler.FinishPages, crawler.FinishBytes, crawler.FinishTime:
		return fmt.Sprintf("limit %s reached, %d URLs left", strings.ReplaceAll(string(r.Finish), "_", "-"), r.Left)
	}
	return fmt.Sprintf("%s, %d URLs left", r.Finish, r.Left)
}

// row prints counts, the largest first.
func row[K cmp.Ordered](b *strings.Builder, name string, counts map[K]int) {
	if len(counts) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(x, y K) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
	fmt.Fprintf(b, "  %-10s", name)
	for i, k := range keys {
		if i == 8 {
			fmt.Fprintf(b, " and %d more", len(keys)-i)
			break
		}
		name := fmt.Sprint(k)
		if name == "" {
			name = "unknown"
		}
		fmt.Fprintf(b, " %s %d", name, counts[k])
		if i < len(keys)-1 {
			b.WriteByte(',')
		}
	}
	b.WriteByte('\n')
}

func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

func octets(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
