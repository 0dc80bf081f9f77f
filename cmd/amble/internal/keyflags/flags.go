package keyflags

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
)

// shorts are the short names of flags.
var shorts = map[string]string{"depth": "d", "delay": "w", "concurrency": "c", "header": "H"}

// placeholders has the placeholders of values in help texts, for keys whose kind is not clear enough.
var placeholders = map[string]string{
	"agent": "NAME/VERSION", "contact": "URL|MAIL", "promises": "URL", "since": "DIR|FILE", "scope": "KIND", "sample": "N:SEED", "order": "ORDER", "include": "RE", "exclude": "RE", "accept": "TYPE", "rules": "RULE",
	"allow-address": "CIDR,...", "delay-factor": "F", "rate": "R", "own-hosts": "FILE", "opt-out": "FILE", "hours": "HH:MM-HH:MM,...",
	"proxy": "URL", "source-address": "IP", "allow-port": "PORT,...", "format": "jsonl,warc", "log-format": "FORM", "color": "WHEN",
	"header": "'NAME: VALUE'", "accept-language": "LANG", "load-cookies": "FILE", "cache": "DIR", "out": "DIR", "seeds": "FILE", "sign": "DIR", "render": "WHICH",
	"follow": "WHAT,...", "cookies": "FILE",
	"render-kinds": "KIND,...", "render-hosts": "WHICH", "browser": "PATH", "render-isolation": "HOW",
}

// placeholder returns the name of the key's value in help texts.
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

// Of returns flags for the keys and shorthands of these groups, under their titles. Package job alone defines their names, help texts,
// defaults and forms.
func Of(titles map[job.Group]string) kong.Plugins {
	var fields []reflect.StructField
	add := func(of reflect.Type, tag reflect.StructTag) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Key%d", len(fields)), Type: of, Tag: tag})
	}
	added := map[*job.Shorthand]bool{}
	for _, k := range job.Keys() {
		short, _ := job.ShorthandOf(k.Name)
		if short != nil && !added[short] {
			if title, ok := titles[short.Group]; ok {
				added[short] = true
				add(shortType(short), shortTag(short, title))
			}
		}
		title, ok := titles[k.Group]
		if !ok || k.Name == "overrides" || k.Name == "hosts" || job.ShorthandNamed(k.Name) != nil { // these keys have no flag, or get it elsewhere
			continue
		}
		add(typeOf(k), tagOf(k, title))
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// flagName returns the name of a key's flag, with hyphens.
func flagName(key string) string { return "--" + key }

// tagOf returns the struct tag of a key's flag, under this title.
func tagOf(k *job.Key, title string) reflect.StructTag {
	var tag strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&tag, "%s:%q ", name, value)
		}
	}
	add("name", k.Name)
	add("help", k.DocWith(flagName))
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
	if short, _ := job.ShorthandOf(k.Name); k.Seldom || short != nil {
		tag.WriteString(`hidden:"" `)
	}
	return reflect.StructTag(tag.String())
}

// typeOf returns the type of the value of a key's flag.
func typeOf(k *job.Key) reflect.Type {
	switch {
	case k.Kind() == job.Bool:
		return reflect.TypeFor[bool]()
	case isRule(k.Name):
		return reflect.TypeFor[patterns]()
	case k.Kind() == job.List:
		return reflect.TypeFor[Words]()
	}
	return reflect.TypeFor[word]()
}

// Document sets the help texts and defaults of flags in structs from the keys of the same names. It is a kong.PostBuild hook.
func Document(k *kong.Kong) error {
	for _, cmd := range k.Model.Leaves(false) {
		for _, f := range cmd.Flags {
			key := job.KeyNamed(f.Name)
			if key == nil || key.Freedom != job.Shown || f.Help != "" {
				continue
			}
			def := key.Default()
			f.Help = strings.ReplaceAll(key.DocWith(flagName), "${default}", def.Text())
			f.PlaceHolder = placeholder(key)
			if key.Kind() == job.Choice {
				f.Enum, f.Default, f.HasDefault = strings.Join(key.Choices(), ","), def.Text(), true
			}
		}
	}
	return nil
}

// HideFixed hides the flags of resume that cannot be changed: they exist only so that an error can say this. It is a kong.PostBuild hook.
func HideFixed(k *kong.Kong) error {
	for _, cmd := range k.Model.Children {
		for _, f := range cmd.Flags {
			key := job.KeyNamed(f.Name)
			if cmd.Name == "resume" && (key != nil && key.Freedom == job.Fixed && f.Name != "cookies" || f.Name == "follow" || f.Name == "out" || f.Name == "no-keep" || f.Name == "seeds" || f.Name == "config") {
				f.Hidden = true
			}
		}
	}
	return nil
}
