package fetcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// Phases of a fetch, the values of [Error].Phase.
const (
	PhaseDNS     = "dns"
	PhaseConnect = "connect"
	PhaseTLS     = "tls"
	PhaseRequest = "request" // connected, but the request is not written
	PhaseHeader  = "header"  // the request is written, but the answer's header is not read
	PhaseBody    = "body"
)

// Reason codes of [Error], stable across versions. Those marked (t) are temporary: a later attempt may succeed.
const (
	ReasonDNSTimeout = "dns_timeout"   // (t) no answer from the resolver within DNSTimeout
	ReasonDNSFailure = "dns_failure"   // (t) the resolver failed
	ReasonNXDomain   = "dns_not_found" // the name does not exist or has no address
	ReasonAddress    = "address_refused"
	ReasonPin        = "pin_failed"   // Config.Pin failed
	ReasonPort       = "port_refused" // not a port for HTTP; see Config.AllowPorts

	ReasonConnectTimeout = "connect_timeout" // (t)
	ReasonRefused        = "connect_refused" // (t) nothing listens there
	ReasonUnreachable    = "unreachable"     // (t) no route to the host or network
	ReasonConnectFailed  = "connect_failed"  // (t) any other failure to connect
	ReasonNoResources    = "no_resources"    // (t) this machine has no port or memory left; for a look-up: no file descriptor
	ReasonProxy          = "proxy_failed"    // (t) the proxy could not connect to the host
	ReasonProxyUnusable  = "proxy_unusable"  // (t) the proxy is down, is not a proxy, or refuses the crawler
	ReasonTLSTimeout     = "tls_timeout"     // (t)
	ReasonTLSAuthority   = "tls_unknown_issuer"
	ReasonTLSExpired     = "tls_expired"  // or not yet valid
	ReasonTLSHostname    = "tls_hostname" // the certificate is for other names
	ReasonTLSCertificate = "tls_certificate"
	ReasonTLSFailed      = "tls_failed" // the handshake failed: no common version, an alert, not TLS at all

	ReasonPermit        = "permit_expired" // (t) the Permit expired before the request was written, perhaps while it waited for a file descriptor; nothing was sent
	ReasonPermitInvalid = "permit_invalid" // no Permit, or one used before; nothing was sent
	ReasonLedger        = "ledger_failed"  // the request could not be recorded in the ledger, and nothing was sent; or its outcome could not, and the answer does not count
	ReasonHeader        = "request_header" // Config.Request failed, or returned a field that is reserved or not valid; nothing was sent
	ReasonURL           = "url_unsendable" // the URL cannot be written as a request target as it stands

	ReasonReset         = "reset"             // (t) the connection was reset
	ReasonNoAnswer      = "no_answer"         // (t) the connection was closed before an answer
	ReasonHeaderTimeout = "header_timeout"    // (t) no first byte in FirstByteTimeout
	ReasonHeaderTooBig  = "header_too_large"  // MaxHeader, MaxHeaderFields or MaxInformational
	ReasonMalformed     = "malformed_answer"  // not HTTP
	ReasonSwitching     = "protocol_switched" // 101, which was not requested
	ReasonCanceled      = "canceled"          // by the caller's context
	ReasonClosed        = "closed"            // the Fetcher is closed
	ReasonNotRecorded   = "not_recorded"      // of a Replayer: there is no recorded answer
	ReasonRecording     = "recording_damaged" // of a Replayer: the recorded answer cannot be read
)

// Reason codes of both [Error] and [Page].Truncated: in an Error (then temporary) if the limit was reached before the
// answer's header was complete, in a page if some of its body has arrived.
const (
	ReasonIdleTimeout  = "idle_timeout"  // no byte within IdleTimeout
	ReasonFetchTimeout = "fetch_timeout" // the whole fetch took FetchTimeout
	ReasonCutShort     = "cut_short"     // the connection ended before the message did
)

// Reason codes of [Page].Truncated alone.
const (
	ReasonLength   = politeness.CutByLength // "length": longer than the limit, decoded or on the wire
	ReasonUnwanted = "unwanted"             // a type that Config.Wanted refuses
	ReasonEncoding = "encoding"             // a Content-Encoding that is broken, unsupported or too deep
	ReasonRatio    = "ratio"                // MaxRatio
	ReasonSlow     = "slow"                 // MinRate
)

// Error describes a request that got no usable answer.
type Error struct {
	Reason string // stable code, see the Reason constants
	Phase  string // one of the Phase constants
	Err    error  // the cause

	Written   time.Time // the request's first byte; zero when nothing was sent
	FirstByte time.Time // the answer's first byte; zero when there was none
	Ended     time.Time // when the request was given up
	WireBytes int64     // body bytes received before the failure
}

