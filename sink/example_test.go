package sink_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/sink"
)

func ExampleNewJSONL() {
	out := sink.NewJSONL(os.Stdout)
	err := out.Append(context.Background(), &sink.Record{
		Schema: sink.Schema, URL: "http://example.org/", Outcome: "fetched", Status: 200, Type: "text/html",
		WARC: &sink.Location{File: "amble-20260301120000-00000.warc.gz", Offset: 734, Length: 1021},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"schema":"amble.visit/1","url":"http://example.org/","depth":0,"status":200,"outcome":"fetched","type":"text/html","warc":{"file":"amble-20260301120000-00000.warc.gz","offset":734,"length":1021}}
}

// A killed crawl resumes: output after the last Sync is truncated and written again.
func ExampleOpenJSONL() {
	dir, err := os.MkdirTemp("", "visits")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "visits.jsonl")
	ctx := context.Background()

	out, _ := sink.OpenJSONL(path)
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/1"})
	committed, _ := out.Sync(ctx)
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/2"}) // then the power fails

	out, _ = sink.OpenJSONL(path)
	if err := out.Restore(ctx, committed); err != nil {
		fmt.Println(err)
	}
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/3"})
	_ = out.Close(ctx)
	lines, _ := os.ReadFile(path)
	fmt.Printf("%s", lines)
	// Output:
	// {"schema":"","url":"http://example.org/1","depth":0,"outcome":""}
	// {"schema":"","url":"http://example.org/3","depth":0,"outcome":""}
}

func ExampleExchange() {
	x := &sink.Exchange{
		URL:  "http://example.org/",
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"),
		Body: []byte("5\r\nHello\r\n0\r\n\r\n"),
	}
	fmt.Printf("%d %s %q\n", x.Status(), x.ContentType(), x.Payload())
	fmt.Printf("%x\n", x.SHA1())
	// Output:
	// 200 text/plain "Hello"
	// f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0
}

func ExampleSyntheticHead() {
	h := http.Header{"Server": {"example"}, "Content-Encoding": {"br"}}
	fmt.Printf("%q\n", sink.SyntheticHead(200, h, false))
	fmt.Printf("%q\n", sink.SyntheticHead(200, h, true))
	// Output:
	// "HTTP/1.1 200 \r\nContent-Encoding: br\r\nServer: example\r\n\r\n"
	// "HTTP/1.1 200 \r\nX-Crawler-Content-Encoding: br\r\nServer: example\r\n\r\n"
}
