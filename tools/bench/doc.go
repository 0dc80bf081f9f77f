// Package bench measures whole crawls, so that a change that makes them more expensive is seen before it is
// merged. It has only benchmarks, which measure the cost, and tests, which fail when a crawl allocates more
// than it did. docs/measuring.md tells how to run and read them.
//
// A benchmark crawls a synthetic web that another process serves on loopback, so that the CPU time of
// this process is the crawler's alone. In the same run, the same pages are fetched with net/http and read
// with the tokenizer of x/net/html: times depend on the machine and its load, ratios to these two hardly.
//
// Reading order: crawl_test.go (the main benchmark), meter_test.go and ceiling_test.go (what is measured, and
// against what), site_test.go, server_test.go and child_test.go (the web), then the other benchmarks.
package bench
