package warctest_test

import (
	"context"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

func ExampleRead() {
	dir, err := os.MkdirTemp("", "warc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	w, err := warc.Open(dir, warc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, url := range []string{"http://example.org/1", "http://example.org/2"} {
		_ = w.AppendExchange(context.Background(), &sink.Exchange{URL: url, Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Body: []byte("the same")})
	}
	_ = w.Close(context.Background())

	records, err := warctest.Read(dir)
	fmt.Println(err)
	for _, r := range records {
		if r.Type() == "revisit" {
			fmt.Println(r.Get("WARC-Target-URI"), "is the same as", r.Get("WARC-Refers-To-Target-URI"))
		}
	}
	// Output:
	// <nil>
	// http://example.org/2 is the same as http://example.org/1
}
