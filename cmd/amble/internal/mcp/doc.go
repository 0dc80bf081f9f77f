// Package mcp lets agents read the web through jobs: it implements the tools of a Model Context Protocol server.
//
// Each request of an agent is a job of a [jobs.Manager]. So all of them take turns at hosts with the other crawls on this machine, and each
// has a ledger, robots.txt files and a verdict on consent. A call waits for a limited time. If the host must not be requested yet, the
// result says when to call again, and the job continues.
//
// Reading order: doc.go, tools.go (the tools), serve.go, jobs.go (from a call to its job), page.go (fetch, links), allowed.go, crawl.go
// (crawl, plan), search.go.
package mcp
