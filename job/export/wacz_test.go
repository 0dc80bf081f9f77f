package export_test

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// In a WACZ file, every hash is right, archives are stored uncompressed, the index is sorted and complete, and each page is listed once.
func TestWACZ(t *testing.T) {
	dir := exporttest.Job(t, true)
	z, err := zip.OpenReader(write(t, dir, export.WACZ()))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]string{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in) // reading to the end checks the CRC
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(b)
		if strings.HasPrefix(f.Name, "archive/") != (f.Method == zip.Store) {
			t.Errorf("%s by method %d", f.Name, f.Method)
		}
	}
	var of struct {
		WACZ      string `json:"wacz_version"`
		Main      string `json:"mainPageUrl"`
		Resources []struct{ Path, Hash string }
	}
	if err := json.Unmarshal([]byte(files["datapackage.json"]), &of); err != nil || of.WACZ != "1.1.1" || of.Main != "https://www.one.example/" {
		t.Errorf("%v: %+v", err, of)
	}
	for _, r := range of.Resources {
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(files[r.Path]))); got != r.Hash {
			t.Errorf("%s: %s, listed as %s", r.Path, got, r.Hash)
		}
	}
	if len(of.Resources) != len(files)-2 || !strings.Contains(files["datapackage-digest.json"], fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(files["datapackage.json"])))) {
		t.Errorf("%d of %d files are listed; %s", len(of.Resources), len(files), files["datapackage-digest.json"])
	}
	lines := strings.Split(strings.TrimSpace(files["indexes/index.cdx"]), "\n")
	if !slices.IsSorted(lines) || !strings.Contains(lines[0], `"filename":"`) {
		t.Errorf("index: %q", lines)
	}
	for _, v := range exporttest.Visits(t, dir) {
		n := strings.Count(files["pages/pages.jsonl"]+files["pages/extraPages.jsonl"], `"url":"`+strings.ReplaceAll(v.URL, "&", `\u0026`)+`"`)
		want := 0
		if v.Outcome == "fetched" && v.Status == 200 && v.Type == "text/html" {
			want = 1
		}
		if n != want {
			t.Errorf("%s is listed %d times, want %d", v.URL, n, want)
		}
		if v.WARC != nil && !strings.Contains(files["indexes/index.cdx"], fmt.Sprintf(`"length":"%d","offset":"%d","filename":"%s"`, v.WARC.Length, v.WARC.Offset, v.WARC.File)) && v.Status != 0 {
			t.Errorf("%s is not in the index", v.URL)
		}
	}
	for _, name := range []string{"manifest.json", "visits.jsonl", job.LedgerName, "robots/index.jsonl"} {
		if files["provenance/"+name] == "" {
			t.Errorf("no provenance/%s", name)
		}
	}
}

func TestWACZWithoutAnArchive(t *testing.T) {
	_, err := exported(t, exporttest.Job(t, false), export.WACZ(), filepath.Join(t.TempDir(), "x.wacz"))
	if err == nil || !strings.Contains(err.Error(), "keeps no archive of answers: crawl with the format warc") {
		t.Errorf("%v", err)
	}
}
