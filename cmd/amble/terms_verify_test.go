package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// A statement that a visit has only in part is not checked, and is no wrong verdict.
func TestVerifyOfALongStatement(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Usage", strings.Repeat("x=y, ", 300)+"train-ai=n")
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	a, _, errs := testApp(nil)
	if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--purpose", "train-ai", srv.URL + "/"}); code != cli.ExitNothing {
		t.Fatal(code, errs)
	}
	a, out, errs := testApp(nil)
	if code := a.run([]string{"verify", dir}); code != cli.ExitDone || !strings.Contains(out.String(), "not checked: "+srv.URL+"/, line 1 of visits.jsonl: a statement is too long") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// TestVerifyComputesVerdictsAgain checks that verify names the URL of a wrong verdict, whichever record was changed.
func TestVerifyComputesVerdictsAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: *\nContent-Usage: /no train-ai=n\nContent-Usage: / train-ai=y\nLicense: /l.xml\n"))
		case "/l.xml":
			_, _ = w.Write([]byte(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/paid"><license><payment type="crawl"><amount currency="USD">0.01</amount></payment></license></content></rsl>`))
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<a href=/no>x</a><a href=/paid>x</a>"))
		}
	}))
	defer srv.Close()
	visits := func(old, changed string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, job.VisitsName), func(s string) string {
				if !strings.Contains(s, old) {
					t.Fatalf("no %s in %s", old, s)
				}
				return strings.Replace(s, old, changed, 1)
			})
		}
	}
	for name, c := range map[string]struct {
		tamper func(t *testing.T, dir string)
		want   string
	}{
		"nothing":              {func(*testing.T, string) {}, ""},
		"a verdict":            {visits(`"effect":"forbids"`, `"effect":"allows"`), "/no, line"},
		"an outcome":           {visits(`"outcome":"refused","reason":"usage_signal","detail":"refused: train-ai is forbidden`, `"outcome":"fetched","reason":"","detail":"refused: train-ai is forbidden`), "/no, line"},
		"a statement":          {visits(`"text":"/no train-ai=n"`, `"text":"/no train-ai=y"`), "/no, line"},
		"what a statement is":  {visits(`"train_ai":"forbids"`, `"train_ai":"allows"`), "/no, line"},
		"what a licence means": {visits(`"train_ai":"unmet"`, `"train_ai":"allows"`), "/paid, line"},
		"no terms": {func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, job.VisitsName), func(s string) string {
				begin := strings.Index(s, `,"terms":`)
				return s[:begin] + s[begin+strings.Index(s[begin:], `]}`)+2:]
			})
		}, "line 1 of"},
		"a kept licence": {func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "robots", "*.txt"))
			if err != nil || len(files) != 3 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				edit(t, f, func(s string) string { return strings.ReplaceAll(s, `type="crawl"`, `type="free"`) })
			}
		}, "/paid, line"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			a, _, errs := testApp(nil)
			if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--purpose", "train-ai", srv.URL + "/"}); code != cli.ExitDone {
				t.Fatal(code, errs)
			}
			c.tamper(t, dir)
			a, out, _ := testApp(nil)
			code := a.run([]string{"verify", dir})
			if c.want == "" {
				if code != cli.ExitDone || !strings.Contains(out.String(), "3 verdicts about uses computed again") {
					t.Errorf("exit code %d\n%s", code, out)
				}
				return
			}
			if code != cli.ExitPoliteness || !strings.Contains(out.String(), "wrong verdict: "+srv.URL) || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %q in\n%s", code, c.want, out)
			}
		})
	}
}

