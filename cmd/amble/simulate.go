package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// maxSimulated is how many pages are played through at most: enough to meet every effect, and done in
// seconds.
const maxSimulated = 20_000

// simulation is a crawl to be played through: the hosts of a plan, and the pace. A process of its own
// reads it from its standard input.
type simulation struct {
	Hosts       []hostPlan    `json:"hosts"`
	Service     time.Duration `json:"service_ns"`
	Concurrency int           `json:"concurrency"`
	Delay       time.Duration `json:"delay_ns"`
	DelayFactor float64       `json:"delay_factor"`
	MaxDelay    time.Duration `json:"max_delay_ns"`
	Rate        float64       `json:"rate"`
}

// simulated is what came of it.
type simulated struct {
	Took     time.Duration `json:"took_ns"`
	Pages    int           `json:"pages"`
	Requests int           `json:"requests"`
}

// simulate lets the crawler itself crawl a synthetic web of the plan's hosts in virtual time.
func (c *planCmd) simulate(p *plan) error {
	pages := 0
	for _, h := range p.Hosts {
		pages += max(1, h.Pages)
	}
	if pages > maxSimulated {
		p.Notes = append(p.Notes, fmt.Sprintf("not played through: %d pages are more than the %d that are", pages, maxSimulated))
		return nil
	}
	policy, err := c.policy()
	if err != nil {
		return err
	}
	job := simulation{
		Hosts: p.Hosts, Service: time.Duration(c.Service), Concurrency: c.Concurrency,
		Delay: policy.Delay, DelayFactor: policy.DelayFactor, MaxDelay: policy.MaxDelay, Rate: policy.Rate,
	}
	res, err := job.run()
	if err != nil {
		return fmt.Errorf("playing the crawl through: %w", err)
	}
	p.Simulated, p.SimulatedRequests = res.Took, res.Requests
	return nil
}

// run plays the crawl through in another process of this program: virtual time is a thing of package
// testing, which ends the process that it runs in.
func (s *simulation) run() (*simulated, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd := exec.Cmd{Path: exe, Args: []string{"amble", "simulate"}, Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &errs}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(out.String()+errs.String()))
	}
	res := new(simulated)
	if err := json.NewDecoder(&out).Decode(res); err != nil {
		return nil, errors.New("it has no result")
	}
	return res, nil
}
