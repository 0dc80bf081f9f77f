package job

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/weburl"
)

// ownHosts returns the hosts that the operator owns, with the maximum number of concurrent requests to each.
func (c *Config) ownHosts() (map[string]int, error) {
	if c.OwnHosts == "" {
		return nil, nil
	}
	if c.lists != nil && c.lists.own != nil {
		return c.lists.own, nil
	}
	b, err := c.ownHostsText()
	if err != nil {
		return nil, err
	}
	lines := linesOf(b)
	own := make(map[string]int, len(lines))
	for _, l := range lines {
		hosts, err := hostKeys(l)
		if err != nil {
			return nil, &KeyError{Key: keyOwnHosts, Err: fmt.Errorf("%s: %q: want host, host:port or a URL", c.OwnHosts, l)}
		}
		for _, h := range hosts {
			own[h] = max(1, c.PerHost)
		}
	}
	return own, nil
}

// hostKeys returns the hosts of a line: a bare name stands for both its http and its https port.
func hostKeys(line string) ([]string, error) {
	if strings.Contains(line, "://") {
		u, err := weburl.Parse(line)
		return []string{u.Host()}, err
	}
	var res []string
	for _, scheme := range []string{"http://", "https://"} {
		u, err := weburl.Parse(scheme + line)
		if err != nil {
			return nil, err
		}
		res = append(res, u.Host())
	}
	return res, nil
}

// ownHostsText returns the contents of the job's copy of the OwnHosts file, or of the file itself if there is no copy.
func (c *Config) ownHostsText() ([]byte, error) {
	if c.lists != nil && c.lists.ownText != nil {
		return c.lists.ownText, nil
	}
	b, err := safefile.ReadNamed(c.OwnHosts, safefile.Settings)
	if err != nil {
		return nil, &KeyError{Key: keyOwnHosts, Err: err}
	}
	return b, nil
}

// linesOf returns the lines of a text that are neither blank nor comments.
func linesOf(b []byte) (lines []string) {
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	return lines
}
