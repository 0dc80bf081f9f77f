// Package cluster shares one crawl among many machines: a job is a fixed number of ordinary durable crawls, its shards, that exchange
// links. docs/cluster-design.md describes and explains the design.
//
// A [Node] owns some of a [Job]'s shards and has each of them crawled by a function that its user supplies, which gets the shard's
// frontier. An [Engine] stores the state that must outlive a machine, and decides who owns a shard. The suite in cluster/enginetest tests
// its clauses. There are two engines: cluster/mem for tests in virtual time, and cluster/nats.
package cluster
