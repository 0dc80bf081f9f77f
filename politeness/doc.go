// Package politeness decides when a request may leave, and proves afterwards that it might.
//
// The [Gate] holds, for every host, what the host asked of robots (robots.txt) and when it may be
// asked again (pacing). It does no I/O and starts no goroutine. A crawler's worker goes through it
// in this order, for every request, robots.txt and redirect targets included:
//
//	Visit     = Next , resolve , Admit , ( Wait | Refused | Fetch ) .
//	Wait      = NotYet .                     // ask again at NotYet.Until; never sleep on it
//	Refused   = Denied .                     // the fate of this URL, with the rule
//	Fetch     = Permit , Redeem , Begin , request on the wire , Report .
//
// Next names what has to be asked for first: the URL itself, or the robots.txt of its origin, or a
// hop of that file's redirects. A [Permit] is for one request to one URL at one address, can be
// redeemed once, and expires. [Grant.Begin] is called by the transport immediately before the first
// byte is written; it is what keeps a paused process from sending late. Report must follow every
// Permit, whatever became of it: the host is held until then.
package politeness
