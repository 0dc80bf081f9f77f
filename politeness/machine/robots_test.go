package machine

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// process opens a state directory as a separate process does.
func process(t *testing.T, dir string) *Hosts {
	t.Helper()
	m := Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
	if err := m.NotShared(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRobotsFilesAreSharedByProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	a, b := process(t, dir), process(t, dir)
	now := time.Now().Truncate(time.Millisecond).UTC()
	key, other := politeness.RobotsKey{Origin: "https://a.example"}, politeness.RobotsKey{Origin: "https://a.example", Account: "x"}
	f := politeness.RobotsFile{
		Crawl: "news", Gate: "g", Fetched: now.Add(-time.Second), Until: now.Add(time.Hour), Status: 200, Redirects: []string{"https://a.example/x"},
		Body: "User-agent: *\nDisallow: /\xff\x00",
	}
	a.KeepRobots(key, f)
	if got, ok := b.Robots(key); !ok || !reflect.DeepEqual(got, f) {
		t.Errorf("another process reads %+v, %v", got, ok)
	}
	if got, ok := b.Robots(other); ok {
		t.Errorf("another account reads %+v", got)
	}
	for name, change := range map[string]func(*politeness.RobotsFile){
		"expired":        func(f *politeness.RobotsFile) { f.Until = now.Add(-time.Millisecond) },
		"of the future":  func(f *politeness.RobotsFile) { f.Fetched = now.Add(time.Minute) },
		"valid for ever": func(f *politeness.RobotsFile) { f.Until = now.Add(1000 * time.Hour) },
		"too long":       func(f *politeness.RobotsFile) { f.Body = strings.Repeat("x", robotsLong) },
	} {
		key := politeness.RobotsKey{Origin: "https://" + strings.ReplaceAll(name, " ", "-") + ".example"}
		f := f
		change(&f)
		a.KeepRobots(key, f)
		if got, ok := b.Robots(key); ok {
			t.Errorf("a %s file is used: %+v", name, got)
		}
	}
}

func TestForeignRobotsFilesAreIgnored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	m := process(t, dir)
	key := politeness.RobotsKey{Origin: "https://a.example"}
	good := politeness.RobotsFile{Fetched: time.Now(), Until: time.Now().Add(time.Hour), Body: "x"}
	m.KeepRobots(key, good)
	path := m.robotsPath(key)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]string{
		"empty": "", "garbage": "\x00\x01", "another origin": strings.ReplaceAll(string(written), "a.example", "b.example"),
		"another version": strings.Replace(string(written), `"Format":1`, `"Format":2`, 1),
	} {
		if err := os.WriteFile(path, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := process(t, dir).Robots(key); ok {
			t.Errorf("a file with %s is used: %+v", name, got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(elsewhere, written, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip(err)
	}
	if got, ok := process(t, dir).Robots(key); ok {
		t.Errorf("a link is followed: %+v", got)
	}
}

func TestOldRobotsFilesArePruned(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, robotsName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i, size := range []int64{robotsMax / 2, robotsMax / 2, 100, 100} {
		name := filepath.Join(dir, []string{"old", "newer", ".new-left", "newest"}[i])
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := begun.Add(time.Duration(i-4) * time.Hour)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	pruneRobots(state)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "newer" || left[1].Name() != "newest" {
		t.Errorf("left: %v, %v", left, err)
	}
	if at := readDropped(state); at.Sub(begun.Add(-4*time.Hour)).Abs() > time.Minute { // the time of the incomplete entry is ignored
		t.Errorf("files were dropped up to %v", at)
	}
	if _, ok := process(t, filepath.Join(state, "other")).Robots(politeness.RobotsKey{Origin: "https://a.example"}); ok {
		t.Error("a file exists that nobody has requested")
	}
}

// TestPrunedRobotsFileIsReportedAsPruned: a crawl that has to request a dropped robots.txt again is told why.
func TestPrunedRobotsFileIsReportedAsPruned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	m, key := process(t, dir), politeness.RobotsKey{Origin: "https://a.example"}
	if f, ok := m.Robots(key); ok || !f.Fetched.IsZero() {
		t.Errorf("%+v, %v", f, ok)
	}
	at := time.Now().Truncate(time.Second)
	m.KeepRobots(key, politeness.RobotsFile{Fetched: at, Until: at.Add(time.Hour), Body: strings.Repeat("x", robotsLong)})
	if f, ok := process(t, dir).Robots(key); ok || !f.Fetched.Equal(at) {
		t.Errorf("%+v, %v", f, ok)
	}
}
