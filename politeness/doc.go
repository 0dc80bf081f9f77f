// Package politeness decides when a request may be made, and records enough to check that afterwards.
//
// For every host, the [Gate] knows what its robots.txt allows and when it may be requested again. It makes no requests and
// starts no goroutine. A worker of a crawler uses it in this order for every request, including those for robots.txt and for
// the targets of redirects:
//
//	Visit   = { Step NotYet } Step ( Denied | Request ) .
//	Step    = Next resolve ( Admit | Failed ) .        // Failed: the name has no address for now
//	Request = Permit [ Redeem [ Begin wire ] ] Report .
//
// That is: Step is repeated, each time no earlier than the last answer said, until Admit returns a *[Denied], which is final
// for the URL, or a [Permit]. A Permit for robots.txt, or for a hop of its redirects, is used like any other; then the Visit
// begins again. Nobody sleeps on a [NotYet]: the URL is queued again with its time.
//
// [Gate.Next] says what has to be requested first: the URL itself, the robots.txt of its origin, or a hop of that file's
// redirects. A [Permit] is for one request to one URL at one address, can be redeemed once, and expires. The transport calls
// [Grant.Begin] immediately before it writes the first byte, so that a process that was suspended sends nothing late.
// [Gate.Report] must follow every Permit, whatever its outcome: the host is held until then or, if nothing was begun, until
// the Permit has expired.
//
// The Gate's memory is bounded: clocks that would change nothing are forgotten, and robots.txt files are dropped and fetched
// again. [Gate.Snapshot] carries its state to another process. Every request leaves two lines, [ledger.Entry], in the ledger,
// from which [Gate.Replay] restores what happened after a snapshot, and which package politeness/audit checks.
package politeness
