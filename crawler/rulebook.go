package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/frontier"
)

// rulebook is the settings that decide which links are queued. A scope of the caller's own is not in it: nobody
// knows whether two are the same.
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
}

// settingOf names the field of Config for each key of a stored rulebook: the keys are part of the format.
var settingOf = map[string]string{
	"Scope": "Scope.Kind", "Rules": "Scope.Rules", "MaxDepth": "Limits.Depth", "Beyond": "Scope.Beyond",
	"BeyondKinds": "Scope.BeyondKinds", "Sitemaps": "Follow.Sitemaps", "Feeds": "Follow.Feeds",
	"Resources": "Follow.Resources", "FollowNoFollow": "Follow.NoFollow",
}

func (c *Config) rulebook() rulebook {
	s, f := c.Scope, c.Follow
	b := rulebook{s.Kind, s.Rules, c.Limits.Depth, s.Beyond, s.BeyondKinds, f.Sitemaps, f.Feeds, f.Resources, f.NoFollow}
	if c.Scope.Custom != nil {
		b.Scope, b.Rules = "", nil
	}
	return b
}

// keepRules keeps the rules of a crawl. When it has ended, by other rules, that is an error: what it has not queued by
// its own would not be found by these either.
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
			return fmt.Errorf("%w (%s): give the crawl by these a frontier of its own", ErrRulesChanged, strings.Join(changed, ", "))
		}
	}
	return k.mark(ctx, keyRules, rules)
}

// differing returns the settings that two rulebooks both have, with different values.
func differing(was, now []byte) (names []string, err error) {
	var book rulebook
	var old, a, b map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(was, &book), json.Unmarshal(was, &old), json.Unmarshal(now, &b)); err != nil {
		return nil, err
	}
	written, err := json.Marshal(book) // as it would be written today
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
