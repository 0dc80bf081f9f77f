package ledger_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// Every request has two lines: one before it is sent, and one after it ends.
func ExampleReader() {
	lines := strings.NewReader(`{"event":"start","run":"r","id":1,"url":"https://site.example/robots.txt","host":"site.example","addr":"192.0.2.1","purpose":"robots","allowed":"2026-11-25T10:00:00Z","written":"2026-11-25T10:00:00Z"}
{"event":"end","run":"r","id":1,"ended":"2026-11-25T10:00:00.25Z","status":404}
`)
	r := ledger.NewReader(lines, 0)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Event, e.ID, e.URL, e.Status)
	}
	// Output:
	// start 1 https://site.example/robots.txt 0
	// end 1  404
}
