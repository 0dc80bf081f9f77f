package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
)

// keyHosts is the key of the settings of single hosts. Its value in a job file is a list of records, and it has no flag. As the
// text of a setting it is JSON.
const keyHosts = "hosts"

// hostNumbers are the numeric fields of an entry, by their keys.
var hostNumbers = []struct {
	name  string
	form  amount
	field func(h *crawler.HostSettings) any
}{
	{"delay", amount{is: Duration, none: zero, zero: zero}, func(h *crawler.HostSettings) any { return &h.Delay }},
	{"max-pages", amount{is: Count, none: unlimited, noZero: nothing}, func(h *crawler.HostSettings) any { return &h.Pages }},
	{"max-bytes", amount{is: Size, noZero: "would fetch nothing; give a size or none"}, func(h *crawler.HostSettings) any { return &h.Bytes }},
	{"max-time", amount{is: Duration, noZero: "would fetch nothing; give a duration or none"}, func(h *crawler.HostSettings) any { return &h.Time }},
}

// hostEntryKeys are the keys of an entry.
var hostEntryKeys = []string{"match", "delay", "max-pages", "max-bytes", "max-time", "headers", "rules"}

// lineError describes an error in a line of a job file.
type lineError struct {
	line int
	error
}

// readHosts parses the text of the setting. In a job it may lack the values of header fields: Access needs them and reports missing ones.
func readHosts(v []string) ([]crawler.HostSettings, error) { return recordedHosts(one(v)) }

// recordedHosts parses the text of the setting in a job, where the values of header fields may be missing.
func recordedHosts(text string) ([]crawler.HostSettings, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return nil, err
	}
	return hostEntries(doc.Content[0])
}

// hostsChange returns why a job cannot be resumed with other entries, nil if it can.
func (c *Change) hostsChange(dir string, delay string) error {
	was, err := recordedHosts(c.From)
	now, err2 := recordedHosts(c.To)
	if err := errors.Join(err, err2); err != nil {
		return &KeyError{Key: c.Key, Err: err}
	}
	if why := hostsRefusal(was, now, pace("delay", delay)); why != "" {
		return &KeyError{Key: c.Key, Err: fmt.Errorf("in job %s %s: leave the entries as they were, or begin a new crawl in another directory", dir, why)}
	}
	return nil
}

// hostEntries reads a list of entries.
func hostEntries(list *yaml.Node) (all []crawler.HostSettings, err error) {
	if list.Kind != yaml.SequenceNode {
		return nil, lineError{list.Line, fmt.Errorf("want a list of entries with %s", strings.Join(hostEntryKeys, ", "))}
	}
	var errs []error
	for i, n := range list.Content {
		var h crawler.HostSettings
		if err := hostEntry(n, &h); err != nil {
			var at lineError
			if !errors.As(err, &at) {
				at = lineError{n.Line, err}
			}
			errs = append(errs, lineError{at.line, fmt.Errorf("entry %d%s: %w", i+1, named(h.Match), at.error)})
		}
		all = append(all, h)
	}
	return all, errors.Join(errs...)
}

// named returns the match of an entry for a message.
func named(match string) string {
	if match == "" {
		return ""
	}
	return " (" + match + ")"
}

