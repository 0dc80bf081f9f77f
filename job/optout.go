package job

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// optOutEvery is how often the opt-out list is checked for changes while a crawl runs.
const optOutEvery = 2 * time.Second

// readOptOut returns a function that reports whether a host name is on the opt-out list. The file is read now and
// whenever it changes: a site owner who complains is left alone without stopping the crawl.
func readOptOut(path string) (func(hostname string) bool, error) {
	l := &optOutList{path: path}
	if err := l.read(); err != nil {
		return nil, err
	}
	return func(hostname string) bool { return l.has(hostname, time.Now()) }, nil
}

// optOutList is the list as it was last read.
type optOutList struct {
	path string

	mu      sync.Mutex
	names   map[string]bool
	looked  time.Time
	changed time.Time // modification time of the file
}

// has reports whether a host name, or a domain that contains it, is on the list. If the list can no longer be read, the
// last version stays in force.
func (l *optOutList) has(hostname string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.looked) >= optOutEvery {
		l.looked = now
		if info, err := os.Stat(l.path); err == nil && !info.ModTime().Equal(l.changed) {
			_ = l.read()
		}
	}
	for name := hostname; name != ""; _, name, _ = strings.Cut(name, ".") {
		if l.names[name] {
			return true
		}
	}
	return false
}

func (l *optOutList) read() error {
	info, err := os.Stat(l.path)
	if err != nil {
		return &KeyError{Key: "opt-out", Err: err}
	}
	lines, err := readLines(l.path)
	if err != nil {
		return &KeyError{Key: "opt-out", Err: err}
	}
	names := make(map[string]bool, len(lines))
	for _, line := range lines {
		name, err := hostName(line)
		if err != nil {
			return &KeyError{Key: "opt-out", Err: fmt.Errorf("%s: %q: want a host name", l.path, line)}
		}
		names[name] = true
	}
	l.names, l.changed = names, info.ModTime()
	return nil
}
