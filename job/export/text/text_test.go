package text_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

const herons = `<html lang=en><title>Herons</title><meta name=author content="Ada Bird"><link rel=license href="https://creativecommons.org/licenses/by/4.0/">
<nav><a href=/>Home</a> <a href=/b>Copy</a> <a href=/c>Short</a></nav><article><h1>Herons</h1>
<p>Three pairs of grey herons have been seen at the lake this week, for the first time since the winter of 2011, said the bird society.</p>
<p>The birds had left after the reeds were cut, and the society had asked the town, year after year, to let them grow <b>again</b>.</p></article>`

// crawled crawls the site that set makes, with an archive and the configuration as changed by change. It returns the job's directory.
func crawled(t *testing.T, set func(site *crawltest.Site), change ...func(*job.Config)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "job")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		set(w.Site("https://birds.example"))
		config := job.Config{Archive: true}
		config.Crawl.Contact = exporttest.Contact
		for _, f := range change {
			f(&config)
		}
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
	})
	return dir
}

// exported exports jobs, and returns the bytes and notes of the export.
func exported(t *testing.T, kind export.Kind, dirs ...string) (raw []byte, notes []string) {
	t.Helper()
	var jobs []*job.Reader
	for _, dir := range dirs {
		r, err := job.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		jobs = append(jobs, r)
	}
	path := filepath.Join(t.TempDir(), "out")
	res, err := export.WriteAll(context.Background(), jobs, kind, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return raw, res.Notes
}

func rowsOf(t *testing.T, raw []byte) (rows []text.Row) {
	t.Helper()
	for in := json.NewDecoder(bytes.NewReader(raw)); in.More(); {
		var r text.Row
		if err := in.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func birds(site *crawltest.Site) {
	site.Page("/", herons)
	site.Page("/b", herons)
	site.Page("/c", `<p>Ein Reiher steht still am See und wartet, bis ein Fisch nahe genug kommt, und dann stößt er zu.`).Header("Content-Usage", "train-ai=n")
}

func TestRowsOfPages(t *testing.T) {
	raw, notes := exported(t, text.Text(text.Options{}), crawled(t, birds))
	rows := rowsOf(t, raw)
	if len(rows) != 3 || len(notes) > 0 {
		t.Fatalf("%d rows, %q", len(rows), notes)
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
	raw, _ := exported(t, text.Markdown(text.Options{}), crawled(t, birds))
	rows := rowsOf(t, raw)
	if len(rows) != 3 || rows[0].Text != "" || !strings.Contains(rows[0].Markdown, "to let them grow **again**.") {
		t.Errorf("%s", raw)
	}
}

func TestRefusedUsesAreLeftOut(t *testing.T) {
	dir := crawled(t, birds)
	raw, notes := exported(t, text.Text(text.Options{Refuse: []string{"train-ai"}}), dir)
	if rows := rowsOf(t, raw); len(rows) != 2 || len(notes) != 1 || !strings.Contains(notes[0], "1 page left out: their sites refuse") {
		t.Errorf("%d rows, %q", len(rows), notes)
	}
	if raw, _ := exported(t, text.Text(text.Options{Refuse: []string{"search"}}), dir); len(rowsOf(t, raw)) != 3 {
		t.Errorf("%s", raw)
	}
}

// An export of several jobs has the same bytes in any order of jobs and of pages. The second crawl finds the pages in reverse order.
func TestJobsInAnyOrderGiveTheSameRows(t *testing.T) {
	one := crawled(t, birds)
	two := crawled(t, func(site *crawltest.Site) {
		time.Sleep(time.Hour) // in the virtual time of the simulated web
		site.Page("/", `<a href=/c>c</a> <a href=/b>b</a> <p>A page that only has links, and this one sentence about the links that it has.`)
		site.Page("/b", strings.Replace(herons, "this week", "last week", 1))
		site.Page("/c", herons)
	})
	for _, kind := range []export.Kind{text.Text(text.Options{}), text.Markdown(text.Options{}), text.WET(text.Options{})} {
		raw, _ := exported(t, kind, one, two)
		if again, _ := exported(t, kind, two, one); !bytes.Equal(raw, again) {
			t.Errorf("%s:\n%s\nand\n%s", kind.Name, raw, again)
		}
		if kind.Name != "text" {
			continue
		}
		var got []string
		for _, r := range rowsOf(t, raw) {
			got = append(got, strings.TrimPrefix(r.URL, "https://birds.example")+" "+strings.TrimPrefix(r.DuplicateOf, "https://birds.example"))
		}
		if want := "/ ,/ ,/b /,/b /,/c ,/c /"; strings.Join(got, ",") != want {
			t.Errorf("duplicates %q, want %q", strings.Join(got, ","), want)
		}
	}
}

const (
	subscribe = "<p>Subscribe to our letter about birds, and never miss a text.</p>"
	clause    = "<h2>What they eat every day</h2>"
)

// frames makes pages that share a paragraph, and pages that are versions of one page.
func frames(site *crawltest.Site) {
	links := ""
	for i, bird := range []string{"heron", "swan", "goose", "duck", "coot", "kestrel"} {
		links += fmt.Sprintf("<a href=/%s>%s</a> ", bird, bird)
		site.Page("/"+bird, fmt.Sprintf("<title>%[1]s</title><article><h1>The %[1]s</h1><p>The %[1]s has been seen at the lake %[2]d times this week, said the society of the %[1]s, and will stay until the end of the %[1]s season.</p>%[3]s%[4]s<p>Of %[2]d kinds of fish the %[1]s likes the small ones, which every %[1]s catches with patience in the water of the lake.</p></article>", bird, 3+i, subscribe, clause))
		links += fmt.Sprintf("<a href=/terms/%d>terms</a> ", i)
		site.Page(fmt.Sprintf("/terms/%d", i), fmt.Sprintf("<title>Terms</title><article><h1>Terms</h1><p>Whoever visits the lake keeps to the path and keeps dogs on a lead at all times.</p><p>Whoever feeds the birds pays for the damage, and is asked to leave the lake at once.</p><p>Version %d of the terms.</p></article>", i))
	}
	site.Page("/", links)
}

func TestBlocksThatSiteRepeatsAreRemoved(t *testing.T) {
	raw, notes := exported(t, text.Markdown(text.Options{}), crawled(t, frames))
	for _, r := range rowsOf(t, raw) {
		switch {
		case strings.Contains(r.URL, "/terms/"):
			if !strings.Contains(r.Markdown, "Whoever visits the lake") || !strings.Contains(r.Markdown, "Whoever feeds") {
				t.Errorf("versions of a page lose their text: %s", r.Markdown)
			}
		case r.URL != "https://birds.example/":
			if strings.Contains(r.Markdown, "Subscribe") || !strings.Contains(r.Markdown, "every day") || !strings.Contains(r.Markdown, "patience") {
				t.Errorf("%s", r.Markdown)
			}
		}
	}
	if len(notes) != 1 || notes[0] != "6 pages lost blocks that their sites repeat" {
		t.Errorf("%q", notes)
	}
}

// A repeated block of text is kept if only three pages of a small site have it, or four of a large one, or only versions of one page.
func TestBlocksOfFewPagesStay(t *testing.T) {
	raw, notes := exported(t, text.Markdown(text.Options{}), crawled(t, func(site *crawltest.Site) {
		links := ""
		page := func(path, name, more string) {
			links += fmt.Sprintf("<a href=%s>%s</a> ", path, name)
			site.Page(path, fmt.Sprintf("<title>%[1]s</title><article><h1>The %[1]s</h1><p>The %[1]s has been seen at the lake this week, said the society of the %[1]s, and will stay until the end of the %[1]s season.</p>%[2]s<p>Of all kinds of fish the %[1]s likes the small ones, which every %[1]s catches with patience in the water of the lake.</p></article>", name, more))
		}
		const note = "<p>A note that few of the pages have, though more than one.</p>"
		for i := range 50 {
			more := ""
			if i < 4 {
				more = note
			}
			page(fmt.Sprintf("/%d", i), fmt.Sprintf("bird%d", i), more)
		}
		site.Page("/", links)
	}))
	if n := bytes.Count(raw, []byte("A note that few")); n != 4 {
		t.Errorf("%d pages have the note", n)
	}
	if len(notes) > 0 {
		t.Errorf("of four in fifty pages: %q", notes)
	}
	_, notes = exported(t, text.Markdown(text.Options{}), crawled(t, func(site *crawltest.Site) {
		links := ""
		for i, bird := range []string{"heron", "swan", "goose", "heron", "heron", "heron", "duck", "coot"} {
			links += fmt.Sprintf("<a href=/%d>%s</a> ", i, bird)
			more := ""
			if bird == "heron" || bird == "swan" || bird == "goose" {
				more = "<p>A note that three texts of the site have, one of them four times.</p>"
			}
			site.Page(fmt.Sprintf("/%d", i), fmt.Sprintf("<title>%[1]s</title><article><h1>The %[1]s</h1><p>The %[1]s has been seen at the lake this week, said the society of the %[1]s, and will stay until the end of the %[1]s season.</p>%[2]s<p>Of all kinds of fish the %[1]s likes the small ones, which every %[1]s catches with patience in the water of the lake.</p></article>", bird, more))
		}
		site.Page("/", links)
	}))
	if len(notes) > 0 {
		t.Errorf("of three texts: %q", notes)
	}
}

// An independent reader checks that each record is of type conversion, in a separate gzip member, and refers to a response in the
// archive.
func TestWETRefersToAnswers(t *testing.T) {
	dir := crawled(t, birds)
	raw, _ := exported(t, text.WET(text.Options{}), dir)
	in := bufio.NewReader(bytes.NewReader(raw))
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		z.Multistream(false)
		r := bufio.NewReader(z)
		version, _ := r.ReadString('\n')
		head, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil || version != "WARC/1.0\r\n" {
			t.Fatalf("%q %v", version, err)
		}
		block, err := io.ReadAll(r)
		if n := head.Get("Content-Length"); err != nil || n != strconv.Itoa(len(block)-4) || !bytes.HasSuffix(block, []byte("\r\n\r\n")) {
			t.Fatalf("%s bytes, %q (%v)", n, block, err)
		}
		sum := sha1.Sum(block[:len(block)-4])
		if d := head.Get("WARC-Block-Digest"); d != "sha1:"+base32.StdEncoding.EncodeToString(sum[:]) {
			t.Errorf("digest %s", d)
		}
		got = append(got, head.Get("WARC-Type")+" "+head.Get("WARC-Target-URI")+" "+head.Get("WARC-Identified-Content-Language"))
		if id := head.Get("WARC-Refers-To"); id != "" && !hasRecord(t, dir, id, head.Get("WARC-Date")) {
			t.Errorf("no answer is %s", id)
		}
		if err := z.Reset(in); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"warcinfo  ", "conversion https://birds.example/ eng", "conversion https://birds.example/b eng", "conversion https://birds.example/c deu"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// hasRecord reports whether the archive has a response with this record ID and date.
func hasRecord(t *testing.T, dir, id, date string) bool {
	t.Helper()
	rs, err := warctest.Read(filepath.Join(dir, "warc"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(rs, func(r *warctest.Record) bool {
		return (r.Type() == "response" || r.Type() == "revisit") && r.Get("WARC-Record-ID") == id && r.Get("WARC-Date")[:19] == date[:19]
	})
}

func TestOtherProgramReadsWET(t *testing.T) {
	raw, _ := exported(t, text.WET(text.Options{}), crawled(t, birds))
	path := filepath.Join(t.TempDir(), "birds.warc.wet.gz")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	out := exporttest.Node(t, fmt.Sprintf(`import fs from "fs"; import { WARCParser } from "warcio";
for await (const r of new WARCParser(fs.createReadStream(%q))) console.log(r.warcType, r.warcTargetURI, (await r.contentText()).slice(0, 12));`, path), "warcio")
	if want := "conversion https://birds.example/ Three pairs "; !strings.Contains(out, want) || strings.Count(out, "conversion") != 3 {
		t.Errorf("%s", out)
	}
}

func TestJobWithoutArchiveIsRefused(t *testing.T) {
	r, err := exporttest.Shop(filepath.Join(t.TempDir(), "job"), job.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := export.Write(context.Background(), r, text.Text(text.Options{}), filepath.Join(t.TempDir(), "out"), nil); err == nil || !strings.Contains(err.Error(), "keeps no archive") {
		t.Errorf("error %v", err)
	}
}
