package main

import (
	"cmp"
	"encoding/hex"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// States of a host, besides the reason codes for unreachable hosts.
const (
	stateFile       = "file"        // there are rules
	stateNone       = "none"        // there is no file, which allows everything
	stateClosed     = "closed"      // the status means that the host is closed
	stateNotReached = "not_reached" // the study ended earlier
)

// row holds the results for one host.
type row struct {
	Origin    string   `json:"origin"`
	State     string   `json:"state"`
	Status    int      `json:"status,omitempty"`
	Redirects []string `json:"redirects,omitempty"` // redirects of the file, in order
	Type      string   `json:"type,omitempty"`
	Bytes     int      `json:"bytes"`
	SHA256    string   `json:"sha256,omitempty"`

	Agent       string            `json:"agent,omitempty"`        // the name in the file that applies to the robot
	Rules       int               `json:"rules"`                  // number of its Allow and Disallow lines
	CrawlDelay  *float64          `json:"crawl_delay,omitempty"`  // seconds
	RequestRate *float64          `json:"request_rate,omitempty"` // seconds between two requests
	Sitemaps    []string          `json:"sitemaps,omitempty"`
	Lints       map[string]int    `json:"lints,omitempty"` // by code
	Usage       map[string]string `json:"usage,omitempty"` // for the page "/", by use: allow or disallow
	Paths       []judged          `json:"paths,omitempty"`
}

// judged is the verdict of a file about one path.
type judged struct {
	Path    string           `json:"path"`
	Allowed bool             `json:"allowed"`
	Rule    string           `json:"rule,omitempty"`
	Differ  []robots.Dialect `json:"differ,omitempty"` // standards with the opposite verdict
}

// uses lists the uses whose statements the study reports.
var uses = []string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM}

// rowOf returns the row of an origin whose robots.txt is known. It copies texts that it keeps.
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

// read adds the contents of the rules for the robot.
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
