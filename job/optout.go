package job

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// optOutEvery is the interval at which a running crawl checks the opt-out list for changes.
const optOutEvery = 2 * time.Second

// readOptOut returns a function that reports whether a host name is on the opt-out list. The file is read now and whenever it
// changes: a host that is added is left alone without stopping the crawl.
func readOptOut(path string) (func(hostname string) bool, error) {
	l := &optOutList{path: path, known: map[string]bool{}}
	if err := l.read(time.Now()); err != nil {
		return nil, err
	}
	return l.now, nil
}

// optOutList is the union of all versions of the opt-out list that were read: a host never leaves it.
type optOutList struct {
	path  string // path of the file; "": only the job's copies are used
	keeps bool   // new versions are collected in fresh, and take must be called

	mu      sync.Mutex
	names   map[string]bool
	known   map[string]bool // SHA-256 of the versions read
	fresh   []keptText      // versions that the job has not copied yet
	looked  time.Time
	changed time.Time // modification time of the file
}

func (l *optOutList) now(hostname string) bool { return l.has(hostname, time.Now()) }

// has reports whether a host name, or a domain that contains it, is in any version of the list. If the file has become unreadable,
// the list stays unchanged; of a version with invalid lines the others count.
func (l *optOutList) has(hostname string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path != "" && now.Sub(l.looked) >= optOutEvery {
		l.looked = now
		if info, err := os.Stat(l.path); err == nil && !info.ModTime().Equal(l.changed) {
			if b, err := safefile.Read(l.path, safefile.Settings); err == nil && l.add(b, now) == nil {
				l.changed = info.ModTime()
			}
		}
	}
	for name := hostname; name != ""; _, name, _ = strings.Cut(name, ".") {
		if l.names[name] {
			return true
		}
	}
	return false
}

// read reads the file for the first time.
func (l *optOutList) read(now time.Time) error {
	info, err := os.Stat(l.path)
	if err != nil {
		return &KeyError{Key: keyOptOut, Err: err}
	}
	b, err := safefile.ReadNamed(l.path, safefile.Settings)
	if err != nil {
		return &KeyError{Key: keyOptOut, Err: err}
	}
	l.changed = info.ModTime()
	return l.add(b, now)
}

// add adds the valid lines of a version of the list. The version counts as known only if all are valid.
func (l *optOutList) add(text []byte, now time.Time) error {
	k := newKept(keyOptOut, l.path, text, now)
	if l.known[k.SHA256] {
		return nil
	}
	names, err := ParseOptOut(text, l.path)
	if l.names == nil {
		l.names = map[string]bool{}
	}
	for _, name := range names {
		l.names[name] = true
	}
	if err != nil {
		return &KeyError{Key: keyOptOut, Err: err}
	}
	l.known[k.SHA256] = true
	if l.keeps {
		l.fresh = append(l.fresh, k)
	}
	return nil
}

// take returns the versions read since the last call.
func (l *optOutList) take() []keptText {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh
	l.fresh = nil
	return fresh
}

// ParseOptOut parses the text of an opt-out list and returns the host names of its valid lines: one per line, with or without "*." before
// it; # begins a comment. The error names the first invalid line. The path is used in messages.
func ParseOptOut(text []byte, path string) (names []string, err error) {
	for _, line := range linesOf(text) {
		if name := hostmatch.Below(line); name != "" {
			names = append(names, name)
		} else if err == nil {
			err = fmt.Errorf("%s: %q: want a host name", path, line)
		}
	}
	return names, err
}
