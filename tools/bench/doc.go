// Package bench measures whole crawls, so that changes that make crawls more expensive are noticed before they are merged. It has only
// benchmarks, which measure the cost, and tests, which fail if a crawl allocates more than before. docs/measuring.md explains how to run
// and read them.
//
// A benchmark crawls a synthetic web that another process serves on loopback, so that the CPU time of this process is that of the crawler.
// The same pages are then fetched with net/http and read with the tokenizer of x/net/html, in the same run: times depend on the machine and
// its load, but ratios to these two hardly do.
//
// Reading order: crawl_test.go (the main benchmark), meter_test.go and ceiling_test.go (measurements and their references), site_test.go,
// server_test.go and child_test.go (the web), then the other benchmarks.
package bench
