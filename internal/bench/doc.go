// Package bench measures whole crawls, so that a change that makes them dearer is seen before it is
// merged. It has no code of its own: benchmarks, which say how much, and tests, which fail when a
// crawl allocates more than it did. docs/measuring.md tells how to run and read them.
//
// A benchmark crawls a synthetic web that another process serves on loopback, so that the CPU time of
// this process is the crawler's alone. Next to each crawl, in the same run, the same pages go through
// net/http and through the tokenizer of x/net/html: times depend on the machine and on what else it
// does, ratios to these two hardly.
package bench
