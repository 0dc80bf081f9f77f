// Package politeness decides when a request may leave, and proves afterwards that it might.
//
// The [Gate] holds, for every host, what the host asked of robots (robots.txt) and when it may be
// asked again (pacing). It does no I/O and starts no goroutine. A crawler's worker goes through it
// in this order, for every request, robots.txt and redirect targets included:
//
//	Visit   = { Step NotYet } Step ( Denied | Request ) .
//	Step    = Next resolve ( Admit | Failed ) .        // Failed: the name has no address for now
//	Request = Permit [ Redeem [ Begin wire ] ] Report .
//
// In words: Step is repeated, each time no earlier than the last answer said, until Admit returns
// *[Denied], which is the fate of the URL, or a [Permit]. A Permit for robots.txt, or for a hop of its
// redirects, is used like any other, and then the Visit begins again. Nobody sleeps on a NotYet: the URL
// goes back to the queue with its time.
//
// Next names what has to be asked for first: the URL itself, or the robots.txt of its origin, or a
// hop of that file's redirects. A [Permit] is for one request to one URL at one address, can be
// redeemed once, and expires. [Grant.Begin] is called by the transport immediately before the first
// byte is written; it is what keeps a paused process from sending late. Report must follow every
// Permit, whatever became of it: the host is held until then, or, when nothing was begun, until the
// Permit has run out.
//
// What the Gate knows is bounded in memory: clocks that would change nothing are forgotten, and
// robots.txt files are dropped and asked for again. [Gate.Snapshot] takes it to another process. Every
// request leaves two lines, [ledger.Entry], in the ledger; package audit checks a ledger afterwards.
package politeness
