package job

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

func TestSpaceLeftIsThatOfTheFirstLimit(t *testing.T) {
	for _, c := range []struct {
		s    Space
		left int64
		by   crawler.Finish
	}{
		{Space{Free: 100}, 100, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30}, 70, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 130}, -30, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30, Used: 10, MaxDisk: 200}, 70, crawler.FinishMinFree},
		{Space{Free: 100, MinFree: 30, Used: 10, MaxDisk: 48}, 32, crawler.FinishMaxDisk},
		{Space{Free: 100, MinFree: 30, Used: 60, MaxDisk: 48}, -18, crawler.FinishMaxDisk},
	} {
		if left, by := c.s.Left(); left != c.left || by != c.by {
			t.Errorf("%+v: %d left by %s, want %d by %s", c.s, left, by, c.left, c.by)
		}
	}
}

func TestSpaceLastsAtThePaceSoFar(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		s    Space
		want time.Duration
	}{
		{Space{Free: 300, Used: 100, Taken: hour}, 3 * hour},
		{Space{Free: 300, MinFree: 300, Used: 100, Taken: hour}, 0},
		{Space{Free: 300, Taken: hour}, 0},
		{Space{Free: 1 << 62, Used: 1, Taken: hour}, 100 * 365 * 24 * hour},
		{Space{Free: 300, Used: 100, Taken: hour, Stored: true}, 0},
		{Space{Free: 300, Used: 50, Elsewhere: 50, Taken: hour, Stored: true, WaitingFiles: 1}, 3 * hour},
	} {
		if got := c.s.Lasts(); got != c.want {
			t.Errorf("%+v: lasts %v, want %v", c.s, got, c.want)
		}
	}
}

// Processes whose end is unknown do not count, because it is unknown how long they worked.
func TestTakenIsTheTimeOfProcesses(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute) }
	m := &Manifest{Runs: []Run{{Started: at(0), Ended: at(5)}, {Started: at(10)}, {Started: at(100)}}}
	if running, ended := m.taken(at(101), true), m.taken(at(101), false); running != 6*time.Minute || ended != 5*time.Minute {
		t.Errorf("%v, and %v after the end", running, ended)
	}
}

func TestSizeOfADirectoryThatALinkNames(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, link, link + string(filepath.Separator)} {
		if n, err := SizeOf(name); n != 100 || err != nil {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

func TestMinFreeIsReadAsWritten(t *testing.T) {
	for text, want := range map[string]crawler.Limit{"auto": 0, "none": crawler.Zero, "0": crawler.Zero, "500MiB": 500 << 20} {
		n, err := readMinFree([]string{text})
		if err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", text, n, err, want)
		}
		if again, err := readMinFree(minFreeText(n)); err != nil || again != want {
			t.Errorf("%s is written as %v", text, minFreeText(n))
		}
	}
	if _, err := readMinFree([]string{"plenty"}); err == nil {
		t.Error("plenty is a size")
	}
}
