// Package shell is a prompt for trying selectors, links and rules on one page, which is in memory or recorded. It sends no requests. Every
// page is read by a crawler with an offline Gate, so that links, fates and the record of the visit are the same as in a crawl.
//
// Reading order: shell.go (the pages), prompt.go (lines, and the commands), look.go (output of the commands), capture.go (responses in
// memory), recorded.go (archives), terminal.go (editing of lines).
package shell
