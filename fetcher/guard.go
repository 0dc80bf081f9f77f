package fetcher

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/amble-crawler/amble/weburl"
)

// errAddress is wrapped by the errors of an [addressGuard] that rejects an address.
var errAddress = errors.New("fetcher: address refused")

// addressGuard rejects addresses that no public web site can have: a link or a DNS response with such an address leads into a private
// network. The zero addressGuard allows only public addresses. It is immutable and safe for concurrent use.
type addressGuard struct {
	allow []netip.Prefix
}

// newGuard returns an addressGuard that allows these ranges in addition to public addresses.
func newGuard(allow ...netip.Prefix) *addressGuard { return &addressGuard{allow: slices.Clone(allow)} }

// special contains the ranges that are not globally reachable according to the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC
// 6890), and ranges of multicast or without unicast addresses.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier's shared space (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local and instance metadata (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved and broadcast (RFC 1112, RFC 919)"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments, Teredo (RFC 2928, RFC 4380)"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation (RFC 3849)"},
	{netip.MustParsePrefix("3fff::/20"), "documentation (RFC 9637)"},
}

// global is the only block from which IPv6 unicast addresses are allocated (RFC 4291 section 2.4); loopback, unique
// local (with the instance metadata of fd00:ec2::254), link-local, site-local, multicast, discard-only and segment
// routing are all outside it.
var global = netip.MustParsePrefix("2000::/3")

var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052 section 2.1
	sixToFour = netip.MustParsePrefix("2002::/16")    // RFC 3056
)

// check returns nil if a connection to addr may be made, and otherwise an error that wraps errAddress and says why not. An IPv4 address
// inside an IPv6 address (mapped, NAT64, 6to4) is treated like the IPv4 address itself. Addresses with a zone are rejected.
func (g *addressGuard) check(addr netip.Addr) error {
	if !plain(addr) {
		return fmt.Errorf("%w: %q is not a plain address", errAddress, addr)
	}
	if what := g.refuses(addr); what != "" {
		return fmt.Errorf("%w: %s: %s", errAddress, addr.Unmap(), what)
	}
	return nil
}

func plain(addr netip.Addr) bool { return addr.IsValid() && addr.Zone() == "" }

// refuses returns the reason why no connection to addr, which has no zone and contains no other address, may be made, or "".
func (g *addressGuard) refuses(addr netip.Addr) string {
	addr = addr.Unmap()
	for _, p := range g.allow {
		if p.Contains(addr) {
			return ""
		}
	}
	return refused(addr)
}

// IsPublic reports whether a public web site can have this address. The guard rejects all other addresses, unless [Config].AllowAddresses
// or AllowHosts exempts them.
func IsPublic(addr netip.Addr) bool { return new(addressGuard).public(addr) }

// refused returns the reason why addr is not public, or "" if it is.
func refused(addr netip.Addr) string {
	if v4, ok := embedded(addr); ok {
		return refused(v4)
	}
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return s.what
		}
	}
	if addr.Is6() && !global.Contains(addr) {
		return "not global unicast (RFC 4291)"
	}
	return ""
}

// embedded returns the IPv4 address to which a translator or tunnel would send addr's packets.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// anyPublic reports whether the guard allows any of the addresses without an exemption.
func (g *addressGuard) anyPublic(addrs []netip.Addr) bool {
	return slices.ContainsFunc(addrs, g.public)
}

// public reports whether check accepts addr. It is faster than check, because it makes no error.
func (g *addressGuard) public(addr netip.Addr) bool { return plain(addr) && g.refuses(addr) == "" }

// check is like addressGuard.check, but exempts hosts that the operator named.
func (f *Fetcher) check(host string, addr netip.Addr) error {
	if f.guard.public(addr) || f.pins.exempt(host, addr) {
		return nil
	}
	return f.pins.explain(host, f.guard.check(addr))
}

// checkListeners returns an error if this process listens at addr on the port of u. The error wraps errAddress.
func (c *Config) checkListeners(addr netip.Addr, u weburl.URL) error {
	if len(c.Listeners) == 0 {
		return nil
	}
	addr = addr.Unmap()
	for _, l := range c.Listeners {
		if strconv.Itoa(int(l.Port())) == u.Port() && reaches(addr, l.Addr().Unmap()) {
			return fmt.Errorf("%w: %s:%s is a listener of this process", errAddress, addr, u.Port())
		}
	}
	return nil
}

