package job

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// listsJob represents a job whose settings name two list files. The job was stopped after two pages.
type listsJob struct {
	dir, own, out string
	origin        string
}

func newListsJob(t *testing.T) *listsJob {
	t.Helper()
	lists := t.TempDir()
	j := &listsJob{filepath.Join(t.TempDir(), "job"), filepath.Join(lists, "own.txt"), filepath.Join(lists, "out.txt"), numbered(t, func(http.ResponseWriter, *http.Request) {})}
	overwrite(t, j.own, []byte(strings.TrimPrefix(j.origin, "http://")+"\n"))
	overwrite(t, j.out, []byte("left.test\n"))
	c := Config{OwnHosts: j.own, OptOut: j.out}
	c.Crawl.Politeness.Delay, c.Crawl.Limits.Pages = crawler.NoDelay, 2
	endJob(t, must(Create(j.dir, c, j.origin+"/1")))
	return j
}

// resume opens the job with settings changed by change, and with a limit of one more page.
func (l *listsJob) resume(t *testing.T, change func(*Config)) (*Job, error) {
	t.Helper()
	c, seeds, err := asBegun(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Crawl.Limits.Pages++
	if change != nil {
		change(&c)
	}
	return Resume(l.dir, c, seeds)
}

func (l *listsJob) manifest(t *testing.T) *Manifest {
	t.Helper()
	return must(readManifest(l.dir))
}

func TestJobIsReadAndResumedWithoutTheListsItNames(t *testing.T) {
	l := newListsJob(t)
	for _, k := range l.manifest(t).Kept {
		b := must(os.ReadFile(filepath.Join(l.dir, filepath.FromSlash(k.name()))))
		if was := must(os.ReadFile(k.Path)); string(b) != string(was) || k.SHA256 != sumOf(string(b)) || k.Bytes != int64(len(b)) {
			t.Errorf("%s: keeps %q as %+v, the file has %q", k.Key, b, k, was)
		}
	}
	if n := len(l.manifest(t).Kept); n != 2 {
		t.Fatalf("%d files are kept, want 2", n)
	}
	if err := os.RemoveAll(filepath.Dir(l.own)); err != nil {
		t.Fatal(err)
	}
	r := must(Read(l.dir))
	defer r.Close()
	c := must(r.Config())
	cfg, err := r.Crawler(&c)
	host := strings.TrimPrefix(l.origin, "http://")
	if err != nil || cfg.Politeness.OwnHosts(host) != 1 || !cfg.Politeness.OptOut("www.left.test") || cfg.Politeness.OptOut("test") {
		t.Errorf("the lists of the job are not those that it keeps, error %v", err)
	}
	j, err := l.resume(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(j.Notes(), "\n"); !strings.Contains(notes, l.out+" is not there any more") {
		t.Errorf("notes: %s", notes)
	}
	endJob(t, j)
	v := must(r.Verify())
	if v.Damaged() != 0 || len(v.Violations) != 0 {
		t.Errorf("%+v", v)
	}
	if m := l.manifest(t); len(m.Kept) != 2 || len(m.Last().Changes) != 1 {
		t.Errorf("%+v, changes %+v", m.Kept, m.Last().Changes)
	}
}

func TestResumeUsesStoredOwnHosts(t *testing.T) {
	l := newListsJob(t)
	overwrite(t, l.own, []byte("other.test\n"))
	j, err := l.resume(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := j.config.ownHosts()
	if err != nil || own["other.test:80"] != 0 || len(own) != 1 {
		t.Errorf("own hosts are %v, error %v", own, err)
	}
	if notes := strings.Join(j.Notes(), "\n"); !strings.Contains(notes, l.own+" has changed since the job began, which goes on with the list that it keeps") {
		t.Errorf("notes: %s", notes)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// The same list in a file with another name is no change; another list is a change.
	moved := filepath.Join(t.TempDir(), "moved.txt")
	overwrite(t, moved, []byte(strings.TrimPrefix(l.origin, "http://")+"\n"))
	j, err = l.resume(t, func(c *Config) { c.OwnHosts = moved })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = l.resume(t, func(c *Config) { c.OwnHosts = l.own + "2" })
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	overwrite(t, moved, []byte("other.test\n"))
	var key *KeyError
	if _, err = l.resume(t, func(c *Config) { c.OwnHosts = moved }); !errors.As(err, &key) || key.Key != "own-hosts" {
		t.Errorf("another list: %v", err)
	}
}

func TestHostOnceOptedOutStaysOutOnResume(t *testing.T) {
	l := newListsJob(t)
	overwrite(t, l.out, []byte("new.test\n"))
	more := filepath.Join(t.TempDir(), "more.txt")
	overwrite(t, more, []byte("more.test\n"))
	for i, change := range []func(*Config){nil, func(c *Config) { c.OptOut = "" }, func(c *Config) { c.OptOut = more }} {
		j, err := l.resume(t, change)
		if err != nil {
			t.Fatal(err)
		}
		out := j.config.lists.optOut
		now := time.Now()
		if !out.has("left.test", now) || !out.has("new.test", now) || out.has("more.test", now) != (i == 2) {
			t.Errorf("resumed %d times: %v", i+1, out.names)
		}
		if i == 0 && !strings.Contains(strings.Join(j.Notes(), "\n"), l.out+" has changed since the job read it") {
			t.Errorf("notes: %v", j.Notes())
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var kept []string
	for _, k := range l.manifest(t).Kept {
		if k.Key == "opt-out" {
			kept = append(kept, k.SHA256)
		}
	}
	if want := []string{sumOf("left.test\n"), sumOf("new.test\n"), sumOf("more.test\n")}; strings.Join(kept, " ") != strings.Join(want, " ") {
		t.Errorf("versions that are kept:\n%v, want\n%v", kept, want)
	}
}

func TestOptOutListReadWhileTheCrawlRunsIsKept(t *testing.T) {
	l := newListsJob(t)
	j, err := l.resume(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour) // a list whose file has another time is read again
	overwrite(t, l.out, []byte("127.0.0.1\n"))
	if err := os.Chtimes(l.out, later, later); err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	m := l.manifest(t)
	last := m.Kept[len(m.Kept)-1]
	if len(m.Kept) != 3 || last.SHA256 != sumOf("127.0.0.1\n") || last.At.Before(m.Last().Started) || m.Last().Pages != 2 {
		t.Errorf("%d pages; it keeps %+v", m.Last().Pages, m.Kept)
	}
	r := must(Read(l.dir))
	defer r.Close()
	if v := must(r.Verify()); v.Damaged() != 0 || len(v.Violations) != 0 {
		t.Errorf("%v %v", v.Files, v.Violations)
	}
}

func TestVerifyFindsRequestsToHostsThatOptedOut(t *testing.T) {
	l := newListsJob(t)
	d := must(openJobFiles(l.dir))
	defer d.close()
	m := l.manifest(t)
	text := []byte("127.0.0.1\n")
	k := KeptFile{Key: "opt-out", Path: l.out, Bytes: int64(len(text)), SHA256: sumOf(string(text)), At: m.Created}
	m.Kept = append(m.Kept, k)
	if err := errors.Join(d.replace(k.name(), text), m.write(d.plainDir)); err != nil {
		t.Fatal(err)
	}
	r := must(Read(l.dir))
	defer r.Close()
	if v := must(r.Verify()); len(v.Violations) != 3 || !strings.Contains(v.Violations[0].Message, "opt-out list") {
		t.Errorf("violations: %v", v.Violations)
	}
}

func TestDamagedCopyOfAListIsNamed(t *testing.T) {
	for _, key := range []string{"own-hosts", "opt-out"} {
		l := newListsJob(t)
		var name string
		for _, k := range l.manifest(t).Kept {
			if k.Key == key {
				name = k.name()
			}
		}
		path := filepath.Join(l.dir, filepath.FromSlash(name))
		for _, spoil := range []func() error{
			func() error { return os.WriteFile(path, []byte("x.test\n"), 0o644) },
			func() error { return os.Remove(path) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			var refusal *Error
			_, err := l.resume(t, nil)
			if !errors.As(err, &refusal) || refusal.Kind != Storage || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "put it back from a copy") {
				t.Errorf("%s: %v", key, err)
			}
			r := must(Read(l.dir))
			damagedIs(t, r, name)
			_ = r.Close()
		}
	}
}

func TestJobWithoutCopiesIsReadByPath(t *testing.T) {
	l := newListsJob(t)
	d := must(openJobFiles(l.dir))
	defer d.close()
	m := l.manifest(t)
	m.Kept = nil
	if err := errors.Join(os.RemoveAll(filepath.Join(l.dir, settingsName)), m.write(d.plainDir)); err != nil {
		t.Fatal(err)
	}
	r := must(Read(l.dir))
	defer r.Close()
	c := must(r.Config())
	if cfg, err := r.Crawler(&c); err != nil || cfg.Politeness.OwnHosts(strings.TrimPrefix(l.origin, "http://")) != 1 {
		t.Errorf("own hosts are unknown, error %v", err)
	}
	if err := os.Rename(l.out, l.out+"2"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.resume(t, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	if err := os.Rename(l.out+"2", l.out); err != nil {
		t.Fatal(err)
	}
	j, err := l.resume(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	endJob(t, j)
	if n := len(l.manifest(t).Kept); n != 2 {
		t.Errorf("%d files are kept from here on, want 2", n)
	}
}

// A process that is killed while it begins a job may leave copies of list files without a manifest.
func TestJobBeginsWhereOnlyCopiesWereLeft(t *testing.T) {
	l := newListsJob(t)
	for _, c := range []struct {
		name   string
		begins bool
	}{{"own-hosts-" + strings.Repeat("0", 64) + ".txt", true}, {"opt-out-" + strings.Repeat("a", 64) + ".txt.new", true}, {"opt-out.txt", false}} {
		dir := filepath.Join(t.TempDir(), "job")
		if err := os.MkdirAll(filepath.Join(dir, settingsName), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(dir, settingsName, c.name), []byte("a.test\n"))
		j, err := Start(dir, Config{OwnHosts: l.own}, l.origin+"/1")
		if (err == nil) != c.begins {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err == nil {
			err = j.Close()
		}
		if c.begins && err != nil {
			t.Error(err)
		}
	}
}
