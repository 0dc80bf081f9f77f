package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
)

// killedJobDir makes a job whose process is killed after some requests.
func killedJobDir(t *testing.T) (dir string) {
	t.Helper()
	var requests atomic.Int32
	enough := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); n == 12 {
			enough <- struct{}{}
		}
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /no\n"))
			return
		}
		page("Page", "1"+r.URL.Path[1:], "2"+r.URL.Path[1:])(w, r)
	}))
	t.Cleanup(srv.Close)
	dir = filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-q", "-w", "100ms", "-d", "none", "--max-pages", "none", "--archive", "-o", dir, srv.URL+"/")
	<-enough
	p.signal(t, syscall.SIGKILL)
	p.end(t)
	return dir
}

// archiveOf returns the first archive of a job.
func archiveOf(t *testing.T, dir string) string {
	t.Helper()
	archives, err := fs.Glob(os.DirFS(dir), "warc/*.warc.gz")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	return archives[0]
}

// damages lists ways to damage a file of a job, each with the message that reports the damage.
var damages = map[string]struct {
	spoil func(b []byte) []byte
	told  string
}{
	"missing": {func([]byte) []byte { return nil }, `it is missing, where [1-9]\d* bytes were committed`},
	"empty":   {func([]byte) []byte { return []byte{} }, `it ends at byte 0, where [1-9]\d* bytes were committed`},
	"without its last line": {func(b []byte) []byte {
		half := b[:len(b)/2] // half of the file, so that committed bytes are missing
		return half[:bytes.LastIndexByte(half, '\n')+1]
	}, `it ends at byte \d+, where [1-9]\d* bytes were committed`},
	"torn":               {func(b []byte) []byte { return b[:len(b)/3] }, `it ends at byte \d+, where [1-9]\d* bytes were committed`},
	"with a bit flipped": {func(b []byte) []byte { b[len(b)/3] ^= 4; return b }, `between byte 0 and byte [1-9]\d* it is not what was committed`},
}

// resume and verify refuse a file that became shorter or was replaced. They name the file and the damaged place, and change nothing.
func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	limited, _ := limitedJob(t)
	for kind, whole := range map[string]string{"ended": limited, "killed": killedJobDir(t)} {
		for _, name := range []string{job.LedgerName, job.VisitsName, "robots/index.jsonl", archiveOf(t, whole)} {
			for how, d := range damages {
				t.Run(kind+" "+name+" "+how, func(t *testing.T) {
					dir := copyJob(t, whole)
					path := filepath.Join(dir, name)
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					os.Remove(path)
					if b = d.spoil(b); b != nil {
						if err := os.WriteFile(path, b, 0o600); err != nil {
							t.Fatal(err)
						}
					}
					told := regexp.MustCompile(regexp.QuoteMeta(name) + `( is damaged)?: ` + d.told)
					if name == "robots/index.jsonl" && how == "without its last line" && !bytes.Contains(b, []byte("\n")) {
						t.Skip("it has one line")
					}
					before := contentBut(t, dir, "frontier")
					code, out := ambleOut(t, "verify", dir)
					if code != cli.ExitOutput && code != cli.ExitPoliteness || !told.MatchString(out) {
						t.Errorf("verify: exit code %d, want %d and %v\n%s", code, cli.ExitOutput, told, out)
					}
					code, stderr := amble(t, "resume", dir, "--max-pages", "20")
					if code != cli.ExitOutput || !told.MatchString(stderr) || strings.Count(stderr, "\n") != 1 {
						t.Errorf("resume: exit code %d, want %d and %v\n%s", code, cli.ExitOutput, told, stderr)
					}
					if after := contentBut(t, dir, "frontier"); after != before {
						t.Errorf("resume has changed the job")
					}
				})
			}
		}
	}
}

// contentBut returns the content of a job's files, except those in one directory and the lock file, which names the last process.
func contentBut(t *testing.T, dir, but string) string {
	t.Helper()
	var all strings.Builder
	for _, e := range must(os.ReadDir(dir)) {
		if e.Name() != but && e.Name() != "lock" && e.Name() != "frontier.last" {
			all.WriteString(content(t, filepath.Join(dir, e.Name())))
		}
	}
	return all.String()
}

