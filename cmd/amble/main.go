// Command amble runs bounded, polite crawls. "amble --help" lists its commands.
package main

import (
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
	return &app{
		in: os.Stdin, out: &stdout{w: os.Stdout}, err: os.Stderr,
		env: os.LookupEnv, environ: os.Environ,
		notify: func(c chan<- os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) },
		ignore: func(c chan<- os.Signal) { signal.Stop(c) },
		exit:   os.Exit,
	}
}
