package crawler

// Retries are few compared with successful requests: a host may have one for every RetryShare pages that
// were fetched from it, plus RetriesPerHost, and a crawl one for every RetryShare of its pages, plus
// RetriesInAll. So a small site gets all of its retries, while a broken site, or a broken network, does not
// triple the requests.
const (
	RetryShare     = 10
	RetriesPerHost = 50
	RetriesInAll   = 500
)

// retry takes a retry from the budgets of a host and of the crawl. It reports whether there was one left.
func (t *tally) retry(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retried[host] >= RetriesPerHost+t.hosts[host]/RetryShare || t.r.Retries >= RetriesInAll+t.r.Pages/RetryShare {
		return false
	}
	t.retried[host]++
	t.r.Retries++
	if t.fresh != nil {
		t.fresh[host] = true
	}
	return true
}

// spent records in v that the budget for retries is used up.
func (v *Visit) spent() {
	v.Detail = "not tried again: the retries of its host, or of the crawl, are used up"
	if v.Reason != "" {
		v.Detail += " (the last attempt: " + v.Reason + ")"
	}
	v.Reason = ReasonRetryBudget
}
