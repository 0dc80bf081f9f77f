// Command service collects prices for clients. Over HTTP or on a page, clients start jobs, follow their results and stop them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/jobs/server"
)

// prices is a program that clients can name in a request. args is the selector of a price. It is called again when its job is resumed.
func prices(args json.RawMessage, c *job.Config) error {
	var text string
	err := json.Unmarshal(args, &text)
	price, wrong := css.Compile(text)
	c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		tree, err := v.Tree()
		if err == nil && css.First(tree, price) != nil {
			err = v.Emit(map[string]string{"price": css.Text(tree, price)})
		}
		return err
	})
	return errors.Join(err, wrong)
}

func open(dir string, c server.Config) (*server.Server, error) {
	c.Jobs = jobs.Config{Running: 20, Programs: map[string]jobs.Program{"prices": prices}}
	return server.Open(dir, c)
}

func main() {
	dir, file := flag.String("jobs", "data", "`directory` of the jobs"), flag.String("token", "tokens", "`file` of lines: NAME SECRET SCOPES")
	flag.Parse()
	tokens, err := server.ReadTokens(*file)
	if err != nil {
		log.Fatal(err)
	}
	l, err := server.Listen("127.0.0.1:8420", "", "", false)
	if err != nil {
		log.Fatal(err)
	}
	s, err := open(*dir, server.Config{Tokens: tokens, Listener: l})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	log.Print(s.Serve(ctx, time.Minute)) // running requests end first
}
