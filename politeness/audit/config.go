package audit

import (
	"net/netip"
	"strings"
	"time"
)

// Config is the crawler's configuration, as far as its ledger can be checked against it.
type Config struct {
	Product       string         `json:"product"`                // the token that selects groups of robots.txt
	UserAgent     string         `json:"user_agent"`             // User-Agent of every request
	Contact       string         `json:"contact,omitempty"`      // must be part of UserAgent; "": none was needed
	Delay         float64        `json:"delay_s"`                // delay between requests to a host, in seconds
	DelayFactor   float64        `json:"delay_factor,omitempty"` // factor for the last response time; the product is at most MaxDelay
	MaxDelay      float64        `json:"max_delay_s,omitempty"`
	MaxRetryAfter float64        `json:"max_retry_after_s,omitempty"` // the host is given up after a longer Retry-After; 0: no maximum
	MaxBackoff    float64        `json:"max_backoff_s,omitempty"`     // maximum pause after failures; 0: back-off is not checked
	HostDelays    []HostDelay    `json:"host_delays,omitempty"`       // the first entry that matches a host applies to it
	PerDomain     bool           `json:"per_domain,omitempty"`
	OwnHosts      map[string]int `json:"own_hosts,omitempty"` // maximum number of requests in flight, by host:port
	ForbidDenies  bool           `json:"forbidden_denies,omitempty"`
	Dialect       string         `json:"dialect,omitempty"` // "" or RFC9309; with any other dialect, the rules of robots.txt are not checked

	// Hours are parts of the day in which requests were allowed, as HH:MM-HH:MM in UTC or HH:MM-HH:MM@ZONE, including the last minute.
	// None: all day.
	Hours []string `json:"hours,omitempty"`
	// Rate is the maximum number of requests per second to all hosts together. Crawls on one machine that have a Rate share it. 0:
	// no limit. It is not checked if Processes have shared the crawl.
	Rate float64 `json:"rate,omitempty"`

	// Overrides lists the overrides that may have permitted requests. nil: any may, and the Report lists those that were used.
	Overrides []Mandate `json:"overrides,omitempty"`

	// OptOut holds the versions of the list of hosts that must not be requested. It is not part of the JSON form.
	OptOut []OptOut `json:"-"`

	// Forgiven holds the times at which the operator made the crawl retry the hosts that it had given up.
	Forgiven []time.Time `json:"forgiven,omitempty"`

	// Processes lists the processes that shared the crawl, if their clocks may differ. Times in the
	// lines of processes that are not listed are not corrected.
	Processes []Process `json:"processes,omitempty"`
}

// HostDelay is the operator's delay for some hosts. The delay replaces Config.Delay if it is longer or the host is the
// operator's own.
type HostDelay struct {
	// Match is a host name, with or without a port, or with ":*" for all ports of an address; a domain with all names below it, as
	// "*.site.test"; or a range of addresses, for requests to its addresses at hosts that no entry matches by name.
	Match string  `json:"match"`
	Delay float64 `json:"delay_s"` // seconds; 0: Config.Delay; negative: none, for an own host
	// Since is the time at which the delay came into force, if the crawl was running: it applies
	// after requests that began later.
	Since time.Time `json:"since,omitzero"`
}

// OptOut names hosts that must not be requested, including all names below them.
type OptOut struct {
	Names []string
	Since time.Time // time at which the crawler began to obey the names
}

// Mandate is an override of an origin's robots.txt in the configuration of the crawl.
type Mandate struct {
	Origin string    `json:"origin"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // end of the override; zero if it had none
}

// Body returns the robots.txt body with this SHA-256, in hexadecimal, or an error. Check verifies the hash.
type Body func(sha256 string) ([]byte, error)

// Tolerance is the maximum difference between two readings of a wall clock while it is being adjusted.
const Tolerance = time.Millisecond

// delay returns the operator's delay after a request.
func (c *Config) delay(r *StartLine) time.Duration {
	d := c.hostDelay(r)
	switch {
	case c.OwnHosts[r.Host] == 0:
		return secs(max(c.Delay, d))
	case d != 0:
		return secs(max(0, d))
	}
	return secs(c.Delay)
}

// hostDelay returns the delay of the first entry that matches a request's host by name, or else of the first that matches its
// address.
func (c *Config) hostDelay(r *StartLine) float64 {
	if len(c.HostDelays) == 0 {
		return 0
	}
	name := strings.TrimSuffix(r.Host[:max(0, strings.LastIndexByte(r.Host, ':'))], ".")
	addr, _ := netip.ParseAddr(r.Addr)
	for _, e := range c.HostDelays {
		if r.Written.Before(e.Since) {
			continue
		}
		if domain, ok := strings.CutPrefix(e.Match, "*."); ok && (name == domain || strings.HasSuffix(name, "."+domain)) {
			return e.Delay
		}
		if e.Match == name || e.Match == r.Host || e.Match == name+":*" {
			return e.Delay
		}
	}
	for _, e := range c.HostDelays {
		if r.Written.Before(e.Since) {
			continue
		}
		if p, err := netip.ParsePrefix(e.Match); err == nil && p.Contains(addr.Unmap()) || e.Match == addr.Unmap().String() {
			return e.Delay
		}
	}
	return 0
}

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
