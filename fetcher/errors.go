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

// Phases of an [Error] on which callers may base decisions.
const (
	PhaseRequest = "request" // a connection exists, but the request is not written
	PhaseHeader  = "header"  // the request is written, but the response's header is not read
	PhaseBody    = "body"    // the response's body is being read
)

// The other phases of an [Error].
const (
	phaseDNS     = "dns"
	phaseConnect = "connect"
	phaseTLS     = "tls"
)

// Reasons of an [Error] on which callers may base decisions. The comment of Error lists all reasons.
const (
	ReasonAddress        = "address_refused"
	ReasonPin            = "pin_failed"
	ReasonPort           = "port_refused"
	ReasonNoResources    = "no_resources"
	ReasonProxy          = "proxy_failed"
	ReasonProxyUnusable  = "proxy_unusable"
	ReasonTLSAuthority   = "tls_unknown_issuer"
	ReasonTLSExpired     = "tls_expired"
	ReasonTLSHostname    = "tls_hostname"
	ReasonTLSCertificate = "tls_certificate"
	ReasonPermit         = "permit_expired"
	ReasonLedger         = "ledger_failed"
	ReasonHeader         = "request_header"
	ReasonCanceled       = "canceled"
	ReasonNotRecorded    = "not_recorded"
	ReasonCutShort       = "cut_short"
)

// The other reasons of an [Error].
const (
	reasonDNSTimeout     = "dns_timeout"
	reasonDNSFailure     = "dns_failure"
	reasonNXDomain       = "dns_not_found"
	reasonConnectTimeout = "connect_timeout"
	reasonRefused        = "connect_refused"
	reasonUnreachable    = "unreachable"
	reasonConnectFailed  = "connect_failed"
	reasonTLSTimeout     = "tls_timeout"
	reasonTLSFailed      = "tls_failed"
	reasonPermitInvalid  = "permit_invalid"
	reasonURL            = "url_unsendable"
	reasonReset          = "reset"
	reasonNoAnswer       = "no_answer"
	reasonHeaderTimeout  = "header_timeout"
	reasonHeaderTooBig   = "header_too_large"
	reasonMalformed      = "malformed_answer"
	reasonSwitching      = "protocol_switched"
	reasonClosed         = "closed"
	reasonRecording      = "recording_damaged"
	reasonIdleTimeout    = "idle_timeout"
	reasonFetchTimeout   = "fetch_timeout"
)

// Reasons that only [Page].Truncated has.
const (
	reasonLength   = politeness.CutByLength
	reasonUnwanted = "unwanted"
	reasonEncoding = "encoding"
	reasonRatio    = "ratio"
	reasonSlow     = "slow"
)

// Error describes a request without a usable response. Its reasons are stable across versions. After a reason marked (t), a later attempt
// may succeed:
//
//	dns_timeout         (t) no answer from the resolver within DNSTimeout
//	dns_failure         (t) the resolver failed
//	dns_not_found       the name does not exist or has no address
//	address_refused     the address is not public; see Config.AllowAddresses
//	pin_failed          Config.Pin failed
//	port_refused        the port is not for HTTP; see Config.AllowPorts
//	connect_timeout     (t) no connection within ConnectTimeout
//	connect_refused     (t) nothing listens there
//	unreachable         (t) no route to the host or network
//	connect_failed      (t) any other failure to connect
//	no_resources        (t) this machine has no port, memory or file descriptor left
//	proxy_failed        (t) the proxy could not connect to the host
//	proxy_unusable      (t) the proxy is down, is not a proxy, or refuses the crawler
//	tls_timeout         (t) no handshake within TLSTimeout
//	tls_unknown_issuer  no trusted authority issued the certificate
//	tls_expired         the certificate has expired, or is not valid yet
//	tls_hostname        the certificate is for other names
//	tls_certificate     the certificate is not valid for another reason
//	tls_failed          the handshake failed otherwise: no common version, an alert, not TLS at all
//	permit_expired      (t) the Permit expired before the request was written; nothing was sent
//	permit_invalid      no Permit, or one that was used before; nothing was sent
//	ledger_failed       the request or its outcome could not be recorded
//	request_header      Config.Request failed, or returned a reserved or invalid field; nothing was sent
//	url_unsendable      the URL cannot be written as a request target
//	reset               (t) the connection was reset
//	no_answer           (t) the connection was closed before an answer
//	header_timeout      (t) no first byte within FirstByteTimeout
//	header_too_large    the answer exceeds MaxHeader, MaxHeaderFields or MaxInformational
//	malformed_answer    the answer is not HTTP
//	protocol_switched   status 101, which was not requested
//	canceled            the caller's context was canceled
//	closed              the Fetcher is closed
//	not_recorded        a Replayer has no recorded answer
//	recording_damaged   a Replayer cannot read the recorded answer
//	idle_timeout        (t) no byte within IdleTimeout
//	fetch_timeout       (t) the whole fetch took FetchTimeout
//	cut_short           (t) the connection ended before the message did
//
// Its phase is "dns", "connect", "tls", "request" (connected, but the request is not written yet), "header" (the request is written, but
// the response's header is not read yet) or "body".
type Error struct {
	Reason string // stable code
	Phase  string
	Err    error // the cause

	Written   time.Time // when the first byte of the request was sent; zero if nothing was sent
	FirstByte time.Time // when the first byte of the response arrived; zero if none did
	Ended     time.Time // time at which the request was given up
	WireBytes int64     // number of body bytes received before the failure
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
	case reasonDNSTimeout, reasonDNSFailure, reasonConnectTimeout, reasonRefused, reasonUnreachable, reasonConnectFailed,
		ReasonNoResources, ReasonProxy, ReasonProxyUnusable, reasonTLSTimeout, ReasonPermit, reasonReset, reasonNoAnswer,
		reasonHeaderTimeout, reasonIdleTimeout, reasonFetchTimeout, ReasonCutShort:
		return true
	case ReasonHeader:
		var t interface{ Temporary() bool }
		return errors.As(e.Err, &t) && t.Temporary()
	}
	return false
}

