package job

import "github.com/amble-crawler/amble/crawler"

// readOrder reads "found" or "hash:SEED".
func readOrder(texts []string) (crawler.Order, error) {
	o := crawler.Order(one(texts))
	return o, o.Validate()
}

// orderText returns the text that readOrder reads.
func orderText(o crawler.Order) []string {
	if o == "" {
		o = crawler.OrderFound
	}
	return []string{string(o)}
}