// hostEntry reads one entry.
func hostEntry(n *yaml.Node, h *crawler.HostSettings) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("want %s", strings.Join(hostEntryKeys, ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "match" {
			h.Match = n.Content[i+1].Value
		}
	}
	var errs []error
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := hostValue(h, n.Content[i].Value, n.Content[i+1]); err != nil {
			errs = append(errs, lineError{n.Content[i].Line, fmt.Errorf("%s: %w", n.Content[i].Value, err)})
		}
	}
	if h.Match == "" {
		errs = append(errs, errors.New("no match: name a host, a domain such as *.site.test, or a range of addresses"))
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

func hostValue(h *crawler.HostSettings, name string, v *yaml.Node) (err error) {
	switch name {
	case "match":
		return scalar(v)
	case "headers":
		h.Header, err = headerFields(v)
		return err
	case "rules":
		var texts []string
		if err := v.Decode(&texts); err != nil {
			return errors.New("want a list of rules, such as exclude /private/")
		}
		h.Rules, err = readRules(texts)
		return err
	}
	for _, k := range hostNumbers {
		if k.name == name {
			if err := scalar(v); err != nil {
				return err
			}
			return k.form.set(reflect.ValueOf(k.field(h)).Elem(), []string{v.Value})
		}
	}
	return fmt.Errorf("unknown key%s", suggest(name, hostEntryKeys))
}

func scalar(v *yaml.Node) error {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		return errors.New("want one value")
	}
	return nil
}

// headerFields reads header fields: a value or a list of values for each name.
func headerFields(v *yaml.Node) (http.Header, error) {
	if v.Kind != yaml.MappingNode {
		return nil, errors.New("want lines of Name: value")
	}
	h := http.Header{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		name, value := v.Content[i].Value, v.Content[i+1]
		values := []string{value.Value}
		if value.Kind == yaml.SequenceNode {
			if err := value.Decode(&values); err != nil {
				return nil, fmt.Errorf("%s: want a value or a list of values", name)
			}
		}
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h, nil
}

// EntryText returns an entry of crawler.Config.Hosts in readable form, with the keys of a job file and without the values of
// header fields.
func EntryText(h *crawler.HostSettings) string {
	parts := []string{"hosts " + h.Match}
	for _, k := range hostNumbers {
		if field := reflect.ValueOf(k.field(h)).Elem(); !field.IsZero() {
			parts = append(parts, k.name+" "+one(k.form.text(field)))
		}
	}
	if len(h.Header) > 0 {
		parts = append(parts, "headers "+strings.Join(sortedKeys(h.Header), " "))
	}
	return strings.Join(append(parts, rulesText(h.Rules)...), ", ")
}

// hostsText returns the text of the setting: JSON, which is also valid YAML.
func hostsText(all []crawler.HostSettings) []string {
	var b bytes.Buffer
	for i := range all {
		h := &all[i]
		b.WriteString([]string{"[{", ",{"}[min(i, 1)] + `"match":` + quoted(h.Match))
		for _, k := range hostNumbers {
			field := reflect.ValueOf(k.field(h)).Elem()
			if field.IsZero() {
				continue
			}
			text := one(k.form.text(field))
			if _, err := strconv.ParseUint(text, 10, 64); err != nil {
				text = quoted(text)
			}
			b.WriteString("," + quoted(k.name) + ":" + text)
		}
		if len(h.Header) > 0 {
			b.WriteString(`,"headers":` + quoted(h.Header))
		}
		if len(h.Rules) > 0 {
			b.WriteString(`,"rules":` + quoted(rulesText(h.Rules)))
		}
		b.WriteByte('}')
	}
	if len(all) == 0 {
		b.WriteByte('[')
	}
	b.WriteByte(']')
	return []string{b.String()}
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // marshalling strings cannot fail
		panic(err)
	}
	return string(b)
}

// withoutValues returns the text of the setting without the values of header fields, which may be secrets.
func withoutValues(text []string) []string {
	all, err := recordedHosts(one(text))
	if err != nil { // cannot happen: the setting was parsed before
		return []string{"[]"}
	}
	for i := range all {
		masked := http.Header{}
		for name, values := range all[i].Header {
			for _, value := range values {
				if !(field{value: value}).isKept() {
					value = secretGone
				}
				masked[name] = append(masked[name], value)
			}
		}
		all[i].Header = masked
	}
	return hostsText(all)
}

