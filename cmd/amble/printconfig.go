package main

import (
	"encoding"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
)

// printConfig writes the configuration and nothing else.
func (a *app) printConfig(c *crawlCmd, o *origins) error {
	_, err := fmt.Fprint(a.out, configText(c, o))
	return err
}

// configText is every flag of a crawl with its value and origin, and the seeds, as a job file that
// describes the same crawl.
func configText(c *crawlCmd, o *origins) string {
	var b strings.Builder
	urls, origin := c.URLs, "flag"
	if len(urls) == 0 {
		urls, origin = o.file.urls(), o.file.at(o.file.entries[keyURLs].line)
	}
	if len(urls) > 0 {
		writeList(&b, keyURLs, urls, origin)
	}
	for _, f := range o.ctx.Selected().Flags {
		switch {
		case slices.Contains(unkeyed, f.Name), f.Name == "include", f.Name == "exclude":
		case f.Name == "rules":
			c.writeRules(&b, o)
		default:
			writeFlag(&b, f, o.origin(f.Name))
		}
	}
	return b.String()
}

// writeRules writes what the rules, includes and excludes come to: in three lists their order would
// be lost.
func (c *crawlCmd) writeRules(b *strings.Builder, o *origins) {
	var from, rules []string
	for _, flag := range []string{"rules", "include", "exclude"} {
		if o.given(flag) {
			from = append(from, flag+": "+o.origin(flag))
		}
	}
	if len(from) == 0 {
		from = []string{"default"}
	}
	for _, r := range c.ordered() {
		rules = append(rules, r.String())
	}
	writeList(b, "rules", rules, strings.Join(from, ", "))
}

func writeFlag(b *strings.Builder, f *kong.Flag, origin string) {
	switch v := f.Target.Interface().(type) {
	case words:
		writeList(b, f.Name, v, origin)
	case prefixes:
		list := make([]string, len(v))
		for i := range v {
			list[i] = v[i].String()
		}
		writeList(b, f.Name, list, origin)
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err != nil { // of a value that was read from text
			panic(err)
		}
		writeValue(b, f.Name, string(text), origin) // letters, digits and points
	case string:
		writeValue(b, f.Name, plainScalar(v), origin)
	default:
		writeValue(b, f.Name, fmt.Sprint(v), origin)
	}
}

func writeValue(b *strings.Builder, name, value, origin string) {
	fmt.Fprintf(b, "%-31s # %s\n", name+": "+value, origin)
}

func writeList(b *strings.Builder, name string, list []string, origin string) {
	if len(list) == 0 {
		writeValue(b, name, "[]", origin)
		return
	}
	fmt.Fprintf(b, "%-31s # %s\n", name+":", origin)
	for _, s := range list {
		fmt.Fprintf(b, "  - %s\n", plainScalar(s))
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
