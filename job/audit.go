package job

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/robots"
)

// auditForever is a pause longer than any real one, short enough to be added to a time without overflow.
const auditForever = 1 << 60

// auditConfig returns the crawl's politeness settings in the form that package audit checks.
func auditConfig(cfg *crawler.Config, own map[string]int) audit.Config {
	id := cfg.Identity()
	p := cfg.Politeness
	c := audit.Config{
		Product: id.Product, UserAgent: id.UserAgent(), Contact: cfg.Contact, Delay: max(0, p.Delay).Seconds(),
		DelayFactor: max(0, p.DelayFactor), MaxDelay: min(p.MaxDelay, auditForever).Seconds(),
		MaxBackoff: p.MaxBackoff.Seconds(), PerDomain: p.PerDomain, OwnHosts: own, ForbidDenies: p.ForbiddenDenies,
		Hours: hoursText(p.Hours), Rate: max(0, p.Rate),
	}
	if p.MaxRetryAfter != politeness.Forever {
		c.MaxRetryAfter = p.MaxRetryAfter.Seconds()
	}
	for _, h := range cfg.Hosts {
		c.HostDelays = append(c.HostDelays, audit.HostDelay{Match: h.Match, Delay: h.Delay.Seconds()})
	}
	if p.Dialect != robots.RFC9309 {
		c.Dialect = p.Dialect.String()
	}
	return c
}

// writeAuditConfig stores the crawl's politeness settings beside its results, for verify. slowed holds the delays that an
// operator has lengthened since.
func writeAuditConfig(d plainDir, cfg *crawler.Config, own map[string]int, slowed []audit.HostDelay) error {
	c := auditConfig(cfg, own)
	if before, err := readAuditConfig(d.root.Name()); err == nil {
		loosen(&c, &before)
		c.Forgiven = before.Forgiven
	}
	c.HostDelays = slices.Concat(slowed, c.HostDelays)
	return writeAudit(d, &c)
}

// Audit returns the settings that the ledger of the crawl is checked against.
func (c *Config) Audit() (audit.Config, error) {
	cfg, err := c.Crawler()
	if err != nil {
		return audit.Config{}, err
	}
	own, err := c.ownHosts()
	return auditConfig(&cfg, own), err
}

func writeAudit(d plainDir, c *audit.Config) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = d.replace(auditName, append(hidden.Escape(b), '\n'))
	}
	return outputError(err)
}

// loosen makes c also allow requests that the earlier settings allowed: all processes of a job share one ledger file.
func loosen(c, before *audit.Config) {
	c.Delay, c.DelayFactor = min(c.Delay, before.Delay), min(c.DelayFactor, before.DelayFactor)
	c.MaxDelay, c.MaxBackoff = min(c.MaxDelay, before.MaxDelay), min(c.MaxBackoff, before.MaxBackoff)
	if c.Rate = max(c.Rate, before.Rate); before.Rate == 0 {
		c.Rate = 0
	}
	if len(c.Hours) == 0 || len(before.Hours) == 0 {
		c.Hours = nil
	} else {
		c.Hours = slices.Compact(slices.Sorted(slices.Values(append(c.Hours, before.Hours...))))
	}
	// Entries for hosts keep their order and their delays only increase: see hostsRefusal. Changes that operators made while the
	// crawl ran have a time.
	c.HostDelays = slices.DeleteFunc(slices.Clone(before.HostDelays), func(d audit.HostDelay) bool { return !d.Since.IsZero() })
	if c.MaxRetryAfter > 0 && (before.MaxRetryAfter == 0 || before.MaxRetryAfter > c.MaxRetryAfter) {
		c.MaxRetryAfter = before.MaxRetryAfter
	}
}

func readAuditConfig(dir string) (c audit.Config, err error) {
	b, err := readPlain(dir, auditName)
	if err != nil {
		return c, refused("%s holds no crawl that can be checked: %w", dir, err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, damagedSettings(filepath.Join(dir, auditName), err)
	}
	return c, nil
}
