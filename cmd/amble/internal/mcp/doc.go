// Package mcp lets agents read the web through jobs: it makes the tools of a server of the Model Context Protocol.
//
// Each request of an agent is a job of a [jobs.Manager], so that all of them take turns at hosts with every other crawl of this
// machine, and each has its ledger, its robots.txt files and its verdict on consent. A call waits for a while; if the host is not to be
// asked yet, the answer is when to come back, and the job goes on.
//
// Reading order: doc.go, tools.go (what agents see), serve.go, jobs.go (from a call to its job), page.go (fetch, links), allowed.go, crawl.go
// (crawl, plan), search.go.
package mcp
