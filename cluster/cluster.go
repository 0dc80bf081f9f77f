// Package cluster shares one crawl among many machines: a job is a fixed number of ordinary durable crawls, its shards,
// that exchange links. docs/cluster-design.md says how, and why so.
//
// An [Engine] stores what must outlive a machine and decides who owns a shard. Its clauses are tested by the suite in
// cluster/enginetest. There are two engines: cluster/mem for tests in virtual time, and cluster/nats.
//
// Reading order: engine.go (the contract of engines).
package cluster