// Timeout reports whether a time limit was exceeded.
func (e *Error) Timeout() bool {
	switch e.Reason {
	case reasonDNSTimeout, reasonConnectTimeout, reasonTLSTimeout, reasonHeaderTimeout, reasonIdleTimeout, reasonFetchTimeout:
		return true
	}
	return false
}

// Reply returns the failure as Gate.Report takes it.
func (e *Error) Reply() politeness.Reply {
	return politeness.Reply{Err: e, Written: e.Written, FirstByte: e.FirstByte, Ended: e.Ended, WireBytes: e.WireBytes}
}

// ReplyForError returns the reply to report for a Fetch that returned err. Reply.Aborted is set if the crawler caused the error.
func ReplyForError(err error) politeness.Reply {
	r := politeness.Reply{Err: err, Ended: time.Now()}
	var e *Error
	if errors.As(err, &e) {
		r = e.Reply()
	}
	r.Aborted = aborted(err)
	return r
}

// aborted reports whether the crawler caused the failure of a fetch. The Fetcher has classified errors with a reason code. For those the
// result is fixed; only other errors are examined, because limits cancel contexts, too.
func aborted(err error) bool {
	switch ReasonOf(err) {
	case "":
		return errors.Is(err, context.Canceled) || errors.Is(err, politeness.ErrExpired)
	case ReasonPermit, reasonPermitInvalid, ReasonLedger, reasonURL, ReasonHeader, reasonClosed, ReasonCanceled:
		return true
	}
	return false
}

// ReasonOf returns the reason code of an error of this package, or "" for any other error.
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

// limitError reports that a limit of Config has ended a fetch. It is the cause with which the context of the fetch is cancelled, or a
// reader returns it.
type limitError struct{ reason string }

func (e *limitError) Error() string { return "limit reached: " + e.reason }

// failure returns err as an *Error of the phase. It returns an *Error unchanged.
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
	if r := fromErrno(err); r != "" && phase != phaseTLS {
		return r
	}
	switch phase {
	case phaseDNS:
		return classifyDNS(err)
	case phaseConnect:
		return classifyConnect(err)
	case phaseTLS:
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
		return reasonRefused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return reasonReset
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN:
		return reasonUnreachable
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL:
		return ReasonNoResources
	case syscall.ETIMEDOUT:
		return reasonConnectTimeout
	}
	return ""
}

func classifyDNS(err error) string {
	var dns *net.DNSError
	switch {
	case full(err):
		return ReasonNoResources
	case errors.Is(err, context.DeadlineExceeded):
		return reasonDNSTimeout
	case !errors.As(err, &dns):
		return reasonDNSFailure
	case dns.IsNotFound:
		return reasonNXDomain
	case dns.IsTimeout:
		return reasonDNSTimeout
	}
	return reasonDNSFailure
}

func classifyConnect(err error) string {
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return reasonConnectTimeout
	}
	return reasonConnectFailed
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
	case fromErrno(err) == reasonReset, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reasonReset
	case errors.As(err, &ne) && ne.Timeout():
		return reasonTLSTimeout
	}
	return reasonTLSFailed
}

// classifyAnswer is like classify, for errors on an established connection.
func classifyAnswer(err error) string {
	switch {
	case errors.Is(err, errUnsolicited):
		return reasonMalformed
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ReasonCutShort
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return reasonNoAnswer
	case strings.Contains(err.Error(), "header list larger"), strings.Contains(err.Error(), "headers exceeded"):
		return reasonHeaderTooBig
	case strings.Contains(err.Error(), "GOAWAY"), strings.Contains(err.Error(), "connection lost"):
		return reasonNoAnswer
	}
	return reasonMalformed
}
