// Package report sums up a crawl that package job keeps: as text, as a self-contained page that shows every request and every
// pause, and as tables. The facts about each host are those of package job/digest.
//
// Reading order: text.go; page.go with page.tmpl, then its sections in their order (got.go, polite.go, spent.go, sites.go,
// problems.go, sample.go, how.go), figures.go, words.go; lists.go is the tables.
package report
