// Package shell is a prompt that tries selectors, links and rules on one page, which is in memory or recorded. It sends
// nothing: every page goes through a crawler whose Gate is offline, so that links, fates and the record of the visit are
// those of a crawl.
//
// Reading order: shell.go (the pages), prompt.go (lines, and the commands), look.go (what the commands print), capture.go
// (answers in memory), recorded.go (archives), terminal.go (editing of lines).
package shell
