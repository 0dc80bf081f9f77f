// Package cluster shares one crawl among many machines: a job is a fixed number of ordinary durable crawls, its shards,
// that exchange links. docs/cluster-design.md says how, and why so.
//
// A [Node] owns some of a [Job]'s shards and has each of them crawled by a function of its user's, which gets the shard's
// frontier. An [Engine] stores what must outlive a machine and decides who owns a shard. Its clauses are tested by the suite
// in cluster/enginetest. There are two engines: cluster/mem for tests in virtual time, and cluster/nats.
//
// Reading order: engine.go (the contract of engines), job.go (what all nodes know), record.go (what journals hold), lease.go,
// owner.go (appending under the fence), takeover.go and snapshot.go (becoming the owner, and the copy that follows), offer.go (what inboxes
// hold), shard.go, outbox.go and inbox.go (the frontier of a shard), output.go, node.go and fellows.go (which shards a node
// owns), clock.go and clocks.go (what all crawls on an engine share), robots.go, turns.go (what a shard's crawl takes of it), finish.go
// (when a job is over).
package cluster
