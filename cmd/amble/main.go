// Command amble runs bounded, polite crawls. "amble --help" lists its commands.
package main

import (
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(newApp().run(os.Args[1:])) }

// newApp is the app of this process.
func newApp() *app {
	// Without this the runtime ends the process when stdout's reader has gone; with it the write
	// fails, and a crawl ends in good order.
	signal.Ignore(syscall.SIGPIPE)
	// net/http tells the standard logger when a server sends more than it was asked for. What became
	// of the request is in its visit.
	log.SetOutput(io.Discard)
	return &app{
		in: os.Stdin, out: &stdout{w: os.Stdout}, err: os.Stderr,
		env: os.LookupEnv, environ: os.Environ,
		notify: func(c chan<- os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) },
		ignore: func(c chan<- os.Signal) { signal.Stop(c) },
		exit:   os.Exit,
	}
}
