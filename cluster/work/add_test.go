package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// seedFile writes a file of seeds.
func seedFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAdd adds pages that no page links to, and pages that the job knows already. It adds the same file twice, while one node joins and
// another one is cut off. Each page is fetched once.
func TestAdd(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w)
		var text strings.Builder
		text.WriteString("# more\n\n")
		for h := range 4 {
			for p := range 3 {
				w.Site(fmt.Sprintf("h%d.test", h)).Page(fmt.Sprintf("/more-%d", p), "")
				u := fmt.Sprintf("http://h%d.test/more-%d", h, p)
				l.pages[u] = true
				fmt.Fprintf(&text, "  %s \nhttp://h%d.test/%d\n", u, h, p)
			}
		}
		path := seedFile(t, text.String())
		x := &Operator{Engine: l.server.Connect(), Name: "me"}
		a := l.begin("a")
		time.Sleep(4 * time.Second)
		if res, err := x.Add(t.Context(), path, nil); err != nil || res != (Added{Order: 1, Seeds: 24}) {
			t.Errorf("%+v, %v", res, err)
		}
		a.conn.Cut(true)
		l.begin("b")
		time.Sleep(5 * time.Second)
		if res, err := x.Add(t.Context(), path, nil); err != nil || res != (Added{Order: 1, Seeds: 24, Known: 24}) {
			t.Errorf("again: %+v, %v", res, err)
		}
		other := seedFile(t, "http://h0.test/0\n"+text.String()) // another file, but without new seeds
		if res, err := x.Add(t.Context(), other, nil); err != nil || res != (Added{Order: 2, Seeds: 25}) {
			t.Errorf("as another file: %+v, %v", res, err)
		}
		a.conn.Cut(false)
		l.wait()
		_, seen := l.collect()
		for u := range l.pages {
			if seen[u] != 1 {
				t.Errorf("%s is there %d times", u, seen[u])
			}
		}
		if len(seen) != len(l.pages) {
			t.Errorf("%d URLs of %d", len(seen), len(l.pages))
		}
		if _, err := x.Add(t.Context(), path, nil); !errors.Is(err, cluster.ErrOver) {
			t.Errorf("to a job that is over: %v", err)
		}
	})
}

// If a line of the file is no seed for the job, the error names the line, and no line is added.
func TestAddNamesBadLines(t *testing.T) {
	for _, c := range []struct{ contact, text, lines string }{
		{contact, "https://site.example/b\nftp://site.example/\n#\n\nhttps://me:secret@site.example/\nsite.example\n", "2 5 6"},
		{contact, "https://site.example/\nhttps://other.example/\n", "2"}, // the scope is this host
		{contact, "https://site.example/private/x\n", ""},                 // accepted: the visit will name the rule that excludes it
		{contact, "https://site.example/" + strings.Repeat("x", 70_000) + "\nhttps://site.example/\n", "1"},
		{contact, "\x1f\x8b\x08\x00\n", "1"},
		{contact, "# nothing\n\n", "none"},
		{"", "http://127.0.0.1:8080/x\n", ""},
		{"", "https://site.example/x\n", "1"}, // a job without a contact
	} {
		e := mem.New().Connect()
		seed := "https://site.example/"
		if c.contact == "" {
			seed = "http://127.0.0.1:8080/"
		}
		cfg, err := job.Settings{{Name: "contact", Values: []string{c.contact}}, {Name: "exclude", Values: []string{"/private/"}}}.Config()
		if err != nil {
			t.Fatal(err)
		}
		u, err := weburl.Parse(seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := Create(t.Context(), e, &Spec{Config: cfg, Seeds: []weburl.URL{u}, Shards: 2}); err != nil {
			t.Fatal(err)
		}
		_, err = (&Operator{Engine: e}).Add(t.Context(), seedFile(t, c.text), nil)
		var bad *SeedsError
		if !errors.As(err, &bad) {
			if err != nil || c.lines != "" {
				t.Errorf("%.60q: %v", c.text, err)
			}
			continue
		}
		var got []string
		for _, x := range bad.Lines {
			got = append(got, fmt.Sprint(x.Line))
		}
		if len(got) == 0 {
			got = []string{"none"}
		}
		if strings.Join(got, " ") != c.lines || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: lines %v: %v", c.text, got, err)
		}
		if all, err := cluster.LoadOrders(t.Context(), e); err != nil || len(all) > 0 {
			t.Errorf("%.60q: %d orders, %v", c.text, len(all), err)
		}
	}
	e := mem.New().Connect()
	if _, err := (&Operator{Engine: e}).Add(t.Context(), "seeds", nil); !errors.Is(err, cluster.ErrNoJob) {
		t.Errorf("without a job: %v", err)
	}
}

// If a call of Add is interrupted, the next call continues where the first one stopped.
func TestAddContinues(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w)
		var text strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&text, "http://h%d.test/with-a-rather-long-path/%d\n", i%4, i)
		}
		path := seedFile(t, text.String())
		conn := l.server.Connect()
		conn.Misbehave(mem.Faults{Latency: 4 * time.Second})
		x := &Operator{Engine: conn}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := x.Add(ctx, path, func(added, of int64) {
			if added <= 0 || of != 40_000 {
				t.Errorf("%d of %d", added, of)
			}
			if added > 10_000 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("broken off: %v", err)
		}
		conn.Misbehave(mem.Faults{})
		res, err := x.Add(t.Context(), path, nil)
		if err != nil || res.Known < 5_000 || res.Known >= 40_000 || res.Seeds != 40_000 {
			t.Errorf("%+v, %v", res, err)
		}
		if _, err := x.Add(t.Context(), t.TempDir(), nil); !errors.Is(err, safefile.ErrNotRegular) {
			t.Errorf("a directory: %v", err)
		}
	})
}
