package main

import (
	"strings"

	"github.com/amble-crawler/amble/weburl"
)

// ownHosts reads the hosts that the operator owns: lines of host, host:port or URL.
func (f *paceFlags) ownHosts() (func(host string) int, error) {
	own, err := f.ownHostKeys()
	if own == nil {
		return nil, err
	}
	return func(host string) int { return own[host] }, nil
}

// ownHostKeys are the hosts that the operator owns, with the number of requests allowed in flight.
func (f *paceFlags) ownHostKeys() (map[string]int, error) {
	if f.OwnHosts == "" {
		return nil, nil
	}
	lines, err := readLines(f.OwnHosts, nil)
	if err != nil {
		return nil, usage("--own-hosts: %w", err)
	}
	own := make(map[string]int, len(lines))
	for _, l := range lines {
		hosts, err := hostKeys(l)
		if err != nil {
			return nil, usage("--own-hosts: %s: %q: want host, host:port or a URL", f.OwnHosts, l)
		}
		for _, h := range hosts {
			own[h] = f.PerHost
		}
	}
	return own, nil
}

// hostKeys are the hosts a line names: a bare name stands for its http and its https port.
func hostKeys(line string) ([]string, error) {
	if strings.Contains(line, "://") {
		u, err := weburl.Parse(line)
		return []string{u.Host()}, err
	}
	var keys []string
	for _, scheme := range []string{"http://", "https://"} {
		u, err := weburl.Parse(scheme + line)
		if err != nil {
			return nil, err
		}
		keys = append(keys, u.Host())
	}
	return keys, nil
}

// optOut reads the host names that are not to be asked at all.
func (f *paceFlags) optOut() (func(hostname string) bool, error) {
	if f.OptOut == "" {
		return nil, nil
	}
	lines, err := readLines(f.OptOut, nil)
	if err != nil {
		return nil, usage("--opt-out: %w", err)
	}
	out := make(map[string]bool, len(lines))
	for _, l := range lines {
		u, err := weburl.Parse("http://" + l)
		if err != nil || u.Authority() != u.Hostname() || u.PathQuery() != "/" {
			return nil, usage("--opt-out: %s: %q: want a host name", f.OptOut, l)
		}
		out[u.Hostname()] = true
	}
	return func(hostname string) bool {
		for name := hostname; name != ""; _, name, _ = strings.Cut(name, ".") {
			if out[name] {
				return true
			}
		}
		return false
	}, nil
}
