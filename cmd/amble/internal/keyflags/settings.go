package keyflags

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
)

// Settings returns the settings of the crawl from the command line, the environment and the files.
func (o *Origins) Settings() job.Settings {
	flags := map[string]*kong.Flag{}
	for _, f := range o.Flags() {
		flags[f.Name] = f
	}
	var all job.Settings
	for _, k := range job.Keys() {
		f := flags[k.Name]
		switch {
		case k.Name == "overrides", k.Name == "hosts":
			all = append(all, o.records(k))
		case f == nil, k.Name == "include", k.Name == "exclude", k.Name == "accept":
		case k.Name == "promises" && o.job == nil && !o.Given(k.Name): // only in a new job: an existing one keeps its value
			all = append(all, job.Setting{Name: k.Name, Values: []string{politeness.PromisesPage}, Origin: "amble"})
		case k.Name == "rules":
			all = append(all, o.rules(flags))
		case job.ShorthandNamed(k.Name) != nil:
			s, ok := expanded(job.ShorthandNamed(k.Name), k.Name, valuesOf(f))
			if !ok {
				s = k.Default()
			}
			all = append(all, job.Setting{Name: k.Name, Values: s.Values, Origin: o.Origin(k.Name)})
		default:
			all = append(all, job.Setting{Name: k.Name, Values: k.Normal(valuesOf(f)), Origin: o.Origin(k.Name)})
		}
	}
	return all
}

// JobConfig returns the settings whose values come from the job, as a configuration. It always includes the rendering mode, because the
// job's browser depends on it.
func (o *Origins) JobConfig() job.Config {
	var all job.Settings
	for _, s := range o.Settings() {
		records := (s.Name == "hosts" || s.Name == "overrides") && !o.file.Has(s.Name) && o.job.Has(s.Name)
		if records || o.ours[s.Name] || s.Name == "render" {
			all = append(all, s)
		}
	}
	c, _ := all.Config() // errors in settings are reported elsewhere
	return c
}

// valuesOf returns the value of a flag as text.
func valuesOf(f *kong.Flag) []string {
	switch v := f.Target.Interface().(type) {
	case Words:
		return v
	case optionalWords:
		return v
	}
	return []string{fmt.Sprint(f.Target.Interface())}
}

// records returns a setting that has no flag: from the job file, otherwise from the job that is resumed.
func (o *Origins) records(k *job.Key) job.Setting {
	for _, f := range []*job.File{o.file, o.job} {
		if s, _, ok := f.Get(k.Name); ok {
			return s
		}
	}
	return k.Default()
}

// rules merges the flags for scope rules into one setting, because their order across flags matters.
func (o *Origins) rules(flags map[string]*kong.Flag) job.Setting {
	s := job.Setting{Name: "rules", Origin: "default"}
	var from []string
	var lists []patterns
	for _, name := range ruleFlags {
		if o.Given(name) {
			from = append(from, name+": "+o.Origin(name))
		}
		p, _ := flags[name].Target.Interface().(patterns)
		lists = append(lists, p)
	}
	switch {
	case len(from) == 1 && o.Given("rules") && o.job != nil:
		s.Origin = o.Origin("rules") // origin as recorded in the job
	case len(from) > 0:
		s.Origin = strings.Join(from, ", ")
	}
	s.Values = ordered(lists)
	return s
}

// Config returns the crawl that the settings describe. Errors are in terms of flags.
func (o *Origins) Config() (job.Config, error) {
	c, err := o.Settings().Config()
	return c, Errors(err)
}
