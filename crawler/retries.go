package crawler

// retryShare is the number of pages that permit one more retry of a host, and of a crawl.
const retryShare = 10

// retry takes a retry from the budgets of a host and of the crawl. It reports whether there was one left.
func (t *tally) retry(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retried[host] >= RetriesPerHost+t.hosts[host]/retryShare || t.r.Retries >= RetriesInAll+t.r.Pages/retryShare {
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
	v.Reason = reasonRetryBudget
}
