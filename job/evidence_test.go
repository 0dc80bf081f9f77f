package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tempJob returns an open job directory.
func tempJob(t *testing.T) jobFiles {
	t.Helper()
	d, err := openJobFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.close() })
	return d
}

// The incomplete line that a killed process has left at the end is removed. All other bytes stay.
func TestEvidenceIsTruncatedToLastCompleteLine(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct{ before, after string }{
		{"", ""}, {"a\n", "a\n"}, {"a\nb", "a\n"}, {"a\nb\n", "a\nb\n"}, {"torn", ""}, {"\n", "\n"},
		{"a\n" + long, "a\n"}, {long + "\n" + long, long + "\n"}, {long, ""}, {long + "\n", long + "\n"},
	} {
		d := tempJob(t)
		if err := os.WriteFile(d.path("f"), []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &commits{files: d, extents: map[string]extent{}}
		f, size, err := m.keepLines("f")
		if err != nil || size != int64(len(c.after)) {
			t.Fatal(size, err)
		}
		if _, err := f.Write([]byte("new\n")); err != nil {
			t.Fatal(err)
		}
		if now, _, grown, err := m.kept[0].open.grown(extent{}); err != nil || !grown || now.SHA256 != sumOf(c.after+"new\n") {
			t.Errorf("%.20q: %+v, %v", c.before, now, err)
		}
		f.Close()
		if got, err := os.ReadFile(d.path("f")); err != nil || string(got) != c.after+"new\n" {
			t.Errorf("%.20q of %d bytes became %d bytes, want %d; %v", c.before, len(c.before), len(got), len(c.after)+4, err)
		}
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestRobotsIndexHasWholeLines(t *testing.T) {
	d := tempJob(t)
	dir := d.path(robotsName)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, indexName), []byte("{\"url\":1}\n{\"url\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := newRobotsKeeper(&commits{files: d, extents: map[string]extent{}})
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
	if got, err := os.ReadFile(filepath.Join(dir, indexName)); err != nil || string(got) != "{\"url\":1}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// The next process continues the hash from the last commit without reading the file from its beginning, whatever follows the commit.
func TestEvidenceHashContinuesFromLastCommit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	d := tempJob(t)
	var was *extent
	var want []byte
	marks := map[int64]string{}
	for process := range 20 {
		e, err := d.openEvidence("f", was)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Truncate(int64(len(want))); err != nil {
			t.Fatal(err)
		}
		if was == nil {
			was = &extent{}
		}
		for range rng.IntN(5) {
			b := make([]byte, rng.IntN(2<<20))
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			if _, err := e.Write(b); err != nil {
				t.Fatal(err)
			}
			want = append(want, b...)
			now, marked, _, err := e.grown(*was)
			if err != nil || now.Bytes != int64(len(want)) || now.SHA256 != sumOf(string(want)) {
				t.Fatalf("process %d: %d of %d bytes, %v", process, now.Bytes, len(want), err)
			}
			if marked {
				marks[now.Bytes] = now.SHA256
			}
			if now.Bytes-now.From.Bytes > 3*markEvery {
				t.Errorf("%d bytes are to be read again", now.Bytes-now.From.Bytes)
			}
			was = &now
		}
		tail := make([]byte, rng.IntN(1000)) // written, but never committed
		if _, err := e.Write(tail); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
	if len(marks) < 5 {
		t.Errorf("%d marks of %d bytes", len(marks), len(want))
	}
	// If the stored state of the hash cannot be decoded, the file is read again from its start.
	was.From.State = []byte("another Go's")
	e, err := d.openEvidence("f", was)
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
}

func TestDamagedEvidenceIsRefused(t *testing.T) {
	text := bytes.Repeat([]byte("a line of text\n"), 1000)
	for name, spoil := range map[string]func(b []byte) []byte{
		"missing":                                 func([]byte) []byte { return nil },
		"ends at byte 14985":                      func(b []byte) []byte { return b[:len(b)-15] },
		"ends at byte 0":                          func([]byte) []byte { return []byte{} },
		"between byte 0 and byte 15000":           func(b []byte) []byte { b[7000] ^= 1; return b },
		"between byte 0 and byte 15000 it is not": func(b []byte) []byte { b[14999] ^= 0x80; return append(b, b...) },
	} {
		d := tempJob(t)
		e, err := d.openEvidence("f", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(text); err != nil {
			t.Fatal(err)
		}
		was, _, _, err := e.grown(extent{})
		e.Close()
		if err != nil {
			t.Fatal(err)
		}
		b := spoil(bytes.Clone(text))
		os.Remove(d.path("f"))
		if b != nil {
			if err := os.WriteFile(d.path("f"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e, err = d.openEvidence("f", &was)
		var exit *Error
		if !errors.As(err, &exit) || exit.Kind != Storage || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), d.path("f")) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			e.Close()
		}
		if got, err := os.ReadFile(d.path("f")); (err == nil) != (b != nil) || !bytes.Equal(got, b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// Bytes of a failed write that are cut off again are not part of the hash.
func TestEvidenceOfAFullDisk(t *testing.T) {
	d := tempJob(t)
	e, err := d.openEvidence("f", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	whole := e.File
	if _, err := e.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	e.File, err = os.Open(d.path("f")) // open for reading only, so that writes fail
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write([]byte("two\n")); err == nil {
		t.Fatal("written")
	}
	e.File.Close()
	e.File = whole
	if err := e.Truncate(4); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write([]byte("three\n")); err != nil {
		t.Fatal(err)
	}
	if now, _, _, err := e.grown(extent{}); err != nil || now.SHA256 != sumOf("one\nthree\n") {
		t.Errorf("%+v, %v", now, err)
	}
}

// If the file for a robots.txt body is not a regular file, the body is neither read nor written.
func TestPlantedRobotsBody(t *testing.T) {
	d := tempJob(t)
	name := sumOf("body") + ".txt"
	if err := os.Symlink("/dev/null", d.path(name)); err != nil {
		t.Skip(err)
	}
	if err := d.writeOnce(name, []byte("body")); err == nil {
		t.Error("a symbolic link is taken for the body")
	}
	if b, err := d.read(name); err == nil {
		t.Errorf("read as %q", b)
	}
}
