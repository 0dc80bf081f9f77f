// Package live shows a crawl in a browser while it runs, or from its job directory, and takes the operator's orders: pause,
// resume, drain, leave a host out, slower. Nothing that it does makes a crawl faster than its job says.
//
// One page answers four questions (is it polite, when does it end and who decides that, is it stuck, what comes out) and shows
// the last seconds of each site with what is owed to it beyond the present, the sites in the order in which they decide the end,
// and what was refused or failed. It is HTML that the server makes anew every second; a script, where there is one,
// only replaces the old page with the new one.
//
// Reading order: live.go, feed.go (what is read), recent.go, state.go (what is shown), rows.go, chart.go, words.go; then
// server.go, guard.go (who may), stream.go.
package live
