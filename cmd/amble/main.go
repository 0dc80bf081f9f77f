// Command amble runs bounded, polite crawls. "amble --help" lists its commands.
//
// Reading order: main.go, app.go (the commands, and how they are run; package cmd/amble/internal/keyflags has their flags), then
// cmd_crawl.go and crawl.go; package cmd/amble/internal/operator reads seeds and identity, cmd/amble/internal/view shows the crawl. Each
// other command is in its cmd_*.go; the page of a crawl is in live.go.
package main

import (
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones for --hours, on systems without a database of them

	"github.com/amble-crawler/amble/internal/cli"
)

func main() {
	if readsDocument() {
		return
	}
	a := newApp()
	if _, chosen := os.LookupEnv("GOGC"); !chosen {
		(&collections{}).follow()
	}
	os.Exit(a.run(os.Args[1:]))
}

// newApp returns the app for this process.
func newApp() *app {
	// Without this call, a write to stdout ends the process if the reader has closed it. With it, the write fails, and the crawl ends cleanly.
	signal.Ignore(syscall.SIGPIPE)
	// net/http logs to the standard logger when a server sends more than was requested. Visits have the outcomes of requests anyway.
	log.SetOutput(io.Discard)
	return &app{
		in: os.Stdin, out: cli.NewStdout(os.Stdout), err: os.Stderr,
		env: os.LookupEnv, environ: os.Environ,
		notify: func(c chan<- os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) },
		ignore: func(c chan<- os.Signal) { signal.Stop(c) },
		exit:   os.Exit,
	}
}