// If the queue of a job is missing or older than the other files, the job is not mistaken for a new one.
func TestLostQueueIsReported(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	limited, seed := limitedJob(t)
	killed := killedJobDir(t)
	older := filepath.Join(copyJob(t, limited), "frontier")
	if code, stderr := amble(t, "resume", "-q", limited, "--max-pages", "4"); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	for name, c := range map[string]struct {
		job   string
		spoil func(frontier string) error
		told  string
	}{
		"missing, of an ended job": {limited, os.RemoveAll, `frontier is damaged: it is missing`},
		"missing, of a killed job": {killed, os.RemoveAll, `frontier is damaged: it is missing`},
		"of another time": {limited, func(frontier string) error {
			if err := os.RemoveAll(frontier); err != nil {
				return err
			}
			return os.CopyFS(frontier, os.DirFS(older))
		}, `frontier is damaged \(writes until 20[-0-9T:]+Z are missing`},
		"a new one": {killed, func(frontier string) error {
			if err := errors.Join(os.RemoveAll(frontier), os.Remove(frontier+".last")); err != nil {
				return err
			}
			s, err := disk.Open(frontier, disk.Config{})
			if err != nil {
				return err
			}
			return s.Close()
		}, `frontier is damaged: nothing was ever committed in it`},
	} {
		dir := copyJob(t, c.job)
		if err := c.spoil(filepath.Join(dir, "frontier")); err != nil {
			t.Fatal(err)
		}
		before := contentBut(t, dir, "frontier")
		for _, args := range [][]string{{"resume", dir}, {"crawl", "-o", dir, "--max-pages", "9", seed}} {
			if c.job == killed && args[0] == "crawl" {
				continue // the killed job has another seed
			}
			code, stderr := amble(t, args...)
			if code != cli.ExitOutput || !regexp.MustCompile(c.told).MatchString(stderr) || !strings.Contains(stderr, "since set to "+dir) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: amble %q: exit code %d\n%s", name, args, code, stderr)
			}
		}
		if after := contentBut(t, dir, "frontier"); after != before {
			t.Errorf("%s: the job was changed", name)
		}
	}
	// The manifest also states the expected lengths and hashes of the files of a job that has ended.
	if code, out := ambleOut(t, "verify", limited); code != cli.ExitDone || !strings.Contains(out, "as they were committed") {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
	if err := os.RemoveAll(filepath.Join(limited, "frontier")); err != nil {
		t.Fatal(err)
	}
	if code, out := ambleOut(t, "verify", limited); code != cli.ExitDone || !strings.Contains(out, "as they were committed") {
		t.Errorf("verify without the queue: exit code %d\n%s", code, out)
	}
}

