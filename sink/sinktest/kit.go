package sinktest

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/sink"
)

// kit is the state shared by the checks of a test.
type kit struct {
	*testing.T
	suite Suite
	dir   string
	n     int // number of records made so far
}

// open opens the output in k.dir.
func (k *kit) open() sink.Sink {
	k.Helper()
	s, err := k.suite.Open(k.dir)
	if err != nil {
		k.Fatalf("open: %v", err)
	}
	return s
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// record makes the next record, with an exchange. Some payloads are repeated, some are empty, and some responses are chunked.
func (k *kit) record() *sink.Record {
	k.n++
	at := start.Add(time.Duration(k.n) * 100 * time.Millisecond)
	url := urlOf(k.n)
	head, body := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", fmt.Sprintf("<p>page %d</p>", k.n)
	switch k.n % 5 {
	case 1:
		body = "<p>the same everywhere</p>"
	case 2:
		head += "Transfer-Encoding: chunked\r\n"
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	case 3:
		body = ""
	}
	return &sink.Record{
		Schema: sink.Schema, URL: url, Outcome: "fetched", Status: 200, Depth: k.n, Started: at, Ended: at,
		Exchange: &sink.Exchange{
			URL: url, Addr: netip.MustParseAddr("192.0.2.1"), Started: at, Ended: at, Protocol: "HTTP/1.1",
			Request: []byte("GET / HTTP/1.1\r\nHost: host.test\r\n\r\n"), Head: []byte(head + "\r\n"), Body: []byte(body),
		},
	}
}

// urlOf returns the URL of the n-th record.
func urlOf(n int) string { return fmt.Sprintf("http://host%d.test/%d", n%3, n) }

// add appends n records and returns their URLs.
func (k *kit) add(s sink.Sink, n int) []string {
	k.Helper()
	var urls []string
	for range n {
		r := k.record()
		if err := s.Append(context.Background(), r); err != nil {
			k.Fatalf("Append: %v", err)
		}
		urls = append(urls, r.URL)
	}
	return urls
}

func (k *kit) sync(s sink.Sink) int64 {
	k.Helper()
	offset, err := s.Sync(k.Context())
	if err != nil {
		k.Fatalf("Sync: %v", err)
	}
	return offset
}

func (k *kit) restore(s sink.Sink, offset int64) {
	k.Helper()
	if err := s.Restore(k.Context(), offset); err != nil {
		k.Fatalf("Restore(%d): %v", offset, err)
	}
}

func (k *kit) close(s sink.Sink) {
	k.Helper()
	if err := s.Close(k.Context()); err != nil {
		k.Fatalf("Close: %v", err)
	}
}

// want checks that the output has exactly these records.
func (k *kit) want(closed bool, want ...string) {
	k.Helper()
	got, err := k.suite.Read(k.dir, closed)
	if err != nil {
		k.Fatalf("the output: %v", err)
	}
	if !slices.Equal(got, want) {
		k.Fatalf("the output holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// snapshot is the content of a directory: the contents of files by path.
type snapshot map[string]string

func (k *kit) snapshot() snapshot {
	k.Helper()
	s := snapshot{}
	err := filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(k.dir, path)
		s[rel] = string(b)
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// lay continues in a new directory with the content s. A sink that is open in the old directory cannot change the new one: for the test,
// its process was killed.
func (k *kit) lay(s snapshot) {
	k.Helper()
	k.dir = k.TempDir()
	for name, content := range s {
		path := filepath.Join(k.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			k.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			k.Fatal(err)
		}
	}
}
