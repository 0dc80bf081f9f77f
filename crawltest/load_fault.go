package crawltest

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

func parseAddress(value string) (func(*loading), error) {
	addrs := strings.Split(value, ",")
	for _, a := range addrs {
		if _, err := netip.ParseAddr(a); err != nil {
			return nil, err
		}
	}
	return func(f *loading) { f.site.Address(addrs...) }, nil
}

func parseFaultAttr(key, value string) (func(*loading), error) {
	f, err := parseFault(value)
	if err != nil {
		return nil, err
	}
	if key == "site-fault" {
		return func(fx *loading) { fx.site.Fault(f) }, nil
	}
	if f.stage != stageAnswer {
		return nil, errors.New("belongs to a site: write site-fault")
	}
	return func(fx *loading) { fx.page.Fault(f) }, nil
}

// plainFault returns one of the faults without arguments.
func plainFault(name string) (Fault, bool) {
	maker, ok := map[string]func() Fault{
		"hang": Hang, "reset": Reset, "nxdomain": NXDomain, "dns-failure": DNSFailure, "dns-timeout": DNSTimeout,
		"refuse": Refuse, "no-connect": NoConnect, "reset-on-connect": ResetOnConnect,
		"tls-alert": TLSAlert, "wrong-certificate": WrongCertificate, "expired-certificate": ExpiredCertificate,
	}[name]
	if !ok {
		return Fault{}, false
	}
	return maker(), true
}

// parseFault parses NAME[:ARGS] and its limits.
func parseFault(s string) (Fault, error) {
	parts := strings.Split(s, "+")
	name, args, has := strings.Cut(parts[0], ":")
	f, ok := plainFault(name)
	if ok == has {
		return f, fmt.Errorf("unknown fault %q", parts[0])
	}
	if !ok {
		var err error
		if f, err = faultWithArgs(name, args); err != nil {
			return f, err
		}
	}
	for _, n := range parts[1:] {
		var err error
		if f, err = f.narrow(n); err != nil {
			return f, err
		}
	}
	return f, nil
}

func faultWithArgs(name, args string) (Fault, error) {
	a, b, _ := strings.Cut(args, "/")
	switch name {
	case "cut", "reset-after", "stall":
		n, err := parseCount(args)
		return map[string]func(int) Fault{"cut": CutShort, "reset-after": ResetAfter, "stall": Stall}[name](n), err
	case "slow-connect":
		d, err := parseDuration(args)
		return SlowConnect(d), err
	case "fail":
		n, err := parseStatus(args)
		return Fail(n), err
	case "slow":
		n, err := parseCount(a)
		d, err2 := parseDuration(b)
		return Slow(n, d), cmpErr(err, err2)
	case "retry-after", "retry-date":
		n, err := parseStatus(a)
		d, err2 := parseDuration(b)
		return map[string]func(int, time.Duration) Fault{"retry-after": RetryAfter, "retry-date": RetryAfterDate}[name](n, d), cmpErr(err, err2)
	case "too-fast":
		gap, err := parseDuration(a)
		wait, err2 := parseDuration(b)
		return TooFast(gap, wait), cmpErr(err, err2)
	}
	return Fault{}, fmt.Errorf("unknown fault %q", name)
}

func (f Fault) narrow(s string) (Fault, error) {
	key, value, _ := strings.Cut(s, ":")
	switch key {
	case "first", "every":
		n, err := parseCount(value)
		if key == "first" {
			return f.First(n), err
		}
		return f.Every(n), err
	case "from", "until":
		d, err := parseDuration(value)
		if key == "from" {
			return f.From(d), err
		}
		return f.Until(d), err
	}
	return f, fmt.Errorf("unknown limit %q", s)
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a count", s)
	}
	return n, nil
}
