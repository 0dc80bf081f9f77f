package job

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Reading a line or file of a job directory uses memory only up to a limit. For longer ones, the error names the file and the limit.
func TestMemoryDoesNotGrowWithLineOrFile(t *testing.T) {
	dir, _, _ := recorded(t)
	bodies, err := filepath.Glob(filepath.Join(dir, robotsName, "*.txt"))
	if err != nil || len(bodies) == 0 {
		t.Fatal(bodies, err)
	}
	sum, _, _ := strings.Cut(filepath.Base(bodies[0]), ".")
	page := must(weburl.Parse("http://127.0.0.1/nowhere"))
	facts := func(r *Reader) error { _, err := r.Facts(); return err }
	verify := func(r *Reader) error { _, err := r.Verify(); return err }
	explain := func(r *Reader) error { _, err := r.Explain(page); return err }
	manifest := func(r *Reader) error { _, err := r.Manifest(); return err }
	settings := func(r *Reader) error { _, err := r.Settings(); return err }
	visits := func(r *Reader) error {
		for _, err := range r.Visits() {
			if err != nil {
				return err
			}
		}
		return nil
	}
	poll := func(r *Reader) error {
		return r.Follow().Poll(func(*ledger.Entry) {}, func(*sink.Record) {})
	}
	for _, c := range []struct {
		name string
		line bool
		read map[string]func(*Reader) error
	}{
		{VisitsName, true, map[string]func(*Reader) error{"Facts": facts, "Explain": explain, "Visits": visits, "Poll": poll}},
		{LedgerName, true, map[string]func(*Reader) error{"Facts": facts, "Verify": verify, "Explain": explain, "Poll": poll}},
		{manifestName, false, map[string]func(*Reader) error{"Manifest": manifest, "Verify": verify}},
		{jobName, false, map[string]func(*Reader) error{"Settings": settings, "Verify": verify}},
		{auditName, false, map[string]func(*Reader) error{"Verify": verify, "Facts": facts}},
		{reportName, false, map[string]func(*Reader) error{"Report": func(r *Reader) error { _, err := r.Report(); return err }}},
		{filepath.Join(robotsName, sum+".txt"), false, map[string]func(*Reader) error{"RobotsBody": func(r *Reader) error { _, err := r.RobotsBody(sum); return err }}},
	} {
		path := filepath.Join(dir, c.name)
		b := must(os.ReadFile(path))
		const long = 400 << 20
		if err := os.Truncate(path, int64(len(b))+long); err != nil { // the hole at the end uses no disk space
			t.Fatal(err)
		}
		f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
		if _, err := f.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for how, read := range c.read {
			r := must(Read(dir))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := read(r)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.name) || !strings.Contains(err.Error(), "longer than 16777216 bytes") || c.line && !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s of a long %s: %.300v", how, c.name, err)
			}
			if taken := after.TotalAlloc - before.TotalAlloc; taken > long/2 {
				t.Errorf("%s of a long %s took %d MiB", how, c.name, taken>>20)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		overwrite(t, path, b)
	}
}

// The seeds of a job may together be longer than the limit for the file of its settings.
func TestSeedsDoNotCountForLimitOfSettings(t *testing.T) {
	rest := strings.Repeat("delay: 1s\n", 1000)
	for text, want := range map[string]error{
		strings.Repeat("  - https://host.example/\n", 1<<20) + rest:           nil,
		strings.Repeat("    \"https://host.example/\",\n", 1<<20) + rest:      nil,
		strings.Repeat(rest, 1700):                                            safefile.ErrTooLong,
		"  - https://host.example/" + strings.Repeat("x", safefile.Settings):  safefile.ErrTooLong,
		`"https://host.example/` + strings.Repeat("y", safefile.Settings+100): safefile.ErrTooLong,
	} {
		if b, err := readSeeded(bufio.NewReader(strings.NewReader(text)), "job.yaml"); !errors.Is(err, want) || err == nil && string(b) != text {
			t.Errorf("%.30q…: %v", text, err)
		}
	}
}
