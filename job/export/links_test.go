package export_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// The table of links has as many links as the visits say, whether the links come from the links file or the archive.
func TestLinks(t *testing.T) {
	for _, archive := range []bool{false, true} {
		dir := exporttest.Job(t, archive)
		visits, rows := exporttest.Visits(t, dir), readCSV(t, filepath.Join(write(t, dir, export.CSV()), "links.csv"))
		if found := exporttest.Found(visits); len(rows) != found || found < 20 {
			t.Errorf("archive %t: %d links, the visits have %d", archive, len(rows), found)
		}
		if first := rows[0]; first["from_url"] != visits[0].URL || first["fate"] != "follow" || first["to_url"] == "" {
			t.Errorf("archive %t: %v", archive, first)
		}
	}
}

// If a job has neither a links file nor an archive, the export has no table of links, and a note says why.
func TestNoLinks(t *testing.T) {
	dir := exporttest.Job(t, false)
	if err := os.Remove(filepath.Join(dir, job.LinksName)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "csv")
	res, err := exported(t, dir, export.CSV(), path)
	if err != nil || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "there is no table links: ") || !strings.Contains(res.Notes[0], "crawl with keep-links, or with the format warc") {
		t.Fatalf("%v, %+v", err, res)
	}
	if _, err := os.Stat(filepath.Join(path, "links.csv")); !os.IsNotExist(err) {
		t.Errorf("links.csv: %v", err)
	}
	if rows := readCSV(t, filepath.Join(path, "visits.csv")); len(rows) == 0 {
		t.Error("no visits")
	}
}
