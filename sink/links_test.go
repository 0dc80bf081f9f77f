package sink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

// linking is a sink that adds a link to each record.
type linking struct{ *sink.JSONL }

func (l linking) Append(ctx context.Context, r *sink.Record) error {
	c := *r
	c.Outlinks = []sink.Outlink{{From: r.URL, To: "http://to.test/", Text: "=1+1\n\"x\",\u202e", Rel: []string{"nofollow"}, Kind: "anchor", Fate: "follow"}}
	return l.JSONL.Append(ctx, &c)
}

func linksSuite() sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) {
			s, err := sink.OpenLinks(filepath.Join(dir, "links.jsonl"))
			if err != nil {
				return nil, err
			}
			return linking{s}, nil
		},
		Read: func(dir string, _ bool) ([]string, error) {
			b, err := os.ReadFile(filepath.Join(dir, "links.jsonl"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			var urls []string
			for line := range strings.Lines(string(b)) {
				var l sink.Outlink
				if err := json.Unmarshal([]byte(line), &l); err != nil || !strings.HasSuffix(line, "\n") || l.Text != "=1+1\n\"x\",\u202e" || l.Fate != "follow" {
					return urls, fmt.Errorf("%q is not a link: %w", line, err)
				}
				urls = append(urls, l.From)
			}
			return urls, err
		},
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			s, err := sink.OpenLinksFull(filepath.Join(dir, "links.jsonl"), room)
			return linking{s}, err
		},
	}
}

func TestLinksKeepTheContract(t *testing.T) { sinktest.Run(t, linksSuite()) }

func TestKilledWhileItWritesLinks(t *testing.T) { sinktest.RunKilled(t, linksSuite(), kills()) }

func TestLinksHaveALineEach(t *testing.T) {
	var out bytes.Buffer
	s := sink.NewLinks(&out)
	if s.Name() != "links" || !s.Needs().Links || sink.NewJSONL(&out).Needs().Links {
		t.Errorf("Name: %q", s.Name())
	}
	r := &sink.Record{URL: "http://a.test/", Outlinks: []sink.Outlink{
		{From: "http://a.test/", To: "http://a.test/1", Text: "one\u202e", Kind: "anchor", Fate: "follow"},
		{From: "http://a.test/", Ref: "http://[", Kind: "image", Fate: "invalid", Rule: "host"},
	}}
	if err := errors.Join(s.Append(t.Context(), r), s.Append(t.Context(), &sink.Record{URL: "http://a.test/none"}), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	want := `{"from":"http://a.test/","to":"http://a.test/1","text":"one\u202e","kind":"anchor","fate":"follow"}
{"from":"http://a.test/","ref":"http://[","kind":"image","fate":"invalid","rule":"host"}
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func itemsSuite() sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) {
			s, err := sink.OpenItems(filepath.Join(dir, "items.jsonl"))
			if err != nil {
				return nil, err
			}
			return emitting{s}, nil
		},
		Read: func(dir string, _ bool) ([]string, error) {
			b, err := os.ReadFile(filepath.Join(dir, "items.jsonl"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			var urls []string
			for line := range strings.Lines(string(b)) {
				var item struct{ URL, Note string }
				if err := json.Unmarshal([]byte(line), &item); err != nil || !strings.HasSuffix(line, "\n") || item.Note != "=1+1\n\"x\",\u202e" {
					return urls, fmt.Errorf("%q is not an item: %w", line, err)
				}
				urls = append(urls, item.URL)
			}
			return urls, err
		},
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			s, err := sink.OpenItemsFull(filepath.Join(dir, "items.jsonl"), room)
			return emitting{s}, err
		},
	}
}

func TestItemsKeepTheContract(t *testing.T) { sinktest.Run(t, itemsSuite()) }

func TestKilledWhileItWritesItems(t *testing.T) { sinktest.RunKilled(t, itemsSuite(), kills()) }

func TestItems(t *testing.T) {
	var out bytes.Buffer
	s := sink.NewItems(&out)
	if s.Name() != "items" {
		t.Errorf("Name: %q", s.Name())
	}
	for _, data := range [][]json.RawMessage{nil, {json.RawMessage("{\"a\": 1,\n\"b\":\"\u009b\"}"), json.RawMessage(`2`)}, {json.RawMessage(`null`)}} {
		if err := s.Append(t.Context(), &sink.Record{URL: "http://a.test/", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Append(t.Context(), &sink.Record{URL: "http://a.test/bad", Data: []json.RawMessage{json.RawMessage(`1`), json.RawMessage(`{`)}})
	if err == nil || !strings.Contains(err.Error(), "http://a.test/bad") {
		t.Errorf("a result that is not JSON: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":1,\"b\":\"\\u009b\"}\n2\nnull\n"; out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func ExampleNewItems() {
	s := sink.NewItems(os.Stdout) // one of a crawler's sinks
	for _, item := range []string{`{"title": "Lamps", "price": 9.5}`, `{"title": "Chairs", "price": 20}`} {
		if err := s.Append(context.Background(), &sink.Record{URL: "http://shop.test/", Data: []json.RawMessage{json.RawMessage(item)}}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// {"title":"Lamps","price":9.5}
	// {"title":"Chairs","price":20}
}
