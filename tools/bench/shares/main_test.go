package main

import (
	"strings"
	"testing"
)

const traces = `File: bench.test
Type: cpu
Duration: 5s, Total samples = 1s
-----------+-------------------------------------------------------
     500ms   runtime.memmove
             github.com/klauspost/compress/flate.(*decompressor).huffmanBlock
             github.com/amble-crawler/amble/fetcher.(*Fetcher).Fetch (inline)
             github.com/amble-crawler/amble/crawler.(*worker).request
-----------+-------------------------------------------------------
      10ms   runtime.scanobject
             runtime.gcDrain
             runtime.gcAssistAlloc
             runtime.mallocgc
             github.com/amble-crawler/amble/weburl.(*builder).url (inline)
-----------+-------------------------------------------------------
     300ms   github.com/amble-crawler/amble/weburl.(*Resolver).Resolve (inline)
             github.com/amble-crawler/amble/crawler.(*linker).decide
-----------+-------------------------------------------------------
     190ms   runtime.futex
             runtime.schedule
             runtime.mcall
-----------+-------------------------------------------------------
`

func TestTheInnermostDutyHasTheTimeAndGarbageComesFirst(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(traces), &out, 300); err != nil {
		t.Fatal(err)
	}
	const want = `| content decoding | 50.0 % | 150.0 |
| resolve links, seen, scope | 30.0 % | 90.0 |
| scheduler and run-time system | 19.0 % | 57.0 |
| garbage collection | 1.0 % | 3.0 |
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

func TestInvalidProfileIsAnError(t *testing.T) {
	for _, s := range []string{"", "File: x\n-----------+----\n", "no such file\n"} {
		if err := run(strings.NewReader(s), &strings.Builder{}, 0); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
