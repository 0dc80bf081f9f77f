package job

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
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

// readRules reads scope rules: "include RE" or "exclude RE".
func readRules(texts []string) (rules []crawler.ScopeRule, err error) {
	for _, text := range texts {
		kind, re, _ := strings.Cut(text, " ")
		if kind != "include" && kind != "exclude" {
			return nil, fmt.Errorf("%q: want include RE or exclude RE", text)
		}
		if _, err := expression(re); err != nil {
			return nil, err
		}
		rules = append(rules, crawler.ScopeRule{Exclude: kind == "exclude", Pattern: re})
	}
	return rules, nil
}

func rulesText(rules []crawler.ScopeRule) (texts []string) {
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	return texts
}

// readHours reads times of day.
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

// window reads HH:MM-HH:MM, which may span midnight.
func window(text string) (robots.Window, error) {
	from, to, ok := strings.Cut(text, "-")
	start, err := clock(from)
	end, err2 := clock(to)
	if !ok || err != nil || err2 != nil || start == end {
		return robots.Window{}, errors.New("want parts of the day in UTC such as 22:00-06:00")
	}
	return robots.Window{From: start, To: end}, nil
}

func hoursText(h politeness.Hours) (texts []string) {
	for _, w := range h {
		texts = append(texts, fmt.Sprintf("%02d:%02d-%02d:%02d", int(w.From.Hours()), int(w.From.Minutes())%60, int(w.To.Hours()), int(w.To.Minutes())%60))
	}
	return texts
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

// hostName reads a line that must hold only a host name.
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
