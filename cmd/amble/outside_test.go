package main

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// The golden files in testdata/outside record the command as its users see it, so that no internal change alters it unnoticed: the help of
// every command, the output about recorded jobs, and the files that a crawl writes. TestOutsideExitCodes checks exit codes. After a change
// that users are meant to notice,
//
//	go test ./cmd/amble -run Outside -update
//
// writes the golden files again.

// sameAsGolden compares text with a file in testdata/outside.
func sameAsGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "outside", name)
	if *updateGoldens {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: go test ./cmd/amble -run Outside -update writes it", err)
	}
	was, is := strings.Split(string(b), "\n"), strings.Split(text, "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("%s, line %d: is\n%s\nwas\n%s\nIf users are meant to notice this: go test ./cmd/amble -run Outside -update", path, i+1, lineAt(is, i), lineAt(was, i))
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// transcript records the output and exit codes of commands.
type transcript struct {
	strings.Builder
	names *strings.Replacer // replaces texts that differ from machine to machine
}

// run runs a command, and adds its output and exit code.
func (s *transcript) run(args ...string) {
	a, out, errs := testApp(nil)
	code := a.run(args)
	fmt.Fprintf(s, "$ amble %s\n%s", s.names.Replace(strings.Join(args, " ")), s.named(out.String()))
	if errs.Len() > 0 {
		fmt.Fprintf(s, "[stderr]\n%s", s.named(errs.String()))
	}
	fmt.Fprintf(s, "[exit %d]\n\n", code)
}

// file adds the content of a file, or of all files in a directory.
func (s *transcript) file(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(s, "-- %s --\n%s\n", s.names.Replace(path), s.named(string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// machines lists the texts that depend on the machine and the time. Among them, now matches the time of a status.
var machines = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`"now":"[^"]*"`), `"now":"NOW"`},
	{regexp.MustCompile(`"space":{[^}]*},"space_lasts_s":[^,}]*`), `"space":SPACE`},
	{regexp.MustCompile(`(?m)^  .* on disk, .* more until .*$`), "  SPACE"},
}

func (s *transcript) named(text string) string {
	text = s.names.Replace(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, of := range machines {
		text = of.pattern.ReplaceAllString(text, of.by)
	}
	return text
}

func TestOutsideHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	s := &transcript{names: strings.NewReplacer()}
	s.run("help")
	for _, c := range model(t).Children {
		s.run("help", c.Name)
		for _, sub := range c.Children {
			s.run(append([]string{"help"}, strings.Fields(keyflags.CommandName(sub))...)...)
		}
	}
	sameAsGolden(t, "help.txt", s.String())
}

// recordedJobs lists jobs that earlier versions have written.
var recordedJobs = []string{"job-0.1.0/finished", "job-0.1.0/killed", "job-0.2.0/finished", "job-0.2.0/killed"}

// copiedJob returns a copy of a recorded job.
func copiedJob(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", filepath.FromSlash(name)))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOutsideOfRecordedJobs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are written in another way")
	}
	const site = "http://127.0.0.1:8807/"
	for _, name := range recordedJobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copiedJob(t, name)
			to := t.TempDir()
			s := &transcript{names: strings.NewReplacer(dir, "JOB", to, "TO")}
			s.run("status", "--json", dir)
			s.run("status", dir)
			s.run("verify", "--json", dir)
			s.run("verify", dir)
			for _, u := range []string{"p1.html", "private/x.html", "p3.html", "nowhere"} {
				s.run("explain", dir, site+u)
			}
			s.run("explain", "--json", dir, site+"p1.html")
			s.run("explain", dir, "--for-owner", "--host", "127.0.0.1")
			s.run("report", "--json", dir)
			s.run("report", dir)
			s.run("replay", dir)
			for _, kind := range []string{"crawl.log", "csv"} {
				s.run("export", dir, "--to", kind, "-o", filepath.Join(to, kind))
				s.file(t, filepath.Join(to, kind))
			}
			sameAsGolden(t, strings.ReplaceAll(name, "/", "-")+".txt", s.String())
		})
	}
}

func TestOutsideOfTheReportAsPage(t *testing.T) {
	t.Parallel()
	dir := copiedJob(t, "job-0.2.0/finished")
	s := &transcript{names: strings.NewReplacer(dir, "JOB")}
	s.run("report", dir)
	for _, name := range []string{"report.html", "hosts.csv", "problems.csv", "datasheet.md", "datasheet.json"} {
		s.file(t, filepath.Join(dir, name))
	}
	sameAsGolden(t, "report.txt", s.String())
}

