// Package chromium renders pages in Chromium that has no network.
//
// A [Renderer] starts browsers, speaks the Chrome DevTools Protocol with them over a pipe, and runs the rounds of
// package render. The browser's processes are in namespaces of their own, in which there is no network interface
// that is up. Every request of a page is intercepted before it would leave the browser, is answered with what the
// caller has, or fails.
//
// # Isolation
//
// By default a browser runs in new user, network and process namespaces, which needs Linux and no privilege; run
// by root it runs as user 65534. Before its first page the Renderer looks from outside, in /proc, whether the
// browser's network namespace is another one than its own and has no interface but a loopback that is down, and
// no route. Chromium's own sandbox is on in every case. Where namespaces are unavailable, [Flags] makes do
// with settings of the browser that send everything which is not intercepted to a listener that counts and
// closes connections; it must be chosen by name.
//
// Nothing outlives a Renderer: when the browser's first process dies, the kernel ends the namespace with all
// others, and that process is killed with the thread that started it.
//
// # Rounds
//
// A page's clock is virtual: it stands while a request waits for an answer, however long, and jumps from timer to
// timer otherwise. Random numbers come from the Task's seed. Frames are drawn when the Renderer says so. Answers
// are delivered in batches: when the page can do nothing more without them, all at once and in the order in which
// they were requested. So a round depends on its Task alone; what workers do among themselves is excepted.
//
// Reading order: chromium.go (the Renderer), fleet.go and lot.go (which browser, which page), round.go (a round), tab.go,
// requests.go, answers.go, events.go, script.go (a page); browser.go, conn.go, meter.go (a browser); process.go, flags.go, find.go,
// profile.go, user.go, trap.go, prove.go, errors.go and the system_ files (its process).
package chromium
