// Command amble runs bounded, polite crawls. "amble --help" lists its commands.
package main

import (
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/amble-crawler/amble/internal/cli"
)

func main() {
	// A crawl shares its machine: memory that waits to be collected is half of what is in use, not as much
	// again. What that costs is a few percent of the crawl's CPU time at most.
	if _, chosen := os.LookupEnv("GOGC"); !chosen {
		debug.SetGCPercent(50)
	}
	os.Exit(newApp().run(os.Args[1:]))
}

// newApp is the app of this process.
func newApp() *app {
	// Without this the runtime ends the process when stdout's reader has gone; with it the write
	// fails, and a crawl ends in good order.
	signal.Ignore(syscall.SIGPIPE)
	// net/http tells the standard logger when a server sends more than it was asked for. What became
	// of the request is in its visit.
	log.SetOutput(io.Discard)
	return &app{
		in: os.Stdin, out: cli.NewStdout(os.Stdout), err: os.Stderr,
		env: os.LookupEnv, environ: os.Environ,
		notify: func(c chan<- os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) },
		ignore: func(c chan<- os.Signal) { signal.Stop(c) },
		exit:   os.Exit,
	}
}
