package job

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
)

// File is a job file: keys and their values, as text.
type File struct {
	path    string
	alone   bool // the file is given as text, without a path, and must not read other files
	entries map[string]entry
}

// entry is the value of a key in a file.
type entry struct {
	line   int
	list   bool
	origin string   // origin of the values, from the comment after the key
	values []string // one value, unless list is set
}

// at formats a place in the file as PATH:LINE.
func (f *File) at(line int) string { return fmt.Sprintf("%s:%d", f.path, line) }

// FileError reports all errors in a job file.
type FileError struct{ Err error }

// Error returns the text of Err.
func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

// ReadFile reads a job file. The error is a [*FileError].
func ReadFile(path string) (*File, error) {
	b, err := safefile.ReadNamed(path, safefile.Settings)
	if err != nil {
		return nil, &FileError{fmt.Errorf("job file: %w", err)}
	}
	return parseFile(path, b)
}

// parseFile is like ReadFile, for a file that was already read.
func parseFile(path string, b []byte) (*File, error) {
	return (&File{path: path, entries: map[string]entry{}}).parsed(b)
}

// parsed parses the text of f, and returns f.
func (f *File) parsed(b []byte) (*File, error) {
	if err := f.parse(b); err != nil {
		return nil, &FileError{err}
	}
	return f, nil
}

func (f *File) parse(b []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // the file has only comments
	} else if err != nil {
		return fmt.Errorf("job file %s: %w", f.path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("job file %s: want one document", f.path)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: want lines of key: value, as in max-pages: 100", f.at(root.Line))
	}
	var errs []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		errs = append(errs, f.add(root.Content[i], root.Content[i+1]))
	}
	return errors.Join(errs...)
}

func (f *File) add(key, value *yaml.Node) error {
	name := key.Value
	switch name {
	case keyOverrides:
		return f.addOverrides(key, value)
	case keyHosts:
		return f.addHosts(key, value)
	}
	short := ShorthandNamed(name)
	if name != KeyURLs && KeyNamed(name) == nil && short == nil {
		return fmt.Errorf("%s: unknown key %s%s: the keys are the settings of a crawl", f.at(key.Line), name, didYouMean(name, KeyURLs))
	}
	if earlier, ok := f.entries[name]; ok {
		return fmt.Errorf("%s: key %s stands in line %d already", f.at(key.Line), name, earlier.line)
	}
	e := entry{line: key.Line, origin: comment(key, value)}
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		e.list, items = true, value.Content
	}
	for _, n := range items {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: %s: want a value or a list of values", f.at(n.Line), name)
		}
		if n.Tag == "!!null" {
			return fmt.Errorf("%s: %s has no value: give one, or none, or take the key away", f.at(n.Line), name)
		}
		e.values = append(e.values, n.Value)
	}
	if short == nil {
		f.entries[name] = e
		return nil
	}
	return f.expand(short, &e)
}

// expand adds the keys of a shorthand.
func (f *File) expand(short *Shorthand, e *entry) error {
	all, err := short.Expand(e.values...)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", f.at(e.line), short.Name, err)
	}
	if key := KeyNamed(short.Name); key != nil && key.Check(e.values...) == nil { // the file of a job uses the name for the key
		all = Settings{{Name: short.Name, Values: e.values}}
	}
	for i := range all {
		name := all[i].Name
		if earlier, ok := f.entries[name]; ok {
			return fmt.Errorf("%s: %s: key %s stands in line %d already", f.at(e.line), short.Name, name, earlier.line)
		}
		f.entries[name] = entry{line: e.line, list: KeyNamed(name).Kind() == List, origin: e.origin, values: all[i].Values}
	}
	return nil
}

// comment returns the comment after a key, or after its value.
func comment(key, value *yaml.Node) string {
	text := cmp.Or(value.LineComment, key.LineComment, value.HeadComment)
	if text == "" && len(value.Content) > 0 {
		text = value.Content[0].HeadComment
	}
	return strings.TrimSpace(strings.TrimLeft(text, "#"))
}

// suggest returns a hint with the known word most similar to the given one, or "" if none is similar.
func suggest(word string, known []string) string { return cli.DidYouMean(word, known) }

// Has reports whether the file has a key. A nil file has none.
func (f *File) Has(name string) bool {
	if f == nil {
		return false
	}
	_, ok := f.entries[name]
	return ok
}

// Get returns the value of a key, with its position in the file as its origin. isList reports whether it is a list in the file.
func (f *File) Get(name string) (s Setting, isList, ok bool) {
	if f == nil {
		return s, false, false
	}
	e, ok := f.entries[name]
	return Setting{Name: name, Values: e.values, Origin: f.at(e.line)}, e.list, ok
}

// Kept is like Get, but takes the origin from the comment after the key, in which a job's own file says where a value first came from.
func (f *File) Kept(name string) (s Setting, isList, ok bool) {
	s, isList, ok = f.Get(name)
	if ok {
		s.Origin = cmp.Or(f.entries[name].origin, s.Origin)
	}
	return s, isList, ok
}

// URLs returns the seeds in the file.
func (f *File) URLs() []string {
	s, _, _ := f.Get(KeyURLs)
	return s.Values
}

// Settings returns the settings of the file. Their origins are taken from the comments after the keys, in which a job's own file
// says where each value first came from.
func (f *File) Settings() (Settings, error) {
	var all Settings
	var errs []error
	for _, k := range keys {
		e, ok := f.entries[k.Name]
		if !ok {
			continue
		}
		if e.list && k.Kind() != List {
			errs = append(errs, fmt.Errorf("%s: %s: takes one value, not a list", f.at(e.line), k.Name))
		}
		s := Setting{Name: k.Name, Origin: cmp.Or(e.origin, f.at(e.line))}
		for _, v := range e.values {
			s.Values = append(s.Values, k.Split(v)...)
		}
		all = append(all, s)
	}
	return slices.Clip(all), errors.Join(errs...)
}
