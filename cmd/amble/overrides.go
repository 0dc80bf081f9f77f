package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
)

// keyOverrides is a key of the job file that is no flag: what replaces the robots.txt of single
// origins. It takes a few lines that somebody can be asked about.
const keyOverrides = "overrides"

// jobOverride is an override as it stands in a job file.
type jobOverride struct {
	Origin string    `yaml:"origin" json:"origin"`
	Reason string    `yaml:"reason" json:"reason"`
	Body   string    `yaml:"body,omitempty" json:"body,omitempty"`
	File   string    `yaml:"file,omitempty" json:"-"` // that Body is in
	Skip   bool      `yaml:"skip,omitempty" json:"skip,omitempty"`
	Until  time.Time `yaml:"until,omitempty" json:"until,omitzero"`
}

// addOverrides reads the key's value.
func (j *jobFile) addOverrides(key, value *yaml.Node) error {
	if j.overrides != nil {
		return fmt.Errorf("%s: key %s stands there twice", j.at(key.Line), keyOverrides)
	}
	j.overridesAt = key.Line
	if value.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: %s: want a list of origin, reason, and body, file or skip", j.at(value.Line), keyOverrides)
	}
	j.overrides = []jobOverride{}
	for _, n := range value.Content {
		if n.Kind != yaml.MappingNode {
			return fmt.Errorf("%s: %s: want a list of origin, reason, and body, file or skip", j.at(n.Line), keyOverrides)
		}
		for i := 0; i < len(n.Content); i += 2 {
			switch name := n.Content[i].Value; name {
			case "origin", "reason", "body", "file", "skip", "until":
			default:
				return fmt.Errorf("%s: %s: unknown key %s%s", j.at(n.Content[i].Line), keyOverrides, name,
					cli.DidYouMean(name, []string{"origin", "reason", "body", "file", "skip", "until"}))
			}
		}
	}
	if err := value.Decode(&j.overrides); err != nil {
		return fmt.Errorf("%s: %s: %w", j.at(value.Line), keyOverrides, err)
	}
	return j.readBodies()
}

// readBodies reads the files that overrides name, from beside the job file.
func (j *jobFile) readBodies() error {
	var errs []error
	for i := range j.overrides {
		o := &j.overrides[i]
		if o.File == "" {
			continue
		}
		if o.Body != "" {
			errs = append(errs, fmt.Errorf("%s: %s: %s has both body and file", j.at(j.overridesAt), keyOverrides, o.Origin))
		}
		path := o.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(j.path), path)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", j.at(j.overridesAt), keyOverrides, err))
		}
		o.Body, o.File = string(b), ""
	}
	return errors.Join(errs...)
}

// overrides are those of the job file, or else of the job that is gone on with.
func (o *origins) overrides() (list []jobOverride, from string) {
	if o.file.overrides != nil {
		return o.file.overrides, o.file.at(o.file.overridesAt)
	}
	return o.job.overrides, cmp.Or(o.job.at(o.job.overridesAt), "default")
}

// policyOverrides are the overrides as the gate takes them.
func (o *origins) policyOverrides() []politeness.Override {
	list, _ := o.overrides()
	var res []politeness.Override
	for _, v := range list {
		res = append(res, politeness.Override{Origin: v.Origin, Body: v.Body, Skip: v.Skip, Reason: v.Reason, Until: v.Until})
	}
	return res
}

// overridesSetting is the setting that the overrides make.
func (o *origins) overridesSetting() setting {
	list, from := o.overrides()
	s := setting{name: keyOverrides, value: "[]", origin: from}
	if list == nil {
		s.origin = "default"
	}
	if len(list) == 0 {
		return s
	}
	b, err := json.Marshal(list)
	if err != nil { // strings and times alone; a year beyond 9999 was refused when it was read
		panic(err)
	}
	s.value = string(b) // JSON is YAML, on one line
	return s
}
