// Command shares prints the share of each duty of a crawl in a CPU profile. It reads the output of go tool pprof -traces:
//
//	go test -run '^$' -bench 'Crawl/page=30KB$' -benchtime 30x -cpuprofile cpu.out -o bench.test ./tools/bench -alone
//	go tool pprof -traces bench.test cpu.out | go run ./tools/bench/shares
//
// A sample belongs to the duty of the innermost frame that has one: so work that the run-time system does for a caller, such as allocation
// and copying, counts for the caller. Garbage collection is a separate duty, even where an allocation must assist it. If -page gives the
// CPU time for a page in microseconds, shares are also printed in microseconds.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	page := flag.Float64("page", 0, "CPU `microseconds` of a page, to be divided by the shares")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *page); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(r io.Reader, w io.Writer, page float64) error {
	spent, err := read(r)
	if err != nil {
		return err
	}
	return spent.write(w, page)
}
