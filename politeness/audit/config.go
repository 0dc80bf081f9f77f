package audit

import (
	"time"
)

// Config is the crawler's configuration, as far as its ledger can be checked against it.
type Config struct {
	Product       string         `json:"product"`                // the token by which groups of robots.txt are chosen
	UserAgent     string         `json:"user_agent"`             // of every request
	Contact       string         `json:"contact,omitempty"`      // must be part of UserAgent; "": none was needed
	Delay         float64        `json:"delay_s"`                // seconds per host
	DelayFactor   float64        `json:"delay_factor,omitempty"` // × the last response time, at most MaxDelay
	MaxDelay      float64        `json:"max_delay_s,omitempty"`
	MaxRetryAfter float64        `json:"max_retry_after_s,omitempty"` // longer ones end the host; 0: none does
	MaxBackoff    float64        `json:"max_backoff_s,omitempty"`     // of the pause that failures double; 0: back-off is not checked
	PerDomain     bool           `json:"per_domain,omitempty"`
	OwnHosts      map[string]int `json:"own_hosts,omitempty"` // host:port to requests in flight
	ForbidDenies  bool           `json:"forbidden_denies,omitempty"`
	Dialect       string         `json:"dialect,omitempty"` // "" or RFC9309; with any other, the rules of robots.txt are not checked

	// Overrides are the only ones that may have let requests through. nil: any, which the Report names.
	Overrides []Mandate `json:"overrides,omitempty"`
}

// Mandate is an override of an origin's robots.txt that the crawler was given.
type Mandate struct {
	Origin string    `json:"origin"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"` // zero: it had no end
}

// Body returns the robots.txt body with this SHA-256, in hexadecimal, or an error. Check verifies the hash.
type Body func(sha256 string) ([]byte, error)

// Tolerance is how much two readings of a wall clock may differ while it is being adjusted.
const Tolerance = time.Millisecond

func (c *Config) delay() time.Duration { return secs(c.Delay) }

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
