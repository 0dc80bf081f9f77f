package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness"
)

// override replaces the robots.txt of one origin, as written in a job file: a few lines for which the operator takes
// responsibility. As the text of a setting it is JSON.
type override struct {
	politeness.Override `yaml:",inline"`

	File string `json:"-"` // the file that contains Body
}

// readOverrides parses overrides from the text of the setting.
func readOverrides(v []string) ([]politeness.Override, error) {
	var list []politeness.Override
	err := json.Unmarshal([]byte(one(v)), &list)
	return list, err
}

// overridesText returns overrides as the text of the setting.
func overridesText(all []politeness.Override) []string {
	if all == nil {
		all = []politeness.Override{} // [], not null
	}
	b, err := json.Marshal(all)
	if err != nil { // marshalling strings and times cannot fail: years beyond 9999 are refused earlier
		panic(err)
	}
	return []string{string(b)}
}

// addOverrides reads the key's value in a job file.
func (f *File) addOverrides(key, value *yaml.Node) error {
	if earlier, ok := f.entries[keyOverrides]; ok {
		return fmt.Errorf("%s: key %s stands in line %d already", f.at(key.Line), keyOverrides, earlier.line)
	}
	if value.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: %s: want a list of origin, reason, and body, file or skip", f.at(value.Line), keyOverrides)
	}
	for _, n := range value.Content {
		if err := f.checkOverride(n); err != nil {
			return err
		}
	}
	list := []override{}
	if err := value.Decode(&list); err != nil {
		return fmt.Errorf("%s: %s: %w", f.at(value.Line), keyOverrides, err)
	}
	err := f.readBodies(list, key.Line)
	b, jsonErr := json.Marshal(list)
	f.entries[keyOverrides] = entry{line: key.Line, values: []string{string(b)}, origin: comment(key, value)}
	return errors.Join(err, jsonErr)
}

// checkOverride reports unknown keys of an override.
func (f *File) checkOverride(n *yaml.Node) error {
	known := []string{"origin", "reason", "body", "file", "skip", "until"}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: %s: want a list of origin, reason, and body, file or skip", f.at(n.Line), keyOverrides)
	}
	for i := 0; i < len(n.Content); i += 2 {
		if name := n.Content[i].Value; !slices.Contains(known, name) {
			return fmt.Errorf("%s: %s: unknown key %s%s", f.at(n.Content[i].Line), keyOverrides, name, suggest(name, known))
		}
	}
	return nil
}

// readBodies reads the files that overrides name, relative to the job file.
func (f *File) readBodies(list []override, line int) error {
	var errs []error
	for i := range list {
		o := &list[i]
		if o.File == "" {
			continue
		}
		if o.Body != "" {
			errs = append(errs, fmt.Errorf("%s: %s: %s has both body and file", f.at(line), keyOverrides, o.Origin))
		}
		if f.alone {
			errs = append(errs, fmt.Errorf("%s: %s: %s: a file is not possible here: give its text as body", f.at(line), keyOverrides, o.Origin))
			continue
		}
		path := o.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(f.path), path)
		}
		b, err := safefile.ReadNamed(path, safefile.Settings)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", f.at(line), keyOverrides, err))
		}
		o.Body, o.File = string(b), ""
	}
	return errors.Join(errs...)
}