// reaches reports whether a connection to addr may reach a listener at the address own.
func reaches(addr, own netip.Addr) bool {
	switch {
	case addr == own:
		return true
	case addr.IsUnspecified(): // systems connect to themselves for an unspecified address
		return own.IsLoopback()
	case !own.IsUnspecified():
		return false
	}
	return addr.IsLoopback() || isLocal(addr)
}

// isLocal reports whether an interface of this machine has the address. If the interfaces are unknown, it returns true.
func isLocal(addr netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == addr
	})
}

// errPort is wrapped by the errors about rejected ports.
var errPort = errors.New("fetcher: port refused")

// badPort is a port at which a service other than a web server is expected. That service might interpret an HTTP request in its own
// protocol.
type badPort struct {
	port    uint16
	service string // "" if the standard names none
}

// badPorts are the "bad ports" of the Fetch Standard, in order: https://fetch.spec.whatwg.org/#port-blocking, as of 2
// July 2026. Browsers make no HTTP requests to them.
var badPorts = []badPort{
	{0, ""}, {1, "tcpmux"}, {7, "echo"}, {9, "discard"}, {11, "systat"}, {13, "daytime"}, {15, "netstat"},
	{17, "qotd"}, {19, "chargen"}, {20, "ftp-data"}, {21, "ftp"}, {22, "ssh"}, {23, "telnet"}, {25, "smtp"},
	{37, "time"}, {42, "name"}, {43, "nicname"}, {53, "domain"}, {69, "tftp"}, {77, ""}, {79, "finger"}, {87, ""},
	{95, "supdup"}, {101, "hostname"}, {102, "iso-tsap"}, {103, "gppitnp"}, {104, "acr-nema"}, {109, "pop2"},
	{110, "pop3"}, {111, "sunrpc"}, {113, "auth"}, {115, "sftp"}, {117, "uucp-path"}, {119, "nntp"}, {123, "ntp"},
	{135, "epmap"}, {137, "netbios-ns"}, {139, "netbios-ssn"}, {143, "imap"}, {161, "snmp"}, {179, "bgp"},
	{389, "ldap"}, {427, "svrloc"}, {465, "submissions"}, {512, "exec"}, {513, "login"}, {514, "shell"},
	{515, "printer"}, {526, "tempo"}, {530, "courier"}, {531, "chat"}, {532, "netnews"}, {540, "uucp"},
	{548, "afp"}, {554, "rtsp"}, {556, "remotefs"}, {563, "nntps"}, {587, "submission"}, {601, "syslog-conn"},
	{636, "ldaps"}, {989, "ftps-data"}, {990, "ftps"}, {993, "imaps"}, {995, "pop3s"}, {1719, "h323gatestat"},
	{1720, "h323hostcall"}, {1723, "pptp"}, {2049, "nfs"}, {3659, "apple-sasl"}, {4045, "npp"}, {4190, "sieve"},
	{5060, "sip"}, {5061, "sips"}, {6000, "x11"}, {6566, "sane-port"}, {6665, "ircu"}, {6666, "ircu"},
	{6667, "ircu"}, {6668, "ircu"}, {6669, "ircu"}, {6679, "osaut"}, {6697, "ircs-u"}, {10080, "amanda"},
}

// checkPort rejects a URL with a bad port that is not in Config.AllowPorts. The error wraps errPort.
func (c *Config) checkPort(u weburl.URL) error {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return fmt.Errorf("%w: %q is not a port", errPort, u.Port())
	}
	port := uint16(n)
	i, bad := slices.BinarySearchFunc(badPorts, port, func(b badPort, port uint16) int { return cmp.Compare(b.port, port) })
	if !bad || slices.Contains(c.AllowPorts, port) {
		return nil
	}
	service := cmp.Or(badPorts[i].service, "another service")
	return fmt.Errorf("%w: %d is for %s, and browsers make no request to it (Fetch Standard, bad port)", errPort, port, service)
}
