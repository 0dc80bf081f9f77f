package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	const out = `goos: linux
pkg: example.test/a
BenchmarkCrawl/page=5KB-2   3   0 ns/op   1.10 cpu/tok   0.1200 cpu-ms/page
BenchmarkOther-2   	 1000	 95272 ns/op	  629791 links/s   12 B/op   0 allocs/op
BenchmarkCrawl/page=5KB-2   3   0 ns/op   1.30 cpu/tok   0.1100 cpu-ms/page
BenchmarkCrawl/page=5KB-2   3   0 ns/op   1.20 cpu/tok   0.1300 cpu-ms/page
PASS
`
	for _, c := range []struct {
		name    string
		columns []string
		want    string
	}{
		{"chosen", []string{"cpu-ms/page", "cpu/tok", "nothing/page"}, `| benchmark | cpu-ms/page | cpu/tok |
|---|---|---|
| Crawl/page=5KB | 0.12 | 1.2 |
| Other |  |  |
`},
		{"all", nil, `| benchmark | ns/op | allocs/op | B/op | cpu-ms/page | cpu/tok | links/s |
|---|---|---|---|---|---|---|
| Crawl/page=5KB | 0 |  |  | 0.12 | 1.2 |  |
| Other | 95272 | 0 | 12 |  |  | 629791 |
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			s := set{title: "Title", bench: ".", packages: []string{"./a", "./b"}, columns: c.columns}
			if err := s.table(&b, medians(out)); err != nil {
				t.Fatal(err)
			}
			head := "\n## Title\n\n```\ngo test -run '^$' -bench '.' -benchmem ./a ./b\n```\n\n"
			if got, ok := strings.CutPrefix(b.String(), head); !ok || got != c.want {
				t.Errorf("%s", b.String())
			}
		})
	}
}