func TestOutsideOfCommandsThatCompareAndJudge(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are written in another way")
	}
	tmp, old, dir := t.TempDir(), copiedJob(t, "job-0.1.0/killed"), copiedJob(t, "job-0.2.0/finished")
	file := filepath.Join(tmp, "robots.txt")
	if err := os.WriteFile(file, []byte("User-agent: *\nDisallow: /no\nCrawl-delay: 3\nNonsense: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &transcript{names: strings.NewReplacer(tmp, "TMP", old, "OLD", dir, "JOB")}
	for _, json := range [][]string{nil, {"--json"}} {
		s.run(append([]string{"diff", old, dir}, json...)...)
		s.run(append([]string{"robots", "--file", file, "http://site.test/no/1", "http://site.test/yes"}, json...)...)
		s.run(append([]string{"explain", "--offline", "--seed", "http://site.test/", "--exclude", "/x", "http://site.test/x?a=1"}, json...)...)
		s.run(append([]string{"explain", "--file", file, "http://site.test/no"}, json...)...)
	}
	sameAsGolden(t, "commands.txt", s.String())
}

// masks lists the parts of a job's records that differ from crawl to crawl.
var masks = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`("(?:chain|run|user|machine|go|build|name|os|arch|bound_by)": ?)"[^"]*"`), `$1"…"`},
	{regexp.MustCompile(`("(?:took|through|pid|cpus|connections|[a-z0-9_]*seconds|[a-z0-9_]*_s|least_ratio|pauses|early|offset|length)": ?)[\d.e-]+`), "${1}0"},
	{regexp.MustCompile(`"clauses":\[.*?\],?`), ""},
	{regexp.MustCompile(`amble-\d+-`), "amble-TIME-"},
	{regexp.MustCompile(` +# `), " # "}, // column widths depend on the length of a port
	{regexp.MustCompile(`(\s"bytes": )\d+(,\s+"sha256": )"[^"]*"`), `${1}0$2"…"`},
}

// madeBy matches the name of this version.
var madeBy = regexp.MustCompile(`amble/` + regexp.QuoteMeta(crawler.Version))

func TestOutsideOfTheFilesOfACrawl(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("paths are written in another way")
	}
	proxy := siteBehindProxy(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
		case "/":
			page("Home", "/1", "/private/2", "/old", "/missing", "mailto:a@site.test", "https://site.test/")(w, r)
		case "/1":
			page("One", "/")(w, r)
		case "/old":
			http.Redirect(w, r, "/1", http.StatusMovedPermanently)
		default:
			http.NotFound(w, r)
		}
	})
	tmp := t.TempDir()
	dir, own := filepath.Join(tmp, "job"), filepath.Join(tmp, "own.txt")
	if err := os.WriteFile(own, []byte("127.0.0.1:8807\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a, _, errs := testApp(nil)
	code := a.run([]string{
		"crawl", "-w", "0", "--delay-factor", "none", "-o", dir, "--archive", "--keep-links", "--own-hosts", own, "--proxy", proxy,
		"--contact", "https://lab.university.edu/crawl", "http://127.0.0.1:8807/",
	})
	if code != cli.ExitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	s := &transcript{names: strings.NewReplacer(tmp, "TMP", proxy, "PROXY")}
	for _, name := range []string{"manifest.json", "visits.jsonl", "links.jsonl", "ledger.jsonl", "robots", "report.json"} {
		s.file(t, filepath.Join(dir, name))
	}
	s.file(t, filepath.Join(dir, "job.yaml"))
	text := s.String()
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.by)
	}
	s.Reset()
	s.file(t, filepath.Join(dir, "politeness.json"))
	s.file(t, filepath.Join(dir, "settings"))
	sameAsGolden(t, "crawl.txt", madeBy.ReplaceAllString(text+s.String(), "amble/VERSION"))
}

