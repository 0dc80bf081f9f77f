package digest

import (
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// visit adds a visit to the facts.
func (d *Digest) visit(v *sink.Record) {
	d.facts.Known++
	if v.Ended.After(d.facts.Processed) {
		d.facts.Processed = v.Ended
	}
	fetched := v.Outcome == "fetched"
	host := d.hostOf(v.URL)
	for _, h := range d.both(host) {
		h.visit(v, fetched)
	}
	if !d.config.Brief {
		d.report(v, host, fetched)
	}
}

// report adds a visit to the data that only reports show.
func (d *Digest) report(v *sink.Record, host string, fetched bool) {
	if fetched {
		d.facts.Depths[min(max(0, v.Depth), maxDepth)]++
		d.facts.Sizes.Add(int64(v.Bytes))
	}
	if v.Depth > 0 && v.Via != "" && d.siteOf(v.Via) != siteOf(host) {
		d.facts.Crossed++
	}
	d.series.visit(v)
	if IsProblem(v) {
		d.problems.add(Group{Outcome: v.Outcome, Reason: v.Reason, Status: ProblemStatus(v)}, host, v)
	}
	if v.Rule != "" && (v.Outcome == "refused" || v.Outcome == "out_of_scope") {
		d.rules.add(Group{Outcome: v.Outcome, Reason: v.Reason, Rule: cut(v.Rule), Where: cut(where(v.Detail))}, host, v)
	}
}

func (h *Host) visit(v *sink.Record, fetched bool) {
	h.Visits++
	h.Results[ResultOf(v.Outcome, v.Reason, v.Status)]++
	count(&h.Outcomes, v.Outcome)
	if v.Reason != "" {
		count(&h.Reasons, v.Reason)
	}
	if v.Status >= 400 {
		if h.Statuses == nil {
			h.Statuses = map[int]int{}
		}
		if _, known := h.Statuses[v.Status]; known || len(h.Statuses) < maxNames {
			h.Statuses[v.Status]++
		}
	}
	if fetched {
		h.Size += int64(v.Bytes)
		h.Depth = max(h.Depth, v.Depth)
		if v.SameAs != "" {
			h.Same++
		}
		if v.NearOf != "" {
			h.Near++
		}
	}
	for use, signal := range uses(v.Usage) {
		count(&h.Usage, use+" "+signal)
	}
}

// uses returns the strictest statement about each use.
func uses(all []sink.Usage) map[string]string {
	if len(all) == 0 {
		return nil
	}
	strictest := map[string]string{}
	for _, u := range all {
		if strictest[u.Use] != "disallow" && u.Value == "" {
			strictest[u.Use] = u.Signal
		}
	}
	return strictest
}

// Pages returns how many pages were fetched.
func (h *Host) Pages() int { return h.Outcomes["fetched"] }

// Failed returns how many URLs had no usable answer.
func (h *Host) Failed() int { return h.Outcomes["failed"] }

// Refused returns how many URLs a rule forbade.
func (h *Host) Refused() int { return h.Outcomes["refused"] }

// OverBudget returns how many known URLs were not requested because the host's budget was used up.
func (h *Host) OverBudget() int { return h.Reasons["host_budget"] }

// siteOf returns a host without port 80 or 443 and without www., which do not distinguish sites.
func siteOf(host string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443"), "www.")
}

// hostOf returns the result of appendHost as a string.
func (d *Digest) hostOf(url string) string {
	d.key = appendHost(d.key[:0], url)
	return d.names.Of(d.key)
}

// siteOf returns the site of a page's URL. It caches the previous page, which is usually the same.
func (d *Digest) siteOf(via string) string {
	if d.via.url != via {
		d.via.url, d.via.site = via, siteOf(d.hostOf(via))
	}
	return d.via.site
}

// appendHost appends the host:port of a URL in the form of the ledger, always with the port. If the URL has no host, it appends nothing.
func appendHost(b []byte, url string) []byte {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return b
	}
	for i := range len(rest) { // faster than strings.IndexAny
		if c := rest[i]; c == '/' || c == '?' || c == '#' {
			rest = rest[:i]
			break
		}
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	b = append(b, rest...)
	switch {
	case rest == "" || strings.LastIndexByte(rest, ':') > strings.LastIndexByte(rest, ']'):
		return b
	case scheme == "http":
		return append(b, ":80"...)
	}
	return append(b, ":443"...)
}
