package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// printConfig writes the configuration and nothing else.
func (a *app) printConfig(c *crawlCmd, o *origins) error {
	_, err := fmt.Fprint(a.out, configText(c.described(o)))
	return err
}

// described is the settings and the seeds that were given one by one.
func (c *crawlCmd) described(o *origins) []setting {
	urls := setting{name: keyURLs, list: c.URLs, isList: true, origin: "flag"}
	if len(urls.list) == 0 {
		urls.list, urls.origin = o.file.urls(), o.file.at(o.file.entries[keyURLs].line)
	}
	if len(urls.list) == 0 {
		return c.settings(o)
	}
	return append([]setting{urls}, c.settings(o)...)
}

// configText is settings with their values and origins, as a job file that describes the same crawl.
func configText(all []setting) string {
	var b strings.Builder
	for _, s := range all {
		switch {
		case s.quote:
			writeValue(&b, s.name, plainScalar(s.value), s.origin)
		case !s.isList:
			writeValue(&b, s.name, s.value, s.origin)
		case len(s.list) == 0:
			writeValue(&b, s.name, "[]", s.origin)
		default:
			writeList(&b, &s)
		}
	}
	return b.String()
}

func writeValue(b *strings.Builder, name, value, origin string) {
	fmt.Fprintf(b, "%-31s # %s\n", name+": "+value, origin)
}

func writeList(b *strings.Builder, s *setting) {
	fmt.Fprintf(b, "%-31s # %s\n", s.name+":", s.origin)
	for _, v := range s.list {
		fmt.Fprintf(b, "  - %s\n", plainScalar(v))
	}
}

// plainScalar is s as a YAML scalar on one line, quoted where it has to be.
func plainScalar(s string) string {
	out, err := yaml.Marshal(s)
	if text := strings.TrimSuffix(string(out), "\n"); err == nil && !strings.Contains(text, "\n") {
		return text
	}
	return fmt.Sprintf("%q", s) // YAML's double quotes take the escapes that Go writes
}
