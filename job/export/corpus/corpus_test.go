package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	library "github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
)

// crawled makes a job of eight pages. Two of the pages state how they may be used.
func crawled(t *testing.T) *job.Reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "birds|job")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site, links := w.Site("https://birds.example"), ""
		for i, bird := range []string{"heron", "swan", "goose", "duck", "coot", "kestrel", "heron-copy"} {
			links += fmt.Sprintf("<a href=/%s>%[1]s</a> ", bird)
			bird = strings.TrimSuffix(bird, "-copy")
			p := site.Page([]string{"/heron", "/swan", "/goose", "/duck", "/coot", "/kestrel", "/heron-copy"}[i], fmt.Sprintf("<html lang=en><link rel=license href=https://creativecommons.org/licenses/by/4.0/><article><h1>The %[1]s</h1><p>The %[1]s has been seen at the lake, said the society of the %[1]s, and will stay until the end of the %[1]s season.</p><p>Of all fish the %[1]s likes the small ones, which every %[1]s catches with patience in the water.</p></article>", bird))
			if bird == "swan" || bird == "duck" {
				p.Header("Content-Usage", "train-ai=n")
			}
		}
		site.Page("/", links)
		config := job.Config{Archive: true}
		config.Crawl.Contact = exporttest.Contact
		w.Apply(&config.Crawl)
		j, err := job.Create(dir, config, "https://birds.example/")
		if err == nil {
			_, err = j.Run(t.Context())
		}
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// made exports jobs to a corpus with three rows in each part.
func made(t *testing.T, refuse []string, jobs ...*job.Reader) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "corpus")
	kind := Kind(text.Options{})
	kind.Write = func(x *export.Export) error { return write(x, text.Options{Refuse: refuse}, 3) }
	if _, err := export.WriteAll(t.Context(), jobs, kind, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rowsOf returns the rows of the corpus, part by part, and the raw JSON lines.
func rowsOf(t *testing.T, dir string) (parts [][]text.Row, lines []byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := zstd.NewReader(nil)
		if b, err = d.DecodeAll(b, nil); err != nil {
			t.Fatal(err)
		}
		d.Close()
		var rows []text.Row
		for in := json.NewDecoder(bytes.NewReader(b)); in.More(); {
			var r text.Row
			if err := in.Decode(&r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		parts, lines = append(parts, rows), append(lines, b...)
	}
	return parts, lines
}

func TestPartsHaveTheSameRowsInBothForms(t *testing.T) {
	dir := made(t, nil, crawled(t))
	parts, _ := rowsOf(t, dir)
	if len(parts) != 3 || len(parts[0]) != 3 || len(parts[2]) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	for n, rows := range parts {
		got, err := library.ReadFile[struct {
			URL      string  `parquet:"url,optional"`
			Text     string  `parquet:"text,optional"`
			Words    int64   `parquet:"words,optional"`
			Sure     float64 `parquet:"language_confidence,optional"`
			Consent  string  `parquet:"consent,optional"`
			SHA256   string  `parquet:"sha256,optional"`
			Markdown string  `parquet:"markdown,optional"`
		}](filepath.Join(dir, fmt.Sprintf("part-%05d.parquet", n)))
		if err != nil || len(got) != len(rows) {
			t.Fatalf("part %d: %d rows, want %d (%v)", n, len(got), len(rows), err)
		}
		for i, r := range rows {
			g := got[i]
			if g.URL != r.URL || g.Text != r.Text || g.Words != int64(r.Words) || g.Sure != r.LanguageConfidence || g.SHA256 != r.SHA256 || g.Markdown != r.Markdown || r.Text == "" ||
				strings.Contains(g.Consent, "train-ai") != (len(r.Consent) > 0) {
				t.Errorf("%+v and %+v", g, r)
			}
		}
	}
}

func TestPapersCountConsentAndLicences(t *testing.T) {
	dir := made(t, nil, crawled(t))
	var croissant struct {
		ConformsTo   string
		UsageInfo    []struct{ Name, Description string }
		License      []struct{ Name, Description, URL string }
		Distribution []struct {
			ID     string `json:"@id"`
			SHA256 string
		}
		Derived []any `json:"prov:wasDerivedFrom"`
	}
	decode(t, filepath.Join(dir, croissantName), &croissant)
	if croissant.ConformsTo != "http://mlcommons.org/croissant/1.1" || len(croissant.UsageInfo) != 1 || croissant.UsageInfo[0].Name != "train-ai disallow" || !strings.HasPrefix(croissant.UsageInfo[0].Description, "2 of 8 rows") ||
		len(croissant.License) != 2 || croissant.License[0].URL != "https://spdx.org/licenses/CC-BY-4.0" || len(croissant.Derived) != 3 {
		t.Errorf("%+v", croissant)
	}
	listed, err := sums(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range croissant.Distribution {
		if f.ID != "parquet" && !slices.Contains(listed, file{Name: f.ID, Sum: f.SHA256}) {
			t.Errorf("%s has another hash", f.ID)
		}
	}
	var crate struct {
		Graph []map[string]any `json:"@graph"`
	}
	decode(t, filepath.Join(dir, crateName), &crate)
	known, refs := map[any]bool{}, []any{}
	for _, e := range crate.Graph {
		known[e["@id"]] = true
		for _, key := range []string{"hasPart", "license", "usageInfo", "object"} {
			list, _ := e[key].([]any)
			for _, ref := range list {
				refs = append(refs, ref.(map[string]any)["@id"])
			}
		}
	}
	if len(refs) < 14 || slices.ContainsFunc(refs, func(id any) bool { return !known[id] }) {
		t.Errorf("the crate has %v and refers to %v", known, refs)
	}
	sheet, _ := os.ReadFile(filepath.Join(dir, sheetName))
	for _, want := range []string{"| train-ai disallow | 2 |", "| CC-BY-4.0 | 7 |", "| en | ", "of which 1 have the text", "birds|job"} {
		if !bytes.Contains(sheet, []byte(want)) {
			t.Errorf("the data sheet has no %q:\n%s", want, sheet)
		}
	}
}

func decode(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyFindsChangedFiles(t *testing.T) {
	dir := made(t, nil, crawled(t))
	if v, err := Verify(dir); err != nil || v.Files != 10 || len(v.Differ) > 0 || !Holds(dir) {
		t.Fatalf("%+v %v", v, err)
	}
	part := filepath.Join(dir, "part-00001.parquet")
	b, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(part, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, sheetName)); err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(dir); err != nil || !slices.Equal(v.Differ, []string{"part-00001.parquet", sheetName}) {
		t.Errorf("%+v %v", v, err)
	}
}

func TestReplayMakesTheSameParts(t *testing.T) {
	one, two := crawled(t), crawled(t)
	dir := filepath.Join(t.TempDir(), "corpus")
	if _, err := export.WriteAll(t.Context(), []*job.Reader{one, two}, Kind(text.Options{Refuse: []string{"train-ai"}}), dir, nil); err != nil {
		t.Fatal(err)
	}
	if sheet, err := os.ReadFile(filepath.Join(dir, sheetName)); err != nil || !bytes.Contains(sheet, []byte("- 4 pages left out: their sites refuse such uses.\n")) || !bytes.Contains(sheet, []byte("None.")) {
		t.Errorf("the data sheet does not say what was left out: %v\n%s", err, sheet)
	}
	if v, err := Replay(t.Context(), dir, t.TempDir(), []*job.Reader{two, one}, nil); err != nil || v.Files != 2 || len(v.Differ) > 0 {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := Replay(t.Context(), dir, t.TempDir(), []*job.Reader{one}, nil); err != nil || len(v.Differ) != 2 {
		t.Errorf("of another job: %+v %v", v, err)
	}
}

// The program shown in docs/text.md finds the bytes of each row, and reports a row that was changed.
func TestDocumentedProgramTracesRows(t *testing.T) {
	source := filepath.Join("testdata", "trace.go")
	r := crawled(t)
	_, lines := rowsOf(t, made(t, nil, r))
	trace := func(lines []byte) string {
		c := exec.CommandContext(t.Context(), "go", "run", source, filepath.Join(r.Dir(), "warc"))
		c.Stdin = bytes.NewReader(lines)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := trace(lines); strings.Count(out, "true ") != 7 || !strings.Contains(out, "false https://birds.example/heron https://birds.example/heron-copy") {
		t.Errorf("%s", out)
	}
	if out := trace(bytes.ReplaceAll(lines, []byte(`"sha256":"`), []byte(`"sha256":"0`))); strings.Count(out, "false ") != 8 {
		t.Errorf("%s", out)
	}
}