func TestOutsideExitCodes(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private/\n"))
		case "/loops":
			page("Loops", "loop1", "loop2")(w, r)
		case "/loop1", "/loop2":
			w.WriteHeader(http.StatusFound)
		case "/wall":
			w.Header().Set("Cf-Mitigated", "challenge")
			w.WriteHeader(http.StatusForbidden)
		default:
			page("Page", "/1", "/2", "/3")(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	tmp := t.TempDir()
	file := filepath.Join(tmp, "robots.txt")
	if err := os.WriteFile(file, []byte("User-agent: *\nDisallow: /no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	change := func(dir, name, old, by string) {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), old) {
			t.Fatalf("%s has no %q: %v", path, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, by, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hasty, damaged := copiedJob(t, "job-0.2.0/finished"), copiedJob(t, "job-0.2.0/finished")
	change(hasty, "politeness.json", `"delay_s": 0.1`, `"delay_s": 9`)
	change(damaged, "visits.jsonl", `"status":200`, `"status":201`)
	named := strings.NewReplacer(
		"JOB", copiedJob(t, "job-0.2.0/finished"), "OLD", copiedJob(t, "job-0.1.0/finished"), "KILLED", copiedJob(t, "job-0.2.0/killed"), "NOARCHIVE", copiedJob(t, "job-without-chain"),
		"HASTY", hasty, "DAMAGED", damaged, "TMP", tmp, "FILE", file, "WEB", srv.URL, "NOBODY", "http://127.0.0.1:2",
	)
	for _, c := range []struct {
		code int
		args string
	}{
		{0, ""},
		{0, "help"},
		{0, "help crawl"},
		{2, "help nope"},
		{2, "nope"},

		{0, "crawl -q -w 0 --max-pages 1 WEB/"},
		{0, "crawl --print-config"},
		{2, "crawl"},
		{2, "crawl --nope WEB/"},
		{2, "crawl ftp://site.test/"},
		{2, "crawl http://site.test/"},
		{2, "crawl --max-pages x WEB/"},
		{2, "crawl --scope any WEB/"},
		{2, "crawl --fresh -o JOB WEB/"},
		{2, "crawl --config TMP/none.yaml WEB/"},
		{3, "crawl -q -w 0 WEB/private/"},
		{3, "crawl -q -w 0 --robots-give-up 1ms NOBODY/"},
		{4, "crawl -q -w 0 --max-errors 1 WEB/loops"},
		{5, "crawl -q -w 0 --max-pages 1 --fail-on-limit WEB/"},
		{6, "crawl -q -o FILE WEB/"},
		{8, "crawl -q -w 0 WEB/wall"},

		{0, "resume JOB"},
		{2, "resume"},
		{2, "resume TMP/none"},
		{2, "resume JOB --depth 1"},
		{6, "resume DAMAGED --max-pages 100 --retry failed"},
		{2, "watch JOB"},
		{2, "cluster"},
		{2, "cluster create"},
		{2, "cluster status"},
		{2, "demo --nope"},

		{0, "report JOB"},
		{0, "report KILLED"},
		{2, "report TMP/none"},
		{0, "export JOB --to csv -o TMP/csv"},
		{2, "export JOB --to csv -o TMP/csv"},
		{2, "export JOB"},
		{2, "export JOB --to nope"},
		{2, "export TMP/none --to csv"},
		{2, "serve TMP/none"},
		{0, "explain JOB http://127.0.0.1:8807/"},
		{0, "explain --offline http://site.test/"},
		{0, "explain --file FILE http://site.test/no"},
		{0, "explain --offline mailto:a@site.test"},
		{2, "explain"},
		{2, "explain TMP/none http://site.test/"},
		{2, "explain --file TMP/none http://site.test/"},
		{2, "explain JOB --for-owner"},
		{3, "explain JOB --for-owner --host b.test"},
		{3, "explain NOBODY/"},
		{0, "links WEB/"},
		{2, "links"},
		{0, "text WEB/"},
		{2, "text"},
		{0, "status JOB"},
		{0, "status KILLED"},
		{2, "status TMP/none"},
		{0, "diff JOB JOB"},
		{0, "diff JOB OLD"},
		{2, "diff JOB"},
		{2, "diff JOB TMP/none"},
		{2, "shell"},

		{0, "plan WEB/"},
		{2, "plan"},
		{0, "robots --file FILE http://site.test/yes"},
		{0, "robots --file FILE http://site.test/no"},
		{2, "robots"},
		{2, "robots --file TMP/none http://site.test/"},
		{3, "robots NOBODY/"},
		{0, "verify JOB"},
		{0, "verify KILLED"},
		{0, "verify NOARCHIVE"},
		{2, "verify TMP/none"},
		{6, "verify DAMAGED"},
		{7, "verify HASTY"},
		{0, "replay JOB"},
		{2, "replay NOARCHIVE"},
		{2, "replay TMP/none"},
		{6, "replay DAMAGED"},

		{0, "identity --help"},
		{2, "identity init TMP/identity"},
		{2, "identity init"},
		{2, "identity nope TMP/identity"},
		{0, "completion bash"},
		{2, "completion nope"},
		{0, "version"},
		{0, "--version"},
	} {
		a, _, errs := testApp(nil)
		if code := a.run(strings.Fields(named.Replace(c.args))); code != c.code {
			t.Errorf("amble %s: exit code %d, want %d\n%s", c.args, code, c.code, errs)
		}
	}
}