// addHosts reads the key's value in a job file.
func (f *File) addHosts(key, value *yaml.Node) error {
	if earlier, ok := f.entries[keyHosts]; ok {
		return fmt.Errorf("%s: key %s stands in line %d already", f.at(key.Line), keyHosts, earlier.line)
	}
	all, err := hostEntries(value)
	if err == nil {
		err = checkHosts(all, value)
	}
	var errs []error
	for _, e := range unjoined(err) {
		var at lineError
		if errors.As(e, &at) {
			e = fmt.Errorf("%s: %s: %w", f.at(at.line), keyHosts, at.error)
		}
		errs = append(errs, e)
	}
	f.entries[keyHosts] = entry{line: key.Line, values: hostsText(all), origin: comment(key, value)}
	return errors.Join(errs...)
}

// checkHosts returns an error about entries that are wrong regardless of the other settings, with their lines.
func checkHosts(all []crawler.HostSettings, list *yaml.Node) error {
	own := politeness.Config{OwnHosts: func(string) int { return 1 }} // own hosts have no minimum delay: it would depend on other keys
	return wrongEntries(all, own, func(i int, err error) error { return lineError{list.Content[i].Line, err} })
}

// hostErrors returns an error about the entries of cfg that are wrong in combination with its other settings.
func hostErrors(cfg *crawler.Config) error {
	pace := politeness.Config{Delay: cfg.Politeness.Delay, OwnHosts: cfg.Politeness.OwnHosts}
	return wrongEntries(cfg.Hosts, pace, func(_ int, err error) error { return &KeyError{Key: keyHosts, Err: err} })
}

// wrongEntries returns the errors of entries in a crawl with the given pace. at adds the index to each.
func wrongEntries(all []crawler.HostSettings, pace politeness.Config, at func(i int, err error) error) error {
	var errs []error
	for _, err := range unjoined((crawler.Config{Hosts: all, Politeness: pace}).Validate()) {
		var wrong *crawler.ConfigError
		if !errors.As(err, &wrong) {
			continue
		}
		if i, ok := entryNumber(wrong); ok {
			errs = append(errs, at(i, fmt.Errorf("entry %d %s", i+1, wrong.Problem)))
		}
	}
	return errors.Join(errs...)
}

// entryNumber returns the index in Hosts of the entry that an error is about.
func entryNumber(e *crawler.ConfigError) (i int, ok bool) {
	n, err := fmt.Sscanf(e.Field, "Hosts[%d]", &i)
	return i, n == 1 && err == nil
}

// unjoined splits an error made with errors.Join.
func unjoined(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, unjoined(e)...)
		}
		return all
	}
	return []error{err}
}

// hostsRefusal returns the reason why entries cannot replace others when a job is resumed, "" if they can. Existing entries must
// keep their order and rules; their delays may only increase. New entries must not have rules, and must not take hosts from an
// entry with rules or a longer delay.
func hostsRefusal(was, now []crawler.HostSettings, usual float64) string {
	at := 0 // index of the job's next entry
	for _, h := range now {
		switch {
		case at < len(was) && h.Match == was[at].Match:
			if !slices.Equal(rulesText(h.Rules), rulesText(was[at].Rules)) {
				return fmt.Sprintf("the rules of entry %s have decided about URLs", h.Match)
			}
			if h.Delay < was[at].Delay {
				return fmt.Sprintf("the delay of entry %s can be raised and not lowered", h.Match)
			}
			at++
		case len(h.Rules) > 0:
			return fmt.Sprintf("entry %s is new and has rules, and URLs of its hosts have been decided about", h.Match)
		case h.Delay != 0 && h.Delay.Seconds() < usual:
			return fmt.Sprintf("entry %s is new and has a shorter delay than its hosts had", h.Match)
		case slices.ContainsFunc(was[at:], func(x crawler.HostSettings) bool { return len(x.Rules) > 0 || x.Delay > h.Delay }):
			return fmt.Sprintf("entry %s is new and comes before entries with rules or a longer delay: put it after them", h.Match)
		}
	}
	if at < len(was) {
		return fmt.Sprintf("entry %s is gone or in another place", was[at].Match)
	}
	return ""
}
