package main

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/long"
)

const victimText = "a file of somebody else\n"

// limitedJob makes a job with an archive that ended at its limit of pages. It returns the job's directory and seed.
func limitedJob(t *testing.T) (dir, seed string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /no\n"))
			return
		}
		page("Page", "/1", "/2", "/3", "/4", "/5")(w, r)
	}))
	t.Cleanup(srv.Close)
	dir, seed = filepath.Join(t.TempDir(), "job"), srv.URL+"/"
	if code, stderr := amble(t, "crawl", "-q", "-w", "0", "--max-pages", "2", "--archive", "-o", dir, seed); code != cli.ExitDone {
		t.Fatalf("exit code %d, stderr %s", code, stderr)
	}
	return dir, seed
}

// copyJob copies a job directory.
func copyJob(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// If a file in a job directory is a link or a pipe that somebody else has put there, commands do not write to its target, truncate it or
// wait for it. They refuse the directory and name the file.
func TestPlantedFilesAreRefused(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	job, seed := limitedJob(t)
	archives, err := fs.Glob(os.DirFS(job), "warc/*.warc.gz")
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	files := []string{
		"lock", "manifest.json", "manifest.json.new", "job.yaml", "job.yaml.new", "politeness.json", "politeness.json.new",
		"report.json", "report.json.new", "report.html", "report.html.new", "visits.jsonl", "ledger.jsonl",
		"robots/index.jsonl", "frontier/LOCK", "frontier/AMBLE", "frontier/AMBLE.new", archives[0], archives[0] + ".x",
		"robots", "warc", "frontier",
	}
	plant := map[string]func(victim, path string) error{
		"symbolic link": os.Symlink,
		"named pipe":    func(_, path string) error { return syscall.Mkfifo(path, 0o644) },
	}
	for i, name := range files {
		for k, kind := range slices.Sorted(maps.Keys(plant)) {
			put := plant[kind]
			t.Run(kind+" "+name, func(t *testing.T) {
				dir := copyJob(t, job)
				path := filepath.Join(dir, name)
				victim := filepath.Join(t.TempDir(), "victim")
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					if err := os.Rename(path, victim); err != nil {
						t.Fatal(err)
					}
				} else {
					text := []byte(victimText)
					if b, err := os.ReadFile(path); err == nil {
						text = b // content that looks like amble's
					}
					if err := os.WriteFile(victim, text, 0o600); err != nil {
						t.Fatal(err)
					}
					os.Remove(path)
				}
				if err := put(victim, path); err != nil {
					t.Fatal(err)
				}
				before := content(t, victim)
				commands := [][]string{{"resume", dir, "--max-pages", "4"}, {"crawl", "-o", dir, "--max-pages", "4", seed}}
				if !long.Full() {
					commands = commands[(i+k)%2:][:1] // this half of the tests uses one of the two commands
				}
				for _, args := range commands {
					code, stderr := amble(t, args...)
					if code != cli.ExitUsage || !strings.Contains(stderr, name) || !strings.Contains(stderr, "is a "+kind) {
						t.Errorf("amble %q: exit code %d, stderr %s", args, code, stderr)
					}
				}
				if after := content(t, victim); after != before {
					t.Errorf("the file of somebody else was changed: %.100q", after)
				}
			})
		}
	}
}

