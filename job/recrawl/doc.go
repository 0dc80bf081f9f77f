// Package recrawl decides when pages are requested again: how often each changes, estimated from visits that only say
// whether it had changed since the one before, and how often each is therefore worth a request of a budget. It knows nothing
// of requests, files or clocks: every function is arithmetic over what it is given.
//
// Reading order: history.go (what visits have shown of a page), estimate.go (the rate of changes), prior.go (what pages of
// one folder have in common), optimum.go (frequencies under a budget), signals.go (what sitemaps and feeds announce), then
// schedule.go, which puts them together for one host.
//
// Rates and frequencies are in events per day. Changes are taken to be a Poisson process for each page, as Cho and
// Garcia-Molina found them to be ("Estimating frequency of change", ACM Transactions on Internet Technology 3(3), 2003,
// section 2).
package recrawl
