// Command amble runs bounded, polite crawls. "amble --help" lists its commands.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv, signals: signals,
		exit: os.Exit,
	}
	os.Exit(a.run(os.Args[1:]))
}
