package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// The flags of a crawl are made from the keys of package job: their names, helps, defaults and forms are defined only there.

// crawlGroups are the groups of keys that describe a crawl, as its help heads them.
var crawlGroups = map[job.Group]string{
	job.Who: "Who crawls:", job.Reach: "What:", job.InScope: "What:", job.Pace: "How politely:", job.Amount: "How much:",
	job.State: "Which way:", job.Network: "Which way:", job.Output: "Output:",
}

// configFlag names the job file.
type configFlag struct {
	Config string `placeholder:"FILE" help:"Job file (YAML): these flags' names as keys."`
}

// outputFlags are shared by the commands that crawl.
type outputFlags struct {
	JSON      bool
	Quiet     bool `short:"q"`
	Verbose   bool `short:"v"`
	LogFormat string
	Color     string
}

// shorts are the short names of flags.
var shorts = map[string]string{"depth": "d", "delay": "w", "concurrency": "c"}

// placeholders are what the values of flags are called, where their kind does not say.
var placeholders = map[string]string{
	"agent": "NAME/VERSION", "contact": "URL|MAIL", "since": "DIR|FILE", "scope": "KIND", "include": "RE", "exclude": "RE", "rules": "RULE",
	"allow-address": "CIDR,...", "delay-factor": "F", "rate": "R", "own-hosts": "FILE", "opt-out": "FILE", "hours": "HH:MM-HH:MM,...",
	"proxy": "URL", "source-address": "IP", "allow-port": "PORT,...", "format": "jsonl,warc", "log-format": "FORM", "color": "WHEN",
	"out": "DIR", "seeds": "FILE",
}

// placeholder is what a value of the key is called.
func placeholder(k *job.Key) string {
	if p, ok := placeholders[k.Name]; ok {
		return p
	}
	switch k.Kind() {
	case job.Whole, job.Count:
		return "N"
	case job.Duration:
		return "D"
	case job.Size:
		return "SIZE"
	}
	return ""
}

// keyFlags are flags for the keys of these groups, under their titles.
func keyFlags(titles map[job.Group]string) kong.Plugins {
	var fields []reflect.StructField
	for _, k := range job.Keys() {
		title, ok := titles[k.Group]
		if !ok || k.Name == "overrides" { // which is no flag
			continue
		}
		var tag strings.Builder
		add := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&tag, "%s:%q ", name, value)
			}
		}
		add("name", k.Name)
		add("help", k.Doc)
		add("group", title)
		add("short", shorts[k.Name])
		add("placeholder", placeholder(k))
		def := k.Default()
		if k.Kind() != job.Bool {
			add("default", def.Text())
		}
		if !k.Spellings() {
			add("enum", strings.Join(k.Choices(), ","))
		}
		if k.Seldom {
			tag.WriteString(`hidden:"" `)
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Key%d", len(fields)), Type: typeOf(k), Tag: reflect.StructTag(tag.String())})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// typeOf is the type of the value of a key's flag.
func typeOf(k *job.Key) reflect.Type {
	switch {
	case k.Kind() == job.Bool:
		return reflect.TypeFor[bool]()
	case isRule(k.Name):
		return reflect.TypeFor[patterns]()
	case k.Kind() == job.List:
		return reflect.TypeFor[words]()
	}
	return reflect.TypeFor[word]()
}

// word is the value of a flag, in the form that its key wants.
type word string

// Decode implements kong.MapperValue.
func (v *word) Decode(ctx *kong.DecodeContext) error {
	var s string
	if err := ctx.Scan.PopValueInto("value", &s); err != nil {
		return err
	}
	*v = word(s)
	if k := job.KeyNamed(ctx.Value.Name); k.Kind() != job.Choice || k.Spellings() { // of others kong knows the words
		return k.Check(s)
	}
	return nil
}

// words is the value of a flag that takes several words, each with a comma or an occurrence of its own.
type words []string

// Decode implements kong.MapperValue.
func (w *words) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("value")
	if err != nil {
		return err
	}
	raw, ok := t.Value.(below)
	if !ok {
		raw = below{fmt.Sprint(t.Value)}
	}
	k := job.KeyNamed(ctx.Value.Name)
	for _, s := range raw {
		if k == nil { // a flag that is no key
			*w = append(*w, strings.Split(s, ",")...)
			continue
		}
		*w = append(*w, k.Split(s)...)
	}
	if k == nil {
		return nil
	}
	return k.Check(*w...)
}