// If a version without hashes began a job, the first process of this version reports the missing hashes, and hashes the files from then on.
func TestHashesBeginInAnOldJob(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	dir, _ := limitedJob(t)
	store, err := disk.Open(filepath.Join(dir, "frontier"), disk.Config{})
	if err != nil {
		t.Fatal(err)
	}
	old := map[string][]byte{}
	if err := store.Values(t.Context(), "", "job/", func(name string, _ []byte) error {
		old[name] = nil
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), nil, frontier.Checkpoint{Values: old}); err != nil || len(old) < 4 {
		t.Fatal(len(old), err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		code, stderr := amble(t, "resume", dir, "--max-pages", []string{"3", "4"}[i])
		if code != cli.ExitDone || strings.Contains(stderr, "kept no hashes") != want {
			t.Errorf("process %d: exit code %d\n%s", i, code, stderr)
		}
	}
	if code, out := ambleOut(t, "verify", dir); code != cli.ExitDone {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
}

// verify notices that visits or requests were removed, even if no hashes are left, because the other file still has the other half.
func TestVisitsGoWithRequests(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	limited, _ := limitedJob(t)
	if code, stderr := amble(t, "resume", "-q", limited, "--max-pages", "none"); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	for name, c := range map[string]struct {
		file, line string
		told       string
	}{
		"a visit less":   {job.VisitsName, `(?m)^.*/3".*\n`, `1 URL requested without a visit`},
		"a request less": {job.LedgerName, `(?m)^.*"id":4,.*\n`, `1 visit \(line \d+ and so on\) with an answer to no request`},
	} {
		dir := copyJob(t, limited)
		path := filepath.Join(dir, c.file)
		b := must(os.ReadFile(path))
		less := regexp.MustCompile(c.line).ReplaceAll(b, nil)
		if len(less) == len(b) {
			t.Fatalf("%s: nothing taken out of\n%s", name, b)
		}
		if err := os.WriteFile(path, less, 0o600); err != nil {
			t.Fatal(err)
		}
		// Without the queue and the list of hashes, nothing proves what these files contained before.
		os.RemoveAll(filepath.Join(dir, "frontier"))
		os.Remove(filepath.Join(dir, job.SumsName))
		edit(t, filepath.Join(dir, "manifest.json"), func(text string) string {
			var m map[string]any
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatal(err)
			}
			delete(m["outputs"].(map[string]any), c.file)
			return string(must(json.Marshal(m)))
		})
		if code, out := ambleOut(t, "verify", dir); code != cli.ExitOutput && code != cli.ExitPoliteness || !regexp.MustCompile(c.told).MatchString(out) {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
}

// While a process works on a job, verify does not compare the files with what was committed, and says so.
func TestVerifyOfARunningJob(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	seen := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page("Page", "1"+r.URL.Path[1:])(w, r)
		seen <- struct{}{}
	}))
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "job")
	p := start(t, "crawl", "-q", "-w", "100ms", "-d", "none", "-o", dir, srv.URL+"/")
	for range 3 {
		<-seen
	}
	if code, out := ambleOut(t, "verify", dir); code != cli.ExitDone || !strings.Contains(out, "note: files were not compared with what was committed: job "+dir+" is being worked on by process") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	p.signal(t, syscall.SIGINT)
	p.end(t)
	if code, out := ambleOut(t, "verify", dir); code != cli.ExitDone || !strings.Contains(out, "files of ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// If a broken disk has changed the queue, the error is a single sentence with advice, and without a stack trace of the database. If the
// queue has lost nothing, no damage is reported.
func TestDamagedQueueIsReported(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	limited, _ := limitedJob(t)
	for _, most := range []string{"3", "4"} { // two processes, so that the database has tables
		if code, stderr := amble(t, "resume", "-q", limited, "--max-pages", most); code != cli.ExitDone {
			t.Fatal(stderr)
		}
	}
	entries := must(os.ReadDir(filepath.Join(limited, "frontier")))
	flip := func(nth int) func(b []byte) []byte {
		return func(b []byte) []byte {
			if len(b) > 0 {
				b[len(b)*nth/5] ^= 4
			}
			return b
		}
	}
	told, tables := 0, 0
	for _, e := range entries {
		ways := map[string]func(b []byte) []byte{
			"missing": func([]byte) []byte { return nil },
			"empty":   func([]byte) []byte { return []byte{} },
			"half":    func(b []byte) []byte { return b[:len(b)/2] },
		}
		if strings.HasSuffix(e.Name(), ".sst") || strings.HasSuffix(e.Name(), ".log") {
			tables++
			for nth := range long.N(1, 2) {
				ways[fmt.Sprint("with a bit flipped in its fifth no. ", 2*nth+1)] = flip(2*nth + 1)
			}
		}
		for how, spoil := range ways {
			dir := copyJob(t, limited)
			path := filepath.Join(dir, "frontier", e.Name())
			b := must(os.ReadFile(path))
			os.Remove(path)
			if b = spoil(b); b != nil {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := contentBut(t, dir, "frontier")
			code, stderr := amble(t, "resume", "-q", dir, "--max-pages", "5")
			if code == cli.ExitDone {
				if code, out := ambleOut(t, "verify", dir); code != cli.ExitDone {
					t.Errorf("%s %s: resumed, and verify says, exit code %d\n%s", e.Name(), how, code, out)
				}
				continue
			}
			told++
			if code != cli.ExitOutput || !strings.Contains(stderr, "frontier is damaged (") || !strings.Contains(stderr, "since set to "+dir) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s %s: exit code %d\n%s", e.Name(), how, code, stderr)
			}
			if after := contentBut(t, dir, "frontier"); after != before && strings.HasPrefix(how, "m") {
				t.Errorf("%s %s: the job was changed", e.Name(), how)
			}
		}
	}
	if told < 8 || tables < 2 {
		t.Errorf("%d damages told of, %d tables and logs", told, tables)
	}
}

func TestDamagedSettingsAreReported(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	limited, _ := limitedJob(t)
	for name, args := range map[string][]string{"manifest.json": {"resume"}, "politeness.json": {"verify"}} {
		for _, text := range []string{"", "{", "null", strings.Repeat("\x00", 100)} {
			dir := copyJob(t, limited)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stderr := amble(t, append(args, dir)...)
			if code != cli.ExitOutput && !(text == "null" && name == "politeness.json") && !(text == "null" && code == cli.ExitUsage) || strings.Contains(stderr, "goroutine") {
				t.Errorf("%s of %q: exit code %d\n%s", name, text, code, stderr)
			}
		}
	}
}
