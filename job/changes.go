package job

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
)

// Change is a changed setting, or an [Action] of the operator while the crawl ran. For an Action about a host, To is that host.
type Change struct {
	Key  string    `json:"key"`
	From string    `json:"from"`
	To   string    `json:"to"`
	At   time.Time `json:"at,omitzero"` // set only for an Action; settings change when a process starts
}

// changes compares settings with those in force. The error names every difference that is not allowed.
func changes(dir string, was, now map[string]string) ([]Change, error) {
	var list []Change
	var errs []error
	for _, key := range sortedKeys(now) {
		from, known := was[key]
		c := Change{Key: key, From: from, To: now[key]}
		if key == keyHosts && c.From != c.To && (known || c.To != "[]") {
			errs = append(errs, c.hostsChange(dir, now["delay"]))
			list = append(list, c)
			continue
		}
		if !known || c.From == c.To || c.sameValue() {
			continue
		}
		errs = append(errs, c.refusal(dir))
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}

// sameValue reports whether both texts mean the same value.
func (c *Change) sameValue() bool {
	k := KeyNamed(c.Key)
	if k == nil || k.Kind() == List {
		return false
	}
	return one(k.Normal([]string{c.From})) == one(k.Normal([]string{c.To}))
}

// refusal returns why a job cannot be resumed with the change, or nil if it can.
func (c *Change) refusal(dir string) error {
	from, to := cmp.Or(c.From, "none"), cmp.Or(c.To, "none")
	const again = "leave it as it was, or begin a new crawl in another directory"
	var why string
	k := KeyNamed(c.Key)
	switch {
	case k == nil:
	case k.Freedom == Fixed:
		why = "job %s was begun with %s, by which it has decided about URLs: %s"
	case k.Freedom == Up && pace(c.Key, c.To) < pace(c.Key, c.From):
		why = "job %s promised %s, which can be raised and not lowered: %s"
	case k.Freedom == Down && pace(c.Key, c.To) > pace(c.Key, c.From):
		why = "job %s promised %s, which can be lowered and not raised: %s"
	}
	if why == "" {
		return nil
	}
	return &KeyError{Key: c.Key, Value: to, Err: fmt.Errorf(why, dir, from, again)}
}

// pace returns the numeric value of a setting: seconds, a factor, or a rate.
func pace(key, text string) float64 {
	const without = 1e18
	var d cli.Duration
	var n cli.Number
	switch {
	case text == cli.None && (key == "rate" || key == "max-delay"):
		return without
	case text == cli.None, text == "false":
		return 0
	case text == "true":
		return 1
	case n.UnmarshalText([]byte(text)) == nil:
		return float64(n)
	case d.UnmarshalText([]byte(text)) == nil:
		return d.Seconds()
	}
	return 0
}

// seedChanges compares seeds with those of the job. Seeds cannot be removed, because URLs were found from them.
func seedChanges(dir string, was, now []string) (added []string, err error) {
	gone, added := missing(was, now), missing(now, was)
	if n := len(gone); n > 0 {
		err = refused("job %s has the seed %s%s, and the URLs found from it are queued: give all seeds, or none to resume with those of the job, or begin a new crawl in another directory", dir, gone[0], cli.AndMore(n-1))
	}
	return added, err
}

// missing returns the items of list that are not in from.
func missing(list, from []string) (res []string) {
	has := make(map[string]bool, len(from))
	for _, s := range from {
		has[s] = true
	}
	for _, s := range list {
		if !has[s] {
			res = append(res, s)
		}
	}
	return res
}
