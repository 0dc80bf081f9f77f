package main

import (
	"cmp"
	"encoding/hex"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// States of a host, in addition to the reason codes for unreachable hosts.
const (
	stateFile       = "file"        // there is a file with rules
	stateNone       = "none"        // there is no file, so everything is allowed
	stateClosed     = "closed"      // the status of the file forbids everything
	stateNotReached = "not_reached" // the study ended before the host was reached
)

// row holds the results for one host.
type row struct {
	Origin    string   `json:"origin"`
	State     string   `json:"state"`
	Status    int      `json:"status,omitempty"`
	Redirects []string `json:"redirects,omitempty"` // redirects of the robots.txt, in order
	Type      string   `json:"type,omitempty"`
	Bytes     int      `json:"bytes"`
	SHA256    string   `json:"sha256,omitempty"`

	Agent       string            `json:"agent,omitempty"`        // crawler name in the file that applies to the robot
	Rules       int               `json:"rules"`                  // number of Allow and Disallow lines for that name
	CrawlDelay  *float64          `json:"crawl_delay,omitempty"`  // seconds
	RequestRate *float64          `json:"request_rate,omitempty"` // seconds between two requests
	Sitemaps    []string          `json:"sitemaps,omitempty"`
	Lints       map[string]int    `json:"lints,omitempty"` // number of lints, by code
	Usage       map[string]string `json:"usage,omitempty"` // statements about the page "/", by use: allow or disallow
	Paths       []judged          `json:"paths,omitempty"`
}

// judged is the verdict of a robots.txt about one path.
type judged struct {
	Path    string           `json:"path"`
	Allowed bool             `json:"allowed"`
	Rule    string           `json:"rule,omitempty"`
	Differ  []robots.Dialect `json:"differ,omitempty"` // dialects with the opposite verdict
}

// uses lists the uses whose statements the study reports.
var uses = []string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM}

// rowOf returns the row of an origin whose robots.txt is known. It copies the texts that the row keeps.
func rowOf(u weburl.URL, info politeness.OriginInfo, agent string, paths []string) row {
	r := row{Origin: u.Origin(), State: stateNone, Status: info.Source.Status, Redirects: info.Source.Redirects, Lints: map[string]int{}}
	if info.Source.SHA256 != ([32]byte{}) {
		r.SHA256 = hex.EncodeToString(info.Source.SHA256[:])
	}
	for _, l := range info.Lints() {
		r.Lints[string(l.Code)]++
	}
	if info.Rules == nil {
		return r
	}
	r.State = stateFile
	for _, l := range info.Rules.Lints() {
		r.Lints[string(l.Code)]++
	}
	r.Sitemaps = info.Rules.Sitemaps()
	r.read(info.Rules, agent, paths)
	return r
}

// read adds what the rules say about the robot.
func (r *row) read(rules *robots.Rules, agent string, paths []string) {
	group := rules.For(agent)
	r.Rules = len(group.Rules())
	if d, ok := group.CrawlDelay(); ok {
		r.CrawlDelay = new(d.Seconds())
	}
	if d, ok := group.RequestRate(); ok {
		r.RequestRate = new(d.Seconds())
	}
	for _, p := range paths {
		v := group.Test(p)
		r.Agent = cmp.Or(r.Agent, v.Agent)
		r.Paths = append(r.Paths, judged{Path: p, Allowed: v.Allowed, Rule: v.Rule, Differ: rules.Disagree(agent, p)})
	}
	said := robots.Usage{Statements: group.Usage("/")}
	for _, use := range uses {
		if s := said.For(use); s != robots.Unsaid {
			if r.Usage == nil {
				r.Usage = map[string]string{}
			}
			r.Usage[use] = s.String()
		}
	}
}
