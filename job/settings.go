package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Setting is the value of a key as text.
type Setting struct {
	Name   string
	Values []string // one value, unless the key is a list
	Origin string   // source of the value, for readers of the job file: "default", "program", or a file and line
}

// withoutSecrets returns the setting in a form that may be shown: without the password of a proxy and the values of header fields.
func (s Setting) withoutSecrets() Setting {
	switch s.Name {
	case "proxy":
		s.Values = []string{WithoutSecrets(s.Text())}
	case keyHeader:
		s.Values = keptFields(s.Values)
	case keyHosts:
		s.Values = withoutValues(s.Values)
	}
	return s
}

// Text returns the value as text for comparison and display.
func (s *Setting) Text() string { return strings.Join(s.Values, ", ") }

// Settings are the settings of a crawl, in the order of [Keys]. A missing key has its default.
type Settings []Setting

// Get returns the setting of a key.
func (all Settings) Get(name string) (s Setting, ok bool) {
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return s, false
	}
	return all[i], true
}

// Config returns the crawl that the settings describe. The error wraps a [KeyError] for each invalid setting. Rules of accept come
// before rules, those of include and exclude after them, in this order.
func (all Settings) Config() (Config, error) {
	c := Config{origins: map[string]string{}}
	var errs []error
	var accept, rules Setting
	for i := range all {
		s := &all[i]
		k := KeyNamed(s.Name)
		switch {
		case k == nil:
			errs = append(errs, &KeyError{Key: s.Name, Err: errors.New("unknown key" + didYouMean(s.Name))})
			continue
		case k.Freedom == Shown && k.Field == "":
			c.shown = append(c.shown, *s)
		case s.Name == "include" || s.Name == "exclude":
			rules.append(s)
			continue
		case s.Name == "accept":
			accept.append(s)
			continue
		case s.Name == "rules":
			rules.Values, rules.Origin = append(slices.Clone(s.Values), rules.Values...), strings.TrimSuffix(s.Origin+", "+rules.Origin, ", ")
			continue
		default:
			errs = append(errs, k.set(&c, s))
		}
		c.origins[s.Name] = s.Origin
	}
	if !c.Crawl.Fetch.Cookies && c.needCookies() {
		c.origins["cookies"] = cmp.Or(c.origins["load-cookies"], c.origins["keep-cookies"])
	}
	rules.Name = "rules"
	rules.Values = append(accept.Values, rules.Values...)
	rules.Origin = strings.Trim(accept.Origin+", "+rules.Origin, ", ")
	c.origins["rules"] = rules.Origin
	errs = append(errs, KeyNamed("rules").set(&c, &rules), c.checkOwn(), c.checkBrowser())
	return c, errors.Join(errs...)
}

// append adds the values of include, exclude or accept to rules.
func (s *Setting) append(more *Setting) {
	for _, v := range more.Values {
		s.Values = append(s.Values, RuleOf(more.Name, v))
	}
	if len(more.Values) > 0 {
		s.Origin = strings.TrimPrefix(s.Origin+", "+more.Name+": "+more.Origin, ", ")
	}
}

// Settings returns the settings that a job file can express; [Config.Program] returns the rest.
func (c *Config) Settings() Settings {
	var all Settings
	for _, k := range keys {
		switch {
		case k.Field != "":
			s := k.of(c)
			if def := k.Default(); c.origins[k.Name] == "" && !slices.Equal(s.Values, def.Values) {
				s.Origin = "program"
			}
			all = append(all, s)
		case k.Freedom == Shown:
			if s, ok := c.shown.Get(k.Name); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// recorded returns the settings that are part of the job, by name.
func (all Settings) recorded() map[string]string {
	m := map[string]string{}
	for _, s := range all {
		if k := KeyNamed(s.Name); k != nil && k.Freedom != Shown {
			m[s.Name] = s.Text()
		}
	}
	return m
}

// YAML returns the settings as a job file, each with a comment that gives its origin. If there are urls, they come first.
func (all Settings) YAML(urls Setting) string {
	var b strings.Builder
	if len(urls.Values) > 0 {
		writeList(&b, KeyURLs, &urls)
	}
	for i := range all {
		s := all[i]
		kind := Text
		if k := KeyNamed(s.Name); k != nil {
			kind = k.Kind()
		}
		switch {
		case s.Name == keyHeader && len(s.Values) > 0: // secrets are left out: a job file can say where they are, such as env:NAME
			s = s.withoutSecrets()
			writeList(&b, s.Name, &s)
		case s.Name == keyHosts: // JSON, which is YAML on one line
			s = s.withoutSecrets()
			writeValue(&b, s.Name, one(s.Values), s.Origin)
		case s.Name == keyOverrides: // also JSON on one line
			writeValue(&b, s.Name, one(s.Values), s.Origin)
		case kind == Text:
			writeValue(&b, s.Name, plainScalar(one(s.Values)), s.Origin)
		case kind != List:
			writeValue(&b, s.Name, one(s.Values), s.Origin)
		case len(s.Values) == 0:
			writeValue(&b, s.Name, "[]", s.Origin)
		default:
			writeList(&b, s.Name, &s)
		}
	}
	return b.String()
}

func writeValue(b *strings.Builder, name, value, origin string) {
	fmt.Fprintf(b, "%-31s # %s\n", name+": "+value, origin)
}

func writeList(b *strings.Builder, name string, s *Setting) {
	fmt.Fprintf(b, "%-31s # %s\n", name+":", s.Origin)
	for _, v := range s.Values {
		fmt.Fprintf(b, "  - %s\n", plainScalar(v))
	}
}

// plainScalar returns s as a YAML scalar on one line, quoted if necessary.
func plainScalar(s string) string {
	out, err := yaml.Marshal(s)
	if text := strings.TrimSuffix(string(out), "\n"); err == nil && !strings.Contains(text, "\n") {
		return text
	}
	return fmt.Sprintf("%q", s) // Go's escapes are valid in YAML double quotes
}

// Split splits a text into values: at commas, for a list whose items contain none.
func (k *Key) Split(text string) []string {
	if k.Kind() != List || k.Name == keyHeader || k.Group == InScope && k.Name != "allow-address" {
		return []string{text}
	}
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
