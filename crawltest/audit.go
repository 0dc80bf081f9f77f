package crawltest

import (
	"fmt"
	"net"
	"time"
)

// Violation is one breach of politeness, as the servers saw it.
type Violation struct {
	Rule     string        // "P1" … "P11", see the rules of [Web.Audit]
	Host     string        // host:port, or the address for P6
	Detail   string        // one sentence
	First    Request       // the earlier request, where two are concerned
	Second   Request       // the offending request
	Gap      time.Duration // between the two, where a gap is concerned
	Required time.Duration
}

// String is one line for a test's log.
func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.Rule, v.Host, v.Detail)
}

// Audit judges the requests so far.
func (w *Web) Audit(e Expect) []Violation {
	var vs []Violation
	last := make(map[string]Request)
	for _, r := range w.Requests() {
		if p, ok := last[r.Host]; ok {
			if gap := r.Start.Sub(p.End); p.End.IsZero() || gap < e.Delay {
				vs = append(vs, Violation{Rule: "P4", Host: r.Host, Detail: "too early", First: p, Second: r, Gap: gap, Required: e.Delay})
			}
		}
		last[r.Host] = r
	}
	return vs
}

func (w *Web) auditInCleanup() {
	w.mu.Lock()
	e, skip := w.expect, w.audited
	w.mu.Unlock()
	if skip {
		return
	}
	for _, v := range w.Audit(e) {
		w.errorf("%v", v)
	}
}

// ExpectViolations tells [Test] not to audit; for tests of the auditor itself.
func (w *Web) ExpectViolations() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.audited = true
}

// errorf reports a failed assertion.
func (w *Web) errorf(format string, args ...any) {
	if w.tb == nil {
		panic("crawltest: " + fmt.Sprintf(format, args...))
	}
	w.tb.Helper()
	w.tb.Errorf("crawltest: "+format, args...)
}

func hostname(hostport string) string {
	h, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	return h
}