func (e *Error) Error() string {
	s := "fetcher: " + e.Phase + ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether another attempt may succeed.
func (e *Error) Temporary() bool {
	switch e.Reason {
	case ReasonDNSTimeout, ReasonDNSFailure, ReasonConnectTimeout, ReasonRefused, ReasonUnreachable, ReasonConnectFailed,
		ReasonNoResources, ReasonProxy, ReasonProxyUnusable, ReasonTLSTimeout, ReasonPermit, ReasonReset, ReasonNoAnswer,
		ReasonHeaderTimeout, ReasonIdleTimeout, ReasonFetchTimeout, ReasonCutShort:
		return true
	case ReasonHeader:
		var t interface{ Temporary() bool }
		return errors.As(e.Err, &t) && t.Temporary()
	}
	return false
}

// Timeout reports whether something took too long.
func (e *Error) Timeout() bool {
	switch e.Reason {
	case ReasonDNSTimeout, ReasonConnectTimeout, ReasonTLSTimeout, ReasonHeaderTimeout, ReasonIdleTimeout, ReasonFetchTimeout:
		return true
	}
	return false
}

// Reply returns the failure in the form that Gate.Report takes.
func (e *Error) Reply() politeness.Reply {
	return politeness.Reply{Err: e, Written: e.Written, FirstByte: e.FirstByte, Ended: e.Ended, WireBytes: e.WireBytes}
}

// ReplyForError returns the reply to report for a Fetch that returned err. It is aborted if the cause is on this side.
func ReplyForError(err error) politeness.Reply {
	r := politeness.Reply{Err: err, Ended: time.Now()}
	var e *Error
	if errors.As(err, &e) {
		r = e.Reply()
	}
	r.Aborted = aborted(err)
	return r
}

// aborted reports whether a fetch failed for a cause on this side. A reason code is the Fetcher's own judgement; only
// an error without one is examined, since limits cancel contexts too.
func aborted(err error) bool {
	switch ReasonOf(err) {
	case "":
		return errors.Is(err, context.Canceled) || errors.Is(err, politeness.ErrExpired)
	case ReasonPermit, ReasonPermitInvalid, ReasonLedger, ReasonURL, ReasonHeader, ReasonClosed, ReasonCanceled:
		return true
	}
	return false
}

// ReasonOf returns the reason code of an error of this package, or "" for any other.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// limitError reports a limit of Config that ended a fetch. It is the cause with which the fetch's context is cancelled,
// or is returned by a reader.
type limitError struct{ reason string }

func (e *limitError) Error() string { return "limit reached: " + e.reason }

// failure returns err as an *Error of the phase. An error that already is one is returned unchanged.
func failure(phase string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Phase: phase, Reason: classify(phase, err), Err: err}
}

// classify derives a reason code from an error of the network stack.
func classify(phase string, err error) string {
	var limit *limitError
	switch {
	case errors.As(err, &limit):
		return limit.reason
	case errors.Is(err, context.Canceled):
		return ReasonCanceled
	}
	if r := fromErrno(err); r != "" && phase != PhaseTLS {
		return r
	}
	switch phase {
	case PhaseDNS:
		return classifyDNS(err)
	case PhaseConnect:
		return classifyConnect(err)
	case PhaseTLS:
		return classifyTLS(err)
	}
	return classifyAnswer(err)
}

func fromErrno(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return ""
	}
	switch no {
	case syscall.ECONNREFUSED:
		return ReasonRefused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return ReasonReset
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN:
		return ReasonUnreachable
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL:
		return ReasonNoResources
	case syscall.ETIMEDOUT:
		return ReasonConnectTimeout
	}
	return ""
}

func classifyDNS(err error) string {
	var dns *net.DNSError
	switch {
	case full(err):
		return ReasonNoResources
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonDNSTimeout
	case !errors.As(err, &dns):
		return ReasonDNSFailure
	case dns.IsNotFound:
		return ReasonNXDomain
	case dns.IsTimeout:
		return ReasonDNSTimeout
	}
	return ReasonDNSFailure
}

func classifyConnect(err error) string {
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return ReasonConnectTimeout
	}
	return ReasonConnectFailed
}

func classifyTLS(err error) string {
	var (
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		host      x509.HostnameError
		verify    *tls.CertificateVerificationError
		ne        net.Error
	)
	switch {
	case errors.As(err, &authority):
		return ReasonTLSAuthority
	case errors.As(err, &host):
		return ReasonTLSHostname
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonTLSExpired
	case errors.As(err, &verify):
		return ReasonTLSCertificate
	case fromErrno(err) == ReasonReset, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ReasonReset
	case errors.As(err, &ne) && ne.Timeout():
		return ReasonTLSTimeout
	}
	return ReasonTLSFailed
}

// classifyAnswer is like classify, for errors on an established connection.
func classifyAnswer(err error) string {
	switch {
	case errors.Is(err, errUnsolicited):
		return ReasonMalformed
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ReasonCutShort
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return ReasonNoAnswer
	case strings.Contains(err.Error(), "header list larger"), strings.Contains(err.Error(), "headers exceeded"):
		return ReasonHeaderTooBig
	case strings.Contains(err.Error(), "GOAWAY"), strings.Contains(err.Error(), "connection lost"):
		return ReasonNoAnswer
	}
	return ReasonMalformed
}
