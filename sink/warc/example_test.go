package warc_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

// The archive comes before the lines of visits, which then contain the position of each response.
func Example() {
	dir, err := os.MkdirTemp("", "warc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	archive, err := warc.Open(dir, warc.Options{Prefix: "news", Info: warc.Info{Software: "newscrawl/1.0", Operator: "crawl@example.org"}})
	if err != nil {
		fmt.Println(err)
		return
	}

	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	visit := &sink.Record{
		Schema: sink.Schema, URL: "http://example.org/", Outcome: "fetched", Status: 200,
		Exchange: &sink.Exchange{
			URL: "http://example.org/", Addr: netip.MustParseAddr("192.0.2.1"), Started: at, Ended: at.Add(120 * time.Millisecond), Protocol: "HTTP/1.1",
			Request: []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
			Body:    []byte("Hello"),
		},
	}
	if err := archive.Append(context.Background(), visit); err != nil {
		fmt.Println(err)
	}
	if err := archive.Close(context.Background()); err != nil {
		fmt.Println(err)
	}

	records, err := warctest.Read(dir)
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range records[1:] {
		fmt.Println(r.Type(), r.Get("WARC-Target-URI"))
	}
	fmt.Println("the visit is in the archive:", visit.WARC.Offset == records[2].Offset)
	// Output:
	// request http://example.org/
	// response http://example.org/
	// metadata http://example.org/
	// the visit is in the archive: true
}
