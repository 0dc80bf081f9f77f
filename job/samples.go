package job

import (
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/weburl"
)

// readOrder reads "found" or "hash:SEED".
func readOrder(texts []string) (crawler.Order, error) {
	o := crawler.Order(one(texts))
	return o, o.Validate()
}

// orderText is the inverse of readOrder.
func orderText(o crawler.Order) []string {
	if o == "" {
		o = crawler.OrderFound
	}
	return []string{string(o)}
}

// readSample reads "N:SEED", or "none".
func readSample(texts []string) (crawler.Sample, error) { return crawler.ParseSample(one(texts)) }

// sampleText is the inverse of readSample.
func sampleText(s crawler.Sample) []string { return []string{s.String()} }

// drawText explains why a URL without a visit is not in the sample of a job.
func drawText(c *crawler.Config, rep *crawler.Report, u weburl.URL) string {
	for _, d := range rep.Draws {
		if !d.Of(u) {
			continue
		}
		ticket := fmt.Sprintf("%016x", draw.Ticket(c.Sample.Seed, c.Canonical.Normal(u)))
		switch {
		case !d.Ended:
			return "the sample of its site is not drawn yet: not all sitemaps are read"
		case d.Below == "" || ticket < d.Below:
			return "no sitemap that was read lists it in scope: with its ticket, " + ticket + ", it would have been drawn"
		}
		return fmt.Sprintf("not drawn, if a sitemap lists it: its ticket is %s, and drawn were the %d with a ticket below %s, of %d entries (sample %s)", ticket, d.Drawn, d.Below, d.Listed, c.Sample)
	}
	return fmt.Sprintf("not drawn: its site is not that of a seed (sample %s)", c.Sample)
}