// TestVerifyReadsArchivedAnswersAgain checks that verify compares the statements of header fields and META elements in visits with the
// archived responses, and notices a change of either. Without an archive, verify says that it took the statements from the visits.
func TestVerifyReadsArchivedAnswersAgain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Usage", "search=y")
			_, _ = w.Write([]byte("<a href=/said>x</a>"))
		case "/said": // requested last, because tampering with a record of an archive moves the following records
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Usage", "train-ai=y")
			_, _ = w.Write([]byte("<meta name=tdm-reservation content=0>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	visits := func(change func(string) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { edit(t, filepath.Join(dir, job.VisitsName), change) }
	}
	archive := func(old, changed string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { tamper(t, dir, srv.URL+"/said", old, changed) }
	}
	for name, c := range map[string]struct {
		format, want string
		tamper       func(t *testing.T, dir string)
	}{
		"nothing":             {"jsonl,warc", "2 verdicts about uses computed again from the files that were kept: all the same\n", func(*testing.T, string) {}},
		"lines":               {"jsonl", "note: what header and META elements of 2 pages say was read from visits.jsonl", func(*testing.T, string) {}},
		"an archived header":  {"jsonl,warc", "wrong verdict: " + srv.URL + "/said, ", archive("Content-Usage: train-ai=y", "Content-Usage: train-ai=n")},
		"an archived element": {"jsonl,warc", "wrong verdict: " + srv.URL + "/said, ", archive("tdm-reservation content=0", "tdm-reservation content=1")},
		"a licence in an archived header": {"jsonl,warc", "names the licence " + srv.URL + "/l, and it is not recorded that it was read", archive(
			"Content-Usage: train-ai=y", `Link: </l>;rel=license;type="application/rsl+xml"`)},
		"an archived header, with its hash": {"jsonl,warc", "not checked: " + srv.URL + "/said, ", func(t *testing.T, dir string) {
			tamper(t, dir, srv.URL+"/said", "Content-Usage: train-ai=y", "Content-Usage: train-ai=n", "digest")
		}},
		"the visit": {"jsonl,warc", "wrong verdict: " + srv.URL + "/said, ", visits(func(s string) string {
			return strings.NewReplacer(`"train-ai=y"`, `"train-ai=n"`, `"train_ai":"allows"`, `"train_ai":"forbids"`).Replace(s)
		})},
		"the record of the visit": {"jsonl,warc", "/said, line 2 of visits.jsonl: no statement is recorded, and the archived answer has some", visits(func(s string) string {
			begin := strings.LastIndex(s, `,"terms":`)
			return s[:begin] + s[begin+strings.Index(s[begin:], `]}`)+2:]
		})},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "job")
			a, _, errs := testApp(nil)
			if code := a.run([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--format", c.format, srv.URL + "/"}); code != cli.ExitDone {
				t.Fatal(code, errs)
			}
			c.tamper(t, dir)
			a, out, _ := testApp(nil)
			code := a.run([]string{"verify", dir})
			if wrong := !strings.HasPrefix(c.want, "2 ") && !strings.HasPrefix(c.want, "note") && !strings.HasPrefix(c.want, "not checked"); wrong != (code == cli.ExitPoliteness) ||
				!strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %q in\n%s", code, c.want, out)
			}
			if name == "nothing" && strings.Contains(out.String(), "note: what header") {
				t.Errorf("the answers are archived:\n%s", out)
			}
		})
	}
}

// tamper changes the archived response for a URL. It also removes the digests of the record, unless keep says that they stay and are wrong.
func tamper(t *testing.T, dir, url, old, changed string, keep ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in, done, from := bytes.NewReader(b), false, 0
	z, err := gzip.NewReader(in)
	for ; err == nil; err = z.Reset(in) {
		z.Multistream(false)
		record, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		member := b[from : len(b)-in.Len()]
		from += len(member)
		text := string(record)
		if strings.Contains(text, "WARC-Type: response") && strings.Contains(text, url+"\r\n") {
			if !strings.Contains(text, old) {
				t.Fatalf("no %s in %s", old, text)
			}
			text = strings.Replace(text, old, changed, 1)
			if len(keep) == 0 {
				text = strings.NewReplacer("WARC-Block-Digest", "X-Block-Digest", "WARC-Payload-Digest", "X-Payload-Digest").Replace(text)
			}
			text = lengthen(text, len(changed)-len(old))
			done = true
		} else {
			_, _ = out.Write(member)
			continue
		}
		w := gzip.NewWriter(&out)
		if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	if !done {
		t.Fatalf("the archive has no answer of %s", url)
	}
	if err := os.WriteFile(files[0], out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lengthen adds a number to the first Content-Length in the text of a record.
func lengthen(record string, by int) string {
	before, rest, _ := strings.Cut(record, "Content-Length: ")
	length, rest, _ := strings.Cut(rest, "\r\n")
	n, _ := strconv.Atoi(length)
	return before + "Content-Length: " + strconv.Itoa(n+by) + "\r\n" + rest
}
