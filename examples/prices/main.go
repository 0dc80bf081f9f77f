// Command prices appends the products of a shop, with today's prices, to prices.csv.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/sink"
)

type product struct {
	Page  string    `json:"page"`
	Seen  time.Time `json:"seen"`
	Name  string    `json:"name" css:"h1"`
	Price float64   `json:"price" css:".price" attr:"data-amount"`
}

var price = css.MustCompile(".price")

func read(_ context.Context, v *crawler.Visit) error {
	tree, err := v.Tree()
	if err != nil || css.First(tree, price) == nil {
		return err // the page is not a product
	}
	p := product{Page: v.URL.String(), Seen: v.Started.UTC()}
	return errors.Join(css.Unmarshal(tree, &p), v.Emit(p)) // after an error nothing is written
}

func run(ctx context.Context, cfg crawler.Config, file string, seeds ...string) error {
	table, err := sink.OpenCSV(file, "page", "seen", "name", "price")
	if err != nil {
		return err
	}
	cfg.Handler, cfg.Sinks = crawler.HandlerFunc(read), []sink.Sink{table}
	c, err := crawler.New(cfg)
	if err == nil {
		_, err = c.Run(ctx, seeds...)
	}
	return errors.Join(err, table.Close(ctx))
}

func main() {
	contact := flag.String("contact", "", "`URL or mail address` at which site owners reach you")
	flag.Parse()
	if err := run(context.Background(), crawler.Config{Contact: *contact}, "prices.csv", flag.Args()...); err != nil {
		log.Fatal(err)
	}
}