// content returns the content of a file, or of all files in a directory.
func content(t *testing.T, path string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var b []byte
			b, err = os.ReadFile(path)
			all.WriteString(filepath.Base(path) + "\n" + string(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A file with a second hard link is refused as foreign, too.
func TestHardLinksAreNotWrittenTo(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	job, _ := limitedJob(t)
	for _, name := range []string{"lock", "visits.jsonl", "ledger.jsonl", "robots/index.jsonl"} {
		dir := copyJob(t, job)
		victim := filepath.Join(t.TempDir(), "victim")
		if err := os.Link(filepath.Join(dir, name), victim); err != nil {
			t.Skip(err)
		}
		before := content(t, victim)
		if code, stderr := amble(t, "resume", dir, "--max-pages", "4"); code != cli.ExitUsage || !strings.Contains(stderr, name) || !strings.Contains(stderr, "second name") {
			t.Errorf("%s: exit code %d, stderr %s", name, code, stderr)
		}
		if after := content(t, victim); after != before {
			t.Errorf("%s was changed under its second name", name)
		}
	}
}

// Commands that only read a job do not follow links in its directory, and do not wait for pipes.
func TestReadersFollowNoLinks(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	job, seed := limitedJob(t)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"ledger.jsonl", []string{"verify"}},
		{"politeness.json", []string{"verify"}},
		{"report.json", []string{"report"}},
		{"visits.jsonl", []string{"report"}},
		{"visits.jsonl", []string{"explain"}},
		{"ledger.jsonl", []string{"explain"}},
		{"job.yaml", []string{"explain"}},
	} {
		for kind, put := range map[string]func(old, path string) error{
			"symbolic link": os.Symlink,
			"named pipe":    func(_, path string) error { return syscall.Mkfifo(path, 0o644) },
		} {
			dir := copyJob(t, job)
			path := filepath.Join(dir, c.name)
			if err := os.Rename(path, path+"~"); err != nil {
				t.Fatal(err)
			}
			if err := put(path+"~", path); err != nil {
				t.Fatal(err)
			}
			args := append(c.args, dir)
			if c.args[0] == "explain" {
				args = append(args, seed)
			}
			if code, stderr := amble(t, args...); code == cli.ExitDone || !strings.Contains(stderr, c.name+" is a "+kind) {
				t.Errorf("amble %q with %s as a %s: exit code %d, stderr %s", args, c.name, kind, code, stderr)
			}
		}
	}
}

// If a named pipe replaces any file in a job directory, no command waits for it.
func TestNoCommandWaitsForPipeInJobDirectory(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	whole, seed := limitedJob(t)
	if code, stderr := amble(t, "report", whole); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	commands := []string{
		"verify DIR", "report DIR", "explain DIR " + seed, "status DIR", "replay DIR", "resume DIR -q --max-pages 4", "links DIR " + seed, "diff DIR DIR", "plan DIR",
		"export --to csv -o OUT DIR", "export --to crawl.log -o OUT DIR", "export --to wacz -o OUT DIR", "export --to hostgraph -o OUT DIR", "export --to pagegraph -o OUT DIR",
		"export --to mirror -o OUT DIR", "export --to parquet -o OUT DIR", "export --to sqlite -o OUT DIR", "crawl -q --max-pages 1 --since DIR " + seed,
	}
	files := []string{"cookies.json", "links.jsonl", "items.jsonl", "node.json"}
	err := fs.WalkDir(os.DirFS(whole), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	turn := rand.IntN(6) // each run tries a sixth of the pairs of a file and a command
	for i, name := range files {
		for k, command := range commands {
			if (i+k)%6 != turn {
				continue
			}
			dir := copyJob(t, whole)
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(strings.NewReplacer("DIR", dir, "OUT", filepath.Join(t.TempDir(), "out")).Replace(command))
			if _, stderr := amble(t, args...); strings.Contains(stderr, "goroutine ") {
				t.Errorf("%s with %s as a named pipe: %s", command, name, stderr)
			}
		}
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	job, seed := limitedJob(t)
	for _, c := range []struct {
		name string
		ours bool
	}{
		{"thesis.docx", false},
		{"visits.parquet", false},
		{"manifest.json.new.new", false},
		{"notes.new", false},
		{"warc/other.warc.gz", false},
		{"robots/robots.txt", false},
		{"data/x", false},
		{"README", true},
		{"README.md", true},
		{"readme.txt", true},
		{"extra/visits.parquet", true},
		{".DS_Store", true},
		{"warc/.DS_Store", true},
		{"robots/Thumbs.db", true},
		{"._visits.jsonl", true},
		{".nfs000000000123", true},
		{".visits.jsonl.swp", true},
		{"job.yaml~", true},
		{"#job.yaml#", true},
		{"Thumbs.db", true},
		{"desktop.ini", true},
		{"lost+found/x", true},
		{"frontier/.DS_Store", true},
	} {
		dir := copyJob(t, job)
		path := filepath.Join(dir, filepath.FromSlash(c.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(victimText), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stderr := amble(t, "resume", "-q", dir, "--max-pages", "3")
		top, _, _ := strings.Cut(c.name, "/")
		if top == "data" {
			c.name = top
		}
		switch refused := code == cli.ExitUsage && strings.Contains(stderr, c.name) && strings.Contains(stderr, "extra"); {
		case c.ours && code != cli.ExitDone:
			t.Errorf("resume with %s: exit code %d, stderr %s", c.name, code, stderr)
		case !c.ours && !refused:
			t.Errorf("resume with %s: exit code %d, stderr %s", c.name, code, stderr)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != victimText {
			t.Errorf("%s became %q, %v", c.name, got, err)
		}
		fresh := filepath.Join(t.TempDir(), "new")
		if strings.Contains(c.name, "/") && top != "extra" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(fresh, c.name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fresh, c.name), []byte(victimText), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, stderr := amble(t, "crawl", "-q", "-w", "0", "--max-pages", "1", "-o", fresh, seed); (code == cli.ExitDone) != c.ours {
			t.Errorf("crawl into a directory with %s: exit code %d, stderr %s", c.name, code, stderr)
		}
	}
}