// documented gives the flags of structs the helps and defaults of their keys.
func documented(k *kong.Kong) error {
	for _, cmd := range k.Model.Children {
		for _, f := range cmd.Flags {
			key := job.KeyNamed(f.Name)
			if key == nil || key.Freedom != job.Shown || f.Help != "" {
				continue
			}
			def := key.Default()
			f.Help = strings.ReplaceAll(key.Doc, "${default}", def.Text())
			f.PlaceHolder = placeholder(key)
			if key.Kind() == job.Choice {
				f.Enum, f.Default, f.HasDefault = strings.Join(key.Choices(), ","), def.Text(), true
			}
		}
	}
	return nil
}

// settings are the settings of the crawl that the command line, the environment and the files describe.
func (o *origins) settings() job.Settings {
	flags := map[string]*kong.Flag{}
	for _, f := range o.ctx.Selected().Flags {
		flags[f.Name] = f
	}
	var all job.Settings
	for _, k := range job.Keys() {
		f := flags[k.Name]
		switch {
		case k.Name == "overrides":
			all = append(all, o.overrides(k))
		case f == nil, k.Name == "include", k.Name == "exclude":
		case k.Name == "rules":
			all = append(all, o.rules(flags))
		default:
			all = append(all, job.Setting{Name: k.Name, Values: k.Normal(valuesOf(f)), Origin: o.origin(k.Name)})
		}
	}
	return all
}

// valuesOf is the value of a flag as text.
func valuesOf(f *kong.Flag) []string {
	if w, ok := f.Target.Interface().(words); ok {
		return w
	}
	return []string{fmt.Sprint(f.Target.Interface())}
}

// overrides are those of the job file, or else of the job that is resumed.
func (o *origins) overrides(k *job.Key) job.Setting {
	for _, f := range []*job.File{o.file, o.job} {
		if s, _, ok := f.Get(k.Name); ok {
			return s
		}
	}
	return k.Default()
}

// rules merges rules, includes and excludes: in three lists their order would be lost.
func (o *origins) rules(flags map[string]*kong.Flag) job.Setting {
	s := job.Setting{Name: "rules", Origin: "default"}
	var from []string
	var lists []patterns
	for _, name := range ruleFlags {
		if o.given(name) {
			from = append(from, name+": "+o.origin(name))
		}
		p, _ := flags[name].Target.Interface().(patterns)
		lists = append(lists, p)
	}
	switch {
	case len(from) == 1 && o.given("rules") && o.job != nil:
		s.Origin = o.origin("rules") // which says of which flags they were made
	case len(from) > 0:
		s.Origin = strings.Join(from, ", ")
	}
	s.Values = ordered(lists)
	return s
}

// config is the crawl that the settings describe.
func (o *origins) config() (job.Config, error) {
	c, err := o.settings().Config()
	return c, flagErrors(err)
}

// flagErrors is an error in terms of flags: what is wrong with a key is reported for its flag.
func flagErrors(err error) error {
	var of *job.Error
	if errors.As(err, &of) && of.Kind == job.Storage {
		return cli.Exit(cli.ExitOutput, err)
	}
	all := leaves(err)
	if len(all) == 0 {
		return nil
	}
	for i, err := range all {
		var key *job.KeyError
		if errors.As(err, &key) {
			all[i] = fmt.Errorf("--%w", err)
		} else {
			all[i] = cli.UsageOf("", err)
		}
	}
	return cli.Exit(cli.ExitUsage, errors.Join(all...))
}

// leaves are the errors that err is joined of.
func leaves(err error) (all []error) {
	if err == nil {
		return nil
	}
	if of, ok := err.(*job.Error); ok { //nolint:errorlint // one that is wrapped has a text of its own around it
		return leaves(of.Err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	return []error{err}
}
