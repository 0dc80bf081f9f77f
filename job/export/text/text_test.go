package text_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
)

const herons = `<html lang=en><title>Herons</title><meta name=author content="Ada Bird"><link rel=license href="https://creativecommons.org/licenses/by/4.0/">
<nav><a href=/>Home</a> <a href=/b>Copy</a> <a href=/c>Short</a></nav><article><h1>Herons</h1>
<p>Three pairs of grey herons have been seen at the lake this week, for the first time since the winter of 2011, said the bird society.</p>
<p>The birds had left after the reeds were cut, and the society had asked the town, year after year, to let them grow <b>again</b>.</p></article>`

// exported crawls a site and returns the rows of an export.
func exported(t *testing.T, kind export.Kind) (rows []text.Row, raw []byte) {
	t.Helper()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site := w.Site("https://birds.example")
		site.Page("/", herons)
		site.Page("/b", herons)
		site.Page("/c", `<p>Ein Reiher steht still am See und wartet, bis ein Fisch nahe genug kommt, und dann stößt er zu.`).Header("Content-Usage", "train-ai=n")
		dir := filepath.Join(t.TempDir(), "job")
		config := job.Config{Archive: true}
		config.Crawl.Contact = exporttest.Contact
		w.Apply(&config.Crawl)
		j, err := job.Create(dir, config, "https://birds.example/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := job.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		path := filepath.Join(t.TempDir(), "out")
		res, err := export.Write(context.Background(), r, kind, path, nil)
		if err != nil || len(res.Notes) > 0 {
			t.Fatal(res, err)
		}
		if raw, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if _, err := export.Write(context.Background(), r, kind, path+"2", nil); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(path + "2"); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("the same job gives\n%s\nand\n%s (%v)", raw, again, err)
		}
	})
	for in := bufio.NewScanner(bytes.NewReader(raw)); in.Scan(); {
		var r text.Row
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows, raw
}

func TestRowsOfPages(t *testing.T) {
	rows, _ := exported(t, text.Text())
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if len(r.SHA256) != 64 || !strings.HasSuffix(r.WARC, ".warc.gz") || r.Markdown != "" {
			t.Errorf("%+v", r)
		}
	}
	a, b, c := rows[0], rows[1], rows[2]
	if a.URL != "https://birds.example/" || a.Title != "Herons" || a.Byline != "Ada Bird" || a.Licence != "CC-BY-4.0" || a.Language != "en" || a.DeclaredLanguage != "en" || a.LanguageConfidence < 0.5 ||
		a.DuplicateOf != "" || a.Words < 45 || !strings.Contains(a.Text, "to let them grow again.") || strings.Contains(a.Text, "Home") {
		t.Errorf("%+v", a)
	}
	if b.DuplicateOf != a.URL {
		t.Errorf("duplicate of %q", b.DuplicateOf)
	}
	if c.Language != "de" || c.DuplicateOf != "" || len(c.Consent) != 1 || c.Consent[0].Use != "train-ai" || c.Terms == nil || a.Terms != nil {
		t.Errorf("%+v", c)
	}
}

func TestMarkdownRows(t *testing.T) {
	rows, raw := exported(t, text.Markdown())
	if len(rows) != 3 || rows[0].Text != "" || !strings.Contains(rows[0].Markdown, "to let them grow **again**.") {
		t.Errorf("%s", raw)
	}
}

func TestJobWithoutArchiveIsRefused(t *testing.T) {
	r, err := exporttest.Shop(filepath.Join(t.TempDir(), "job"), job.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := export.Write(context.Background(), r, text.Text(), filepath.Join(t.TempDir(), "out"), nil); err == nil || !strings.Contains(err.Error(), "keeps no archive") {
		t.Errorf("error %v", err)
	}
}
