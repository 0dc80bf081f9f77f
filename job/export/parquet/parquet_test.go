package parquet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/sink/warc"
)

func files(t *testing.T, dir string) string {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "parquet")
	if _, err := export.Write(t.Context(), r, parquet.Kind(), path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// The files have the columns in the documented order, and the visits are sorted.
func TestFiles(t *testing.T) {
	dir := exporttest.Job(t, true)
	out := files(t, dir)
	f, err := os.Open(filepath.Join(out, "visits.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	p, err := library.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := p.Lookup("amble.schema"); v != parquet.Schema {
		t.Errorf("schema %q", v)
	}
	for i, c := range p.Schema().Fields() {
		if c.Name() != export.Visits().Columns[i].Name {
			t.Fatalf("column %d is %s", i, c.Name())
		}
	}
	var want, got []string
	for _, v := range exporttest.Visits(t, dir) {
		want = append(want, warc.SURT(v.URL))
	}
	slices.Sort(want)
	rows := make([]library.Row, 100)
	for _, g := range p.RowGroups() {
		r := g.Rows()
		n, _ := r.ReadRows(rows)
		for _, row := range rows[:n] {
			got = append(got, string(row[0].ByteArray()))
		}
		r.Close()
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// DuckDB reads the same values as those of the visits, and reads times as its timestamp type.
func TestDuckDB(t *testing.T) {
	dir := exporttest.Job(t, true)
	out := files(t, dir)
	bytes, statuses := 0, map[int]int{}
	visits := exporttest.Visits(t, dir)
	for _, v := range visits {
		bytes += v.Bytes
		statuses[v.Status]++
	}
	queries := []struct{ query, want string }{
		{"SELECT count(*) FROM visits", fmt.Sprint(len(visits))},
		{"SELECT count(DISTINCT url) FROM visits", fmt.Sprint(len(visits))},
		{"SELECT sum(bytes)::VARCHAR FROM visits", fmt.Sprint(bytes)},
		{"SELECT count(*) FROM visits WHERE fetch_status = 200", fmt.Sprint(statuses[200])},
		{"SELECT count(*) FROM visits WHERE fetch_status IS NULL", fmt.Sprint(statuses[0])},
		{"SELECT string_agg(line, ';' ORDER BY line) FROM (" + exporttest.SummaryLines + ")", exporttest.Summary(visits)},
		{"SELECT typeof(fetch_time) FROM visits LIMIT 1", "TIMESTAMP WITH TIME ZONE"},
		{"SELECT typeof(hops) FROM visits LIMIT 1", "VARCHAR[]"},
		{"SELECT max(len(hops)) FROM visits", "1"},
		{"SELECT sum(visits)::VARCHAR FROM hosts", fmt.Sprint(len(visits))},
		{"SELECT (SELECT count(*) FROM requests) - (SELECT sum(requests) FROM hosts)::BIGINT", "0"},
		{"SELECT count(*) FROM links", fmt.Sprint(exporttest.Found(visits))},
		{"SELECT max(len(rel)) FROM links", "1"},
		{"SELECT count(*) > 0 FROM robots WHERE body LIKE '%/private%'", "true"},
		{"SELECT title FROM visits WHERE url LIKE '%/hostile'", exporttest.Hostile},
	}
	var script strings.Builder
	script.WriteString("import { DuckDBInstance } from '@duckdb/node-api';\nconst c = await (await DuckDBInstance.create(':memory:')).connect();\n")
	for _, name := range []string{"visits", "requests", "hosts", "robots", "links"} {
		fmt.Fprintf(&script, "await c.run(`CREATE VIEW %s AS SELECT * FROM read_parquet('%s')`);\n", name, filepath.Join(out, name+".parquet"))
	}
	for _, q := range queries {
		fmt.Fprintf(&script, "console.log(String((await (await c.runAndReadAll(%q)).getRows())[0][0]));\n", q.query)
	}
	lines := strings.Split(exporttest.Node(t, script.String(), "@duckdb/node-api"), "\n")
	for i, q := range queries {
		if lines[i] != q.want {
			t.Errorf("%s: %q, want %q", q.query, lines[i], q.want)
		}
	}
}

// The documented queries run, and their results agree with the visits.
func TestDocumentedQueries(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "```sql\n")[1:]
	if len(parts) != 3 {
		t.Fatalf("%d queries", len(parts))
	}
	dir := exporttest.Job(t, true)
	out := files(t, dir)
	visits := exporttest.Visits(t, dir)
	var script strings.Builder
	script.WriteString("import { DuckDBInstance } from '@duckdb/node-api';\nconst c = await (await DuckDBInstance.create(':memory:')).connect();\n")
	fmt.Fprintf(&script, "process.chdir(%q);\n", out)
	for _, p := range parts {
		query, _, _ := strings.Cut(p, ";\n```")
		fmt.Fprintf(&script, "console.log((await (await c.runAndReadAll(%q)).getRows()).map(r => r.map(String).join(' ')).join('|'));\n", query)
	}
	lines := strings.Split(exporttest.Node(t, script.String(), "@duckdb/node-api"), "\n")
	one, pages := 0, 0
	for _, v := range visits {
		if strings.HasPrefix(v.URL, "https://www.one.example/") {
			one++
			if v.Outcome == "fetched" && v.Status < 400 {
				pages++
			}
		}
	}
	for i, want := range []string{
		fmt.Sprintf("www.one.example %d %d ", one, pages),
		"www.one.example:443 ",
		"https://www.one.example/ https://www.one.example/gone 404 ",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("query %d: %q has no %q", i+1, lines[i], want)
		}
	}
	if !strings.HasSuffix(strings.Split(lines[1], "|")[0], " 0") {
		t.Errorf("a request came too early: %s", lines[1])
	}
}

// A second reader, independent of DuckDB, reads the same values.
func TestHyparquet(t *testing.T) {
	dir := exporttest.Job(t, false)
	out := files(t, dir)
	script := fmt.Sprintf(`import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
const file = await asyncBufferFromFile(%q);
const rows = await parquetReadObjects({ file, compressors });
console.log(rows.length, rows.filter(r => r.outcome === 'fetched').length, rows[0].ended instanceof Date);`, filepath.Join(out, "visits.parquet"))
	visits := exporttest.Visits(t, dir)
	fetched := 0
	for _, v := range visits {
		if v.Outcome == "fetched" {
			fetched++
		}
	}
	if got, want := strings.TrimSpace(exporttest.Node(t, script, "hyparquet", "hyparquet-compressors")), fmt.Sprintf("%d %d true", len(visits), fetched); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A program exports a job as Parquet files.
func ExampleKind() {
	r, err := job.Read("testdata/no-job")
	if err != nil {
		fmt.Println("there is no job")
		return
	}
	defer r.Close() //nolint:errcheck // it was only read
	if _, err := export.Write(context.Background(), r, parquet.Kind(), "job-parquet", nil); err != nil {
		fmt.Println(err)
	}
	// Output: there is no job
}
