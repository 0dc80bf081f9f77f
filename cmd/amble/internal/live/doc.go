// Package live shows a crawl in a browser while it runs, or from its job directory, and takes the operator's orders: pause, resume, drain,
// leave a host out, slower. Nothing that it does makes a crawl faster than its job says.
//
// One page answers four questions (is it polite, when does it end and which site determines that, is it stuck, what are the results). It
// shows the last seconds of each site with its required pause beyond the present, the sites in the order in which they determine the end,
// and refused and failed URLs. It is HTML that the server makes every second; a script, if the browser runs it, only replaces the old page
// with the new one.
//
// Reading order: live.go, feed.go (input), recent.go, state.go (output), rows.go, chart.go, words.go; then server.go, guard.go (access),
// stream.go.
package live
