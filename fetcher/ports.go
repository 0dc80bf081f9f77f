package fetcher

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/amble-crawler/amble/weburl"
)

// errPort is wrapped by every refusal of a port.
var errPort = errors.New("fetcher: port refused")

// badPort is a port where a service other than a web server is expected, which might take a request for its own
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

// checkPort refuses a URL with a bad port that is not in Config.AllowPorts. The error wraps errPort.
func (c *Config) checkPort(u weburl.URL) error {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return fmt.Errorf("%w: %q is none", errPort, u.Port())
	}
	port := uint16(n)
	i, bad := slices.BinarySearchFunc(badPorts, port, func(b badPort, port uint16) int { return cmp.Compare(b.port, port) })
	if !bad || slices.Contains(c.AllowPorts, port) {
		return nil
	}
	service := cmp.Or(badPorts[i].service, "another service")
	return fmt.Errorf("%w: %d is for %s, and browsers make no request to it (Fetch Standard, bad port)", errPort, port, service)
}
