package main

import (
	"encoding"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// setting is one key of a crawl's configuration.
type setting struct {
	name   string
	value  string   // unless isList
	quote  bool     // value is any text, which YAML may want between quotes
	list   []string // its values
	isList bool
	origin string
}

// text is the value as it is compared and told.
func (s *setting) text() string {
	if s.isList {
		return strings.Join(s.list, ", ")
	}
	return s.value
}

// settings are all flags of a crawl with their values and origins. The rules are what rules, includes
// and excludes come to: in three lists their order would be lost.
func (c *crawlFlags) settings(o *origins) []setting {
	var all []setting
	for _, f := range o.ctx.Selected().Flags {
		switch {
		case slices.Contains(unkeyed, f.Name), f.Name == "include", f.Name == "exclude":
		case f.Name == "rules":
			all = append(all, c.rules(o))
		case f.Name == "opt-out": // the last that is about politeness
			s := settingOf(f)
			s.origin = o.origin(f.Name)
			all = append(all, s, o.overridesSetting())
		default:
			s := settingOf(f)
			s.origin = o.origin(f.Name)
			all = append(all, s)
		}
	}
	return all
}

func (c *crawlFlags) rules(o *origins) setting {
	s := setting{name: "rules", isList: true, origin: "default"}
	var from []string
	for _, flag := range ruleFlags {
		if o.given(flag) {
			from = append(from, flag+": "+o.origin(flag))
		}
	}
	switch {
	case len(from) == 1 && o.given("rules") && len(o.job.entries) > 0:
		s.origin = o.origin("rules") // which says of which flags they were made
	case len(from) > 0:
		s.origin = strings.Join(from, ", ")
	}
	for _, r := range c.ordered() {
		s.list = append(s.list, r.String())
	}
	return s
}

func settingOf(f *kong.Flag) setting {
	s := setting{name: f.Name}
	switch v := f.Target.Interface().(type) {
	case words:
		s.list, s.isList = v, true
	case prefixes:
		s.isList = true
		for i := range v {
			s.list = append(s.list, v[i].String())
		}
	case ports:
		s.isList = true
		for _, n := range v {
			s.list = append(s.list, strconv.Itoa(int(n)))
		}
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err != nil { // of a value that was read from text
			panic(err)
		}
		s.value = string(text) // letters, digits and points
	case string:
		s.value, s.quote = v, true
	default:
		s.value = fmt.Sprint(v)
	}
	return s
}
