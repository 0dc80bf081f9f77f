package job

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Textual forms of keys whose values are lists of a special kind.

// expression checks a regular expression.
func expression(s string) (string, error) {
	if _, err := regexp.Compile(s); err != nil {
		return "", fmt.Errorf("%q is not a valid regular expression: %w", s, err)
	}
	return s, nil
}

// mediaType checks a media type, or several with commas.
func mediaType(s string) (string, error) {
	err := crawler.ScopeRule{Types: strings.Split(s, ",")}.Validate()
	if err == nil {
		return s, nil
	}
	_, what, _ := strings.Cut(err.Error(), `rule "": `) // drop the prefix with the rule's empty name
	return "", errors.New(what)
}

// RuleOf converts a value of the key include, exclude or accept to a scope rule in the form of the key rules.
func RuleOf(key, value string) string {
	if key == "accept" {
		key = "include-type"
	}
	return key + " " + value
}

// verbs are the words that begin a scope rule: for all URLs that match, for links of some kinds, and for responses of some types.
var verbs = []string{"include", "exclude", "include-kind", "exclude-kind", "include-type", "exclude-type"}

const wantRule = "want include RE, exclude RE, or include-kind, exclude-kind, include-type or exclude-type with a list and perhaps of RE"

// readRules reads scope rules: "include RE", "exclude-kind image,script", "exclude-type application/pdf of RE".
func readRules(texts []string) (rules []crawler.ScopeRule, err error) {
	for _, text := range texts {
		r, err := readRule(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func readRule(text string) (r crawler.ScopeRule, err error) {
	verb, rest, _ := strings.Cut(text, " ")
	if !slices.Contains(verbs, verb) {
		return r, fmt.Errorf("%q: %s", text, wantRule)
	}
	what, of, _ := strings.Cut(verb, "-")
	r.Exclude = what == "exclude"
	if of == "" {
		r.Pattern, err = expression(rest)
		return r, err
	}
	names, pattern, _ := strings.Cut(strings.TrimSpace(rest), " ")
	for name := range strings.SplitSeq(names, ",") {
		if of == "type" {
			r.Types = append(r.Types, name)
			continue
		}
		kind, err := frontier.ParseKind(name)
		if err != nil {
			return r, fmt.Errorf("%q: %w", text, err)
		}
		r.Kinds = append(r.Kinds, kind)
	}
	if pattern != "" {
		re, ok := strings.CutPrefix(pattern, "of ")
		if !ok {
			return r, fmt.Errorf("%q: %s", text, wantRule)
		}
		if r.Pattern, err = expression(re); err != nil {
			return r, err
		}
	}
	if err := r.Validate(); err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	return r, nil
}

// rulesText is the inverse of readRules.
func rulesText(rules []crawler.ScopeRule) (texts []string) {
	for _, r := range rules {
		verb := "include"
		if r.Exclude {
			verb = "exclude"
		}
		names := slices.Clone(r.Types)
		for _, k := range r.Kinds {
			names = append(names, k.String())
		}
		switch {
		case len(r.Kinds) > 0:
			verb += "-kind " + strings.Join(names, ",")
		case len(r.Types) > 0:
			verb += "-type " + strings.Join(names, ",")
		}
		switch {
		case len(names) == 0:
			verb += " " + r.Pattern
		case r.Pattern != "":
			verb += " of " + r.Pattern
		}
		texts = append(texts, verb)
	}
	return texts
}

// readHours parses parts of the day, such as "08:00-18:00".
func readHours(texts []string) (all politeness.Hours, err error) {
	for _, text := range texts {
		w, err := window(text)
		if err != nil {
			return nil, &itemError{text, err}
		}
		all = append(all, w)
	}
	return all, nil
}

// window parses HH:MM-HH:MM, which may span midnight, optionally followed by @ and the name of a time zone.
func window(text string) (w politeness.Window, err error) {
	part, zone, zoned := strings.Cut(text, "@")
	from, to, ok := strings.Cut(part, "-")
	start, err := clock(from)
	end, err2 := clock(to)
	if !ok || err != nil || err2 != nil || start == end {
		return w, errors.New("want parts of the day such as 22:00-06:00, in UTC, or 22:00-06:00@Europe/Berlin")
	}
	w.From, w.To = start, end
	if !zoned || zone == "UTC" {
		return w, nil
	}
	// Local would mean another zone on another machine.
	if w.Zone, err = time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
		return w, fmt.Errorf("there is no time zone %q: want a name of the IANA database such as Europe/Berlin, or UTC", zone)
	}
	return w, nil
}

func hoursText(h politeness.Hours) (texts []string) {
	for _, w := range h {
		text := fmt.Sprintf("%02d:%02d-%02d:%02d", int(w.From.Hours()), int(w.From.Minutes())%60, int(w.To.Hours()), int(w.To.Minutes())%60)
		if w.Zone != nil && w.Zone != time.UTC {
			text += "@" + w.Zone.String()
		}
		texts = append(texts, text)
	}
	return texts
}

// readPurposes parses the purposes for which pages are collected.
func readPurposes(names []string) (all []consent.Purpose, err error) {
	for _, name := range names {
		p, err := consent.ParsePurpose(name)
		if err != nil {
			return nil, &itemError{name, fmt.Errorf("want one of %s", strings.Join(purposesText(consent.Purposes()), ", "))}
		}
		all = append(all, p)
	}
	return all, nil
}

func purposesText(ps []consent.Purpose) (names []string) {
	for _, p := range ps {
		names = append(names, p.String())
	}
	return names
}

// fullHostNames checks names of hosts, without ports and wildcards.
func fullHostNames(names []string) ([]string, error) {
	for _, h := range names {
		name, err := hostName(h)
		if err != nil || strings.Contains(h, "*") || name != strings.ToLower(h) {
			return nil, &itemError{h, errors.New("want host names, each in full")}
		}
	}
	return slices.Clone(names), nil
}

// hostName parses a line that must contain only a host name.
func hostName(line string) (string, error) {
	u, err := weburl.Parse("http://" + line)
	if err == nil && (u.Authority() != u.Hostname() || u.PathQuery() != "/") {
		err = errors.New("not a host name")
	}
	return u.Hostname(), err
}

// Formats of results.
const (
	formatJSONL = "jsonl"
	formatWARC  = "warc"
)

// archived reports whether a list of formats of results names an archive.
func archived(formats []string) (bool, error) {
	for _, f := range formats {
		if f != formatJSONL && f != formatWARC {
			return false, errors.New("want jsonl or warc")
		}
	}
	return slices.Contains(formats, formatWARC), nil
}

func formatText(archive bool) []string {
	if archive {
		return []string{formatJSONL, formatWARC}
	}
	return []string{formatJSONL}
}
