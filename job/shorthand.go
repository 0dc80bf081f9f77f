package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shorthand is a setting that stands for several keys: a flag of a command, and a line of a job file. It sets all of its keys; those
// that its value does not name get their defaults. A job records the keys.
type Shorthand struct {
	Name  string
	Doc   string
	Group Group
	Words []string // words that the value may be or begin with; several words are separated by commas
	Bare  bool     // the shorthand without a value means true

	keys map[string]string // the setting that a word makes, as "NAME=VALUE", if it is not a default
	read func(values []string) (Settings, error)
}

// shorthands lists all shorthands, in the order of the keys.
var shorthands = []*Shorthand{
	{
		"follow", "What else is followed: sitemaps (what the sitemaps named in robots.txt list), feeds (what RSS, Atom and JSON Feed list), resources (images, style sheets, scripts and the like), nofollow (links marked rel=nofollow); or none.",
		InScope, []string{"sitemaps", "feeds", "resources", "nofollow", "none"}, false,
		map[string]string{"sitemaps": "follow=sitemaps", "feeds": "follow=feeds", "resources": "follow=resources", "follow-nofollow": "follow=nofollow"}, readFollow,
	},
	{
		"cookies", "Keep cookies and return each to the site that set it. With =keep a job directory keeps them for when the crawl is resumed, in a file that only you may read. With =FILE those of a cookies.txt are sent, as curl, wget and browsers write it; =keep,FILE does both.",
		Access, []string{"keep"}, true,
		map[string]string{"cookies": "cookies", "load-cookies": "cookies=FILE", "keep-cookies": "cookies=keep"}, readCookies,
	},
	{
		"archive", "Also archive what went over the wire, as WARC with a CDXJ index.", Output, nil, true,
		map[string]string{"format": "archive"}, readArchive,
	},
}

// Shorthands returns all shorthands.
func Shorthands() []*Shorthand { return slices.Clone(shorthands) }

// ShorthandNamed returns the shorthand with this name, or nil if there is none.
func ShorthandNamed(name string) *Shorthand {
	i := slices.IndexFunc(shorthands, func(s *Shorthand) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return shorthands[i]
}

// ShorthandOf returns the shorthand that sets a key, and its value, as in "follow=sitemaps"; nil if there is none.
func ShorthandOf(key string) (s *Shorthand, as string) {
	for _, s := range shorthands {
		if as, ok := s.keys[key]; ok {
			return s, as
		}
	}
	return nil, ""
}

// Expand returns the settings of the keys for a value.
func (s *Shorthand) Expand(values ...string) (Settings, error) {
	var all []string
	for _, v := range values {
		for word := range strings.SplitSeq(v, ",") {
			all = append(all, strings.TrimSpace(word))
		}
	}
	return s.read(all)
}

func onOff(key string, on bool) Setting {
	return Setting{Name: key, Values: []string{strconv.FormatBool(on)}}
}

// readFollow parses the words for what is followed besides links.
func readFollow(words []string) (Settings, error) {
	names := []string{"sitemaps", "feeds", "resources", "nofollow"}
	for _, w := range words {
		if !slices.Contains(names, w) && (w != "none" || len(words) > 1) {
			return nil, fmt.Errorf("%q: want %s, or none alone", w, strings.Join(names, ", "))
		}
	}
	has := func(word string) bool { return slices.Contains(words, word) }
	return Settings{
		onOff("sitemaps", has("sitemaps")), onOff("feeds", has("feeds")), onOff("resources", has("resources")), onOff("follow-nofollow", has("nofollow")),
	}, nil
}

// readCookies reads whether cookies are returned, kept and loaded. An empty value loads none, and changes nothing else.
func readCookies(words []string) (Settings, error) {
	if len(words) == 0 {
		return nil, nil
	}
	keep, file := false, ""
	for _, w := range words {
		switch {
		case len(words) == 1 && w == "":
			return Settings{{Name: "load-cookies", Values: []string{""}}}, nil
		case len(words) == 1 && (flag{}).parse(words) == nil:
			return Settings{{Name: "load-cookies", Values: []string{""}}, onOff("keep-cookies", false), onOff("cookies", isOn(w))}, nil
		case w == "keep":
			keep = true
		case file != "":
			return nil, fmt.Errorf("%q and %q: want one file", file, w)
		default:
			file = w
		}
	}
	return Settings{{Name: "load-cookies", Values: []string{file}}, onOff("keep-cookies", keep), onOff("cookies", true)}, nil
}

// readArchive reads whether an archive is written.
func readArchive(words []string) (Settings, error) {
	if err := (flag{}).parse(words); err != nil || len(words) != 1 {
		return nil, fmt.Errorf("%q: want true or false", strings.Join(words, ","))
	}
	return Settings{{Name: "format", Values: formatText(isOn(words[0]))}}, nil
}
