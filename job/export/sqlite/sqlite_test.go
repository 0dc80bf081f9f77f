package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/sqlite"
)

func database(t *testing.T, dir string) string {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "job.sqlite")
	if _, err := export.Write(t.Context(), r, sqlite.Kind(), path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// The database agrees with the visits.
func TestDatabase(t *testing.T) {
	dir := exporttest.Job(t, true)
	db, err := sql.Open("sqlite", database(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(query string) string {
		t.Helper()
		var answer string
		if err := db.QueryRow(query).Scan(&answer); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return answer
	}
	visits := exporttest.Visits(t, dir)
	problems, bytes, fetched := 0, 0, 0
	for _, v := range visits {
		bytes += v.Bytes
		if v.Outcome == "fetched" {
			fetched++
		}
		if v.Outcome == "fetched" && v.Status >= 400 || v.Outcome == "refused" || v.Outcome == "failed" {
			problems++
		}
	}
	for query, want := range map[string]string{
		"PRAGMA integrity_check":                                                     "ok",
		"SELECT count(*) FROM visits":                                                fmt.Sprint(len(visits)),
		"SELECT count(DISTINCT url) FROM visits":                                     fmt.Sprint(len(visits)),
		"SELECT sum(bytes) FROM visits":                                              fmt.Sprint(bytes),
		"SELECT sum(visits) FROM hosts":                                              fmt.Sprint(len(visits)),
		"SELECT sum(fetched) FROM hosts":                                             fmt.Sprint(fetched),
		"SELECT (SELECT count(*) FROM requests) - (SELECT sum(requests) FROM hosts)": "0",
		"SELECT count(*) FROM problems":                                              fmt.Sprint(problems),
		"SELECT title FROM visits WHERE url LIKE '%/hostile'":                        exporttest.Hostile,
		"SELECT count(*) FROM visits WHERE fetch_time > date('2000-01-01') AND julianday(ended) IS NOT NULL": ask("SELECT count(fetch_time) FROM visits"),
		"SELECT group_concat(line, ';') FROM (" + exporttest.SummaryLines + " ORDER BY line)":                exporttest.Summary(visits),
		"SELECT count(*) FROM links": fmt.Sprint(exporttest.Found(visits)),
		"SELECT count(*) FROM links LEFT JOIN visits ON url = from_url WHERE url IS NULL": "0",
		"SELECT count(*) > 0 FROM robots WHERE body LIKE '%/private%'":                    "1",
	} {
		if got := ask(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// The sqlite3 program reads the database.
func TestProgramOfOthers(t *testing.T) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("there is no sqlite3 here (Debian: apt install sqlite3)")
	}
	dir := exporttest.Job(t, false)
	out, err := exec.CommandContext(t.Context(), program, database(t, dir), "PRAGMA integrity_check; SELECT count(*) FROM visits;").CombinedOutput()
	if want := fmt.Sprintf("ok\n%d", len(exporttest.Visits(t, dir))); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v\n%s, want %s", err, out, want)
	}
}

// A program exports a job as a database.
func ExampleKind() {
	r, err := job.Read("testdata/no-job")
	if err != nil {
		fmt.Println("there is no job")
		return
	}
	defer r.Close() //nolint:errcheck // it was only read
	if _, err := export.Write(context.Background(), r, sqlite.Kind(), "job.sqlite", nil); err != nil {
		fmt.Println(err)
	}
	// Output: there is no job
}
