package main

import (
	"errors"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
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
		return nil, cli.Usage("--own-hosts: %w", err)
	}
	own := make(map[string]int, len(lines))
	for _, l := range lines {
		hosts, err := hostKeys(l)
		if err != nil {
			return nil, cli.Usage("--own-hosts: %s: %q: want host, host:port or a URL", f.OwnHosts, l)
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

// hostName is a line that holds a host name and nothing else.
func hostName(line string) (string, error) {
	u, err := weburl.Parse("http://" + line)
	if err == nil && (u.Authority() != u.Hostname() || u.PathQuery() != "/") {
		err = errNoHost
	}
	return u.Hostname(), err
}

var errNoHost = errors.New("no host name")
