package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// rulebook holds the settings that decide which links are queued. It does not include a custom scope, because two custom scopes cannot be
// compared.
type rulebook struct {
	Scope          ScopeKind
	Rules          []ScopeRule
	MaxDepth       int
	Beyond         int
	BeyondKinds    []frontier.Kind
	Sitemaps       bool
	Feeds          bool
	Resources      bool
	FollowNoFollow bool
	Sample         string      `json:",omitempty"`
	Documents      bool        `json:",omitempty"`
	Hosts          []hostRules // rules of the entries of Config.Hosts, up to the last entry that has rules
}

// hostRules are the rules of an entry of Config.Hosts.
type hostRules struct {
	Match string
	Rules []ScopeRule
}

// hostRules returns the parts of Config.Hosts that decide which links are queued.
func (c *Config) hostRules() (all []hostRules) {
	for i, h := range c.Hosts {
		if slices.ContainsFunc(c.Hosts[i:], func(h HostSettings) bool { return len(h.Rules) > 0 }) {
			all = append(all, hostRules{h.Match, h.Rules})
		}
	}
	return all
}

// settingOf maps the keys of a stored rulebook, which are part of the format, to fields of Config.
var settingOf = map[string]string{
	"Scope": "Scope.Kind", "Rules": "Scope.Rules", "MaxDepth": "Limits.Depth", "Beyond": "Scope.Beyond",
	"BeyondKinds": "Scope.BeyondKinds", "Sitemaps": "Follow.Sitemaps", "Feeds": "Follow.Feeds",
	"Resources": "Follow.Resources", "FollowNoFollow": "Follow.NoFollow",
	"Sample": "Sample", "Documents": "Follow.Documents", "Hosts": "Hosts",
}

func (c *Config) rulebook() rulebook {
	s, f := c.Scope, c.Follow
	b := rulebook{s.Kind, s.Rules, int(c.Limits.Depth), s.Beyond, s.BeyondKinds, f.Sitemaps, f.Feeds, f.Resources, f.NoFollow, "", f.Documents, c.hostRules()}
	if c.Sample.N > 0 {
		b.Sample = c.Sample.String()
	}
	if c.Scope.Custom != nil {
		b.Scope, b.Rules = "", nil
	}
	return b
}

// keepRules stores the rulebook of a crawl. It returns an error if the crawl has ended under another rulebook, because the links that the
// other one rejected would not be found again.
func (k *checkpoint) keepRules(ctx context.Context, book rulebook, ended bool) error {
	rules, err := json.Marshal(book)
	if err != nil {
		return err
	}
	before, err := k.store.Value(ctx, "", keyRules)
	if err != nil || bytes.Equal(before, rules) {
		return err
	}
	if before != nil && ended {
		changed, err := differing(before, rules)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			return changedRules(strings.Join(changed, ", "))
		}
	}
	return k.mark(ctx, keyRules, rules)
}

// changedRules returns the error for a frontier whose crawl had other settings. settings names the settings that differ.
func changedRules(settings string) error {
	return fmt.Errorf("%w (%s): use a new frontier for the changed settings", ErrRulesChanged, settings)
}

// differing returns the names of the settings that both rulebooks contain with different values.
func differing(was, now []byte) (names []string, err error) {
	var book rulebook
	var old, a, b map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(was, &book), json.Unmarshal(was, &old), json.Unmarshal(now, &b)); err != nil {
		return nil, err
	}
	written, err := json.Marshal(book) // encode the stored rulebook in the current form
	if err = errors.Join(err, json.Unmarshal(written, &a)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, had := old[name]; had && !bytes.Equal(a[name], b[name]) {
			names = append(names, settingOf[name])
		}
	}
	return names, nil
}

// pins holds the results of the first look-ups of the seeds' names, for all Runs of a Crawler. The gate's state of a site, such as its
// robots.txt, outlives a Run, and must not permit requests to another machine.
type pins struct {
	mu    sync.Mutex
	first map[string][]netip.Addr
}

// set records the private addresses of a first look-up and returns those that apply. They differ if another Run has recorded a look-up
// before.
func (p *pins) set(host string, private []netip.Addr) []netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, known := p.first[host]; known {
		return was
	}
	if p.first == nil {
		p.first = map[string][]netip.Addr{}
	}
	p.first[host] = private
	return private
}

// pinPublic is the stored value if the first look-up of a name found a public address.
const pinPublic = "public"

func pinText(private []netip.Addr) []byte {
	if len(private) == 0 {
		return []byte(pinPublic)
	}
	text := make([]string, len(private))
	for i, a := range private {
		text[i] = a.String()
	}
	return []byte(strings.Join(text, " "))
}

func parsePin(text string) ([]netip.Addr, error) {
	if text == pinPublic {
		return nil, nil
	}
	var private []netip.Addr
	for s := range strings.FieldsSeq(text) {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, err
		}
		private = append(private, a)
	}
	return private, nil
}

// Times at which the gate's state is stored. A process that resumes the crawl reads later events from the ledger. To limit the time for
// that, the state is also stored after snapshotRequests requests.
const (
	snapshotInterval = 10 * time.Second
	snapshotRequests = 10_000 // a process replays as many, with their robots.txt files, in about a tenth of a second
)

// snapshots decides when to store the gate's state.
type snapshots struct {
	next     time.Time
	requests int // number of requests when the state was stored last
}

// due reports whether the state must be stored. requests is the number of requests so far.
func (s *snapshots) due(requests int) bool {
	return !time.Now().Before(s.next) || requests-s.requests >= snapshotRequests
}

// taken records that the gate's state is being stored.
func (s *snapshots) taken(requests int) {
	s.next, s.requests = time.Now().Add(snapshotInterval), requests
}
