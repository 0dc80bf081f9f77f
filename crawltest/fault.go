package crawltest

import (
	"net/http"
	"time"
)

type faultKind int

const (
	_ faultKind = iota
	faultNXDomain
	faultDNSFailure
	faultDNSTimeout
	faultRefuse
	faultNoConnect
	faultResetOnConnect
	faultSlowConnect
	faultTLSAlert
	faultWrongName
	faultExpired
	faultHang
	faultReset
	faultStatus
	faultTooFast
	faultCut
	faultStall
	faultSlow
)

type faultStage int

const (
	stageDNS faultStage = iota
	stageConnect
	stageTLS
	stageAnswer
)

// Fault is one way in which a site or a page fails. The functions below make Faults; the methods limit a Fault to some requests. A Fault
// is a value and may be used in several places.
type Fault struct {
	kind   faultKind
	stage  faultStage
	bytes  int
	wait   time.Duration
	gap    time.Duration
	status int
	retry  string // "seconds", "date" or ""; a literal value after a colon
	reset  bool
	wall   bool // the response is a challenge

	first, every int
	from, until  time.Duration
	hits         int
}

// NXDomain makes the DNS respond that the name does not exist.
func NXDomain() Fault { return Fault{kind: faultNXDomain, stage: stageDNS} }

// DNSFailure makes the DNS fail temporarily (SERVFAIL).
func DNSFailure() Fault { return Fault{kind: faultDNSFailure, stage: stageDNS} }

// DNSTimeout leaves look-ups unanswered until their context ends.
func DNSTimeout() Fault { return Fault{kind: faultDNSTimeout, stage: stageDNS} }

// Refuse refuses connections. Like all connection faults it applies to the address: other names there fail, too.
func Refuse() Fault { return Fault{kind: faultRefuse, stage: stageConnect} }

// NoConnect leaves attempts to connect hanging until the dialer's context ends.
func NoConnect() Fault { return Fault{kind: faultNoConnect, stage: stageConnect} }

// ResetOnConnect accepts connections and resets them at once.
func ResetOnConnect() Fault { return Fault{kind: faultResetOnConnect, stage: stageConnect} }

// SlowConnect makes connecting take d.
func SlowConnect(d time.Duration) Fault {
	return Fault{kind: faultSlowConnect, stage: stageConnect, wait: d}
}

// TLSAlert ends the TLS handshake with an alert.
func TLSAlert() Fault { return Fault{kind: faultTLSAlert, stage: stageTLS} }

// WrongCertificate presents a certificate for another name.
func WrongCertificate() Fault { return Fault{kind: faultWrongName, stage: stageTLS} }

// ExpiredCertificate presents a certificate that has expired.
func ExpiredCertificate() Fault { return Fault{kind: faultExpired, stage: stageTLS} }

// Hang accepts the request and never answers.
func Hang() Fault { return Fault{kind: faultHang, stage: stageAnswer} }

// Reset resets the connection instead of answering.
func Reset() Fault { return Fault{kind: faultReset, stage: stageAnswer} }

// Fail answers with a status, for example 503, and a short text.
func Fail(status int) Fault { return Fault{kind: faultStatus, stage: stageAnswer, status: status} }

// RetryAfter answers with a status and Retry-After as seconds, rounded up.
func RetryAfter(status int, d time.Duration) Fault {
	return Fault{kind: faultStatus, stage: stageAnswer, status: status, retry: "seconds", wait: d}
}

// RetryAfterDate is RetryAfter with the date form, rounded up to the second.
func RetryAfterDate(status int, d time.Duration) Fault {
	return Fault{kind: faultStatus, stage: stageAnswer, status: status, retry: "date", wait: d}
}

// RetryAfterValue is RetryAfter with an arbitrary value, for example a number that overflows every type.
func RetryAfterValue(status int, value string) Fault {
	return Fault{kind: faultStatus, stage: stageAnswer, status: status, retry: ":" + value}
}

// Challenge answers with a status and the header field Cf-Mitigated, which marks a challenge of Cloudflare's bot wall. The auditor
// recognizes challenges by this field, including in the header of a [Page].
func Challenge(status int) Fault {
	return Fault{kind: faultStatus, stage: stageAnswer, status: status, wall: true}
}

// TooFast answers 429 with Retry-After in seconds to each request that begins less than gap after the end of the previous one.
func TooFast(gap, retry time.Duration) Fault {
	return Fault{kind: faultTooFast, stage: stageAnswer, status: http.StatusTooManyRequests, retry: "seconds", wait: retry, gap: gap}
}

// CutShort closes the connection after n bytes of the body.
func CutShort(n int) Fault { return Fault{kind: faultCut, stage: stageAnswer, bytes: n} }

// ResetAfter resets the connection after n bytes of the body.
func ResetAfter(n int) Fault { return Fault{kind: faultCut, stage: stageAnswer, bytes: n, reset: true} }

// Stall stops sending after n bytes of the body and keeps the connection open.
func Stall(n int) Fault { return Fault{kind: faultStall, stage: stageAnswer, bytes: n} }

// Slow sends n bytes of the body at a time, with a pause after each.
func Slow(n int, pause time.Duration) Fault {
	return Fault{kind: faultSlow, stage: stageAnswer, bytes: max(n, 1), wait: pause}
}

// First limits the fault to the first n requests (or look-ups, or connections) to which it applies.
func (f Fault) First(n int) Fault { f.first = n; return f }

// Every limits the fault to every n-th request (or look-up, or connection).
func (f Fault) Every(n int) Fault { f.every = n; return f }

// From sets when the fault begins, counted from [Web.Start].
func (f Fault) From(d time.Duration) Fault { f.from = d; return f }

// Until sets when the fault ends, counted from [Web.Start].
func (f Fault) Until(d time.Duration) Fault { f.until = d; return f }

// strikes counts an event and reports whether the fault applies to it.
func (f *Fault) strikes(since time.Duration) bool {
	if since < f.from || f.until > 0 && since >= f.until {
		return false
	}
	f.hits++
	return (f.first == 0 || f.hits <= f.first) && (f.every == 0 || f.hits%f.every == 0)
}

// fault returns the first fault of a stage that applies to this event. Faults of a page come before faults of its site. p and e are nil
// if there is no request. The caller holds web.mu.
func (s *Site) fault(stage faultStage, p *Page, e *entry) *Fault {
	since := time.Since(s.web.start)
	faults := s.faults
	if p != nil {
		faults = append(p.faults[:len(p.faults):len(p.faults)], s.faults...)
	}
	for _, f := range faults {
		if f.stage != stage || f.kind == faultTooFast && !s.web.tooFast(e, f.gap) {
			continue
		}
		if f.strikes(since) {
			return f
		}
	}
	return nil
}
