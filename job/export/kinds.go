package export

// Kinds returns the kinds that need no library of their own.
func Kinds() []Kind {
	return []Kind{CSV(), CrawlLog(), WACZ(), HostGraph(), PageGraph()}
}
