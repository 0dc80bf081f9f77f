package warc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
)

func answerOf(i int) *sink.Exchange {
	x := &sink.Exchange{
		URL: fmt.Sprintf("https://a.org/%d?q=a|b", i), Started: time.Unix(1e9+int64(i), 0), Protocol: "HTTP/1.1",
		Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-N: 1\r\n\r\n"), Body: fmt.Appendf(nil, "<title>%d</title>", i),
	}
	switch i % 5 {
	case 1: // same payload as in records 0, 5, 10, …
		x.Body = fmt.Appendf(nil, "<title>%d</title>", i-1)
	case 2:
		x.Head = []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n")
		x.Body = []byte("4\r\nabcd\r\n0\r\n\r\n")
	case 3:
		x.Truncated = "slow"
	}
	return x
}

func writeArchive(t *testing.T, dir string, n int, o Options) {
	t.Helper()
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Append(context.Background(), &sink.Record{URL: answerOf(i).URL, Exchange: answerOf(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestArchiveFindsWhatWasWritten reads archives of many files, both with their indexes and without.
func TestArchiveFindsWhatWasWritten(t *testing.T) {
	for _, c := range []Compression{Gzip, Zstd} {
		dir := t.TempDir()
		const n = 60
		writeArchive(t, dir, n, Options{Compression: c, MaxSize: 16 << 10})
		for _, indexed := range []bool{true, false} {
			indexes, err := filepath.Glob(filepath.Join(dir, "*"+indexExt))
			if err != nil || len(indexes) < 3 && indexed {
				t.Fatal(indexes, err)
			}
			for i, name := range indexes {
				switch {
				case !indexed:
					err = os.Remove(name)
				case i == 1: // as a killed process leaves an index
					err = os.Truncate(name, 1000)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			a, err := OpenArchive(nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want := answerOf(i)
				got, err := a.Find(want.URL)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Head, want.Head) || !bytes.Equal(got.Payload, want.Payload()) || got.Truncated != want.Truncated || !got.Date.Equal(want.Started) {
					t.Errorf("%s indexed=%v: %+v\n%s%s", c, indexed, got, got.Head, got.Payload)
				}
			}
			if a.Len() != n || len(a.Cut()) != 0 {
				t.Errorf("%d answers, cut %v", a.Len(), a.Cut())
			}
			if _, err := a.Find("https://a.org/none"); !errors.Is(err, ErrNotArchived) {
				t.Errorf("none: %v", err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// plainArchive is an archive as other programs write one: uncompressed, with URIs in angle brackets and a chunked body.
const plainArchive = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 4\r\n\r\na: b\r\n\r\n" +
	"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:1>\r\nWARC-Target-URI: <http://a.org/>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n" +
	"Content-Type: application/http;\r\n msgtype=response\r\nContent-Length: 71\r\n\r\n" +
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n\r\n" + "\r\n\r\n"

func TestArchiveOfOtherPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc")
	text := strings.Replace(plainArchive, "Content-Length: 71", fmt.Sprint("Content-Length: ", len("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n\r\n\r\n")), 1)
	for _, c := range []struct {
		text, want string // want: the error text
	}{
		{text, ""},
		{text + text, ""},
		{text[:len(text)-3], "ends within"},
		{text[:90], "ends within"},
		{strings.Replace(text, "Content-Length: 4", "Content-Length: 5", 1), "byte 0"},
		{strings.Replace(text, "WARC/1.0\r\nWARC-Type: resp", "WORK/1.0\r\nWARC-Type: resp", 1), "no WARC record begins"},
		{strings.Replace(text, "Content-Length: 4", "Content-Length: -4", 1), "Content-Length"},
		{"WARC/1.0\r\n" + strings.Repeat("x", maxFields), "too long"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := OpenArchive(nil, path)
		if c.want != "" {
			if err == nil && len(a.Cut()) > 0 {
				err = a.Cut()[0]
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%.40q…: %v, want %s", c.text, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		x, err := a.Find("http://a.org/")
		if err != nil || string(x.Payload) != "abc" {
			t.Errorf("%+v, %v", x, err)
		}
		urls := []string{}
		for u, err := range a.URLs() {
			if err != nil {
				t.Fatal(err)
			}
			urls = append(urls, u)
		}
		if !slices.Contains(urls, "http://a.org/") {
			t.Error(urls)
		}
	}
}

// TestArchiveChecksDigests changes a byte of a record in an uncompressed file. Only the digest can reveal this.
func TestArchiveChecksDigests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc")
	block := "HTTP/1.1 200 OK\r\n\r\nabc"
	record := func(block, digest string) {
		t.Helper()
		text := fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.org/\r\nWARC-Block-Digest: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", digest, len(block), block)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	find := func() error {
		t.Helper()
		a, err := OpenArchive(nil, path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Find("http://a.org/")
		return errors.Join(err, a.Close())
	}
	for _, d := range []Digest{SHA1, SHA256} {
		record(block, d.of([]byte(block)))
		if err := find(); err != nil {
			t.Errorf("%v: %v", d, err)
		}
		record(strings.Replace(block, "abc", "abd", 1), d.of([]byte(block)))
		if err := find(); !errors.Is(err, errDigest) {
			t.Errorf("%v, one byte changed: %v", d, err)
		}
	}
	record(block, "md5:unknown")
	if err := find(); err != nil {
		t.Errorf("a digest of another kind: %v", err)
	}
}

// FuzzArchive opens arbitrary bytes as an archive and reads everything in it.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(plainArchive))
	dir := f.TempDir()
	for _, c := range []Compression{Gzip, Zstd} {
		w, err := Open(filepath.Join(dir, string(c)), Options{Compression: c})
		if err != nil {
			f.Fatal(err)
		}
		for i := range 3 {
			if err := w.Append(context.Background(), &sink.Record{Exchange: answerOf(i)}); err != nil {
				f.Fatal(err)
			}
		}
		if err := w.Close(f.Context()); err != nil {
			f.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, string(c), "*"+c.ext()))
		b, err := os.ReadFile(files[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.warc")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := OpenArchive(nil, path)
		if err != nil {
			return
		}
		defer a.Close()
		for u, err := range a.URLs() {
			if err != nil {
				return
			}
			if x, err := a.Find(u); err == nil && len(x.Head) == 0 {
				t.Errorf("%s has no answer", u)
			}
		}
	})
}

// TestArchiveNeedsLittleMemory checks the size of the table for a million responses.
func TestArchiveNeedsLittleMemory(t *testing.T) {
	if long.Race {
		t.Skip("measures memory, which the race detector multiplies")
	}
	var index bytes.Buffer
	const n = 200_000
	for i := range n {
		fmt.Fprintf(&index, "org,a)/%d 20200101000000 {\"url\":\"https://a.org/%d\",\"mime\":\"text/html\",\"status\":\"200\",\"digest\":\"sha1:A\",\"length\":\"1\",\"offset\":\"%d\",\"filename\":\"x.warc.gz\"}\n", i, i, i)
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "x.cdxj"), index.Bytes(), 0o644), os.WriteFile(filepath.Join(dir, "x.warc.gz"), nil, 0o644), os.Truncate(filepath.Join(dir, "x.warc.gz"), n)); err != nil {
		t.Fatal(err)
	}
	index = bytes.Buffer{}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a, err := OpenArchive(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); a.Len() != n || used > 32*n {
		t.Errorf("%d answers take %d bytes", a.Len(), used)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
