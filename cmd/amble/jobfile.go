package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/internal/cli"
)

// keyURLs is the key of a job file that is no flag: the seeds.
const keyURLs = "urls"

// jobFile is a job file: flags of "amble crawl" by their names.
type jobFile struct {
	path    string
	entries map[string]jobEntry

	overrides   []jobOverride
	overridesAt int // line
}

type jobEntry struct {
	line   int
	list   bool
	origin string   // what the comment behind the key says
	values []string // one, unless list
}

// at is a place in the file.
func (j *jobFile) at(line int) string { return fmt.Sprintf("%s:%d", j.path, line) }

// jobError is everything wrong with a job file.
type jobError struct{ err error }

func (e *jobError) Error() string { return e.err.Error() }
func (e *jobError) Unwrap() error { return e.err }

// readJobFile reads a job file with no other keys than these. Its error is a *jobError.
func readJobFile(path string, keys []string) (*jobFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &jobError{fmt.Errorf("job file: %w", err)}
	}
	return parseJobFile(path, b, keys)
}

// parseJobFile is readJobFile of a file that was read.
func parseJobFile(path string, b []byte, keys []string) (*jobFile, error) {
	j := &jobFile{path: path, entries: map[string]jobEntry{}}
	if err := j.parse(b, keys); err != nil {
		return nil, &jobError{err}
	}
	return j, nil
}

func (j *jobFile) parse(b []byte, keys []string) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // nothing but comments
	} else if err != nil {
		return fmt.Errorf("job file %s: %w", j.path, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("job file %s: want one document", j.path)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: want lines of key: value, as in max-pages: 100", j.at(root.Line))
	}
	var errs []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		errs = append(errs, j.add(root.Content[i], root.Content[i+1], keys))
	}
	return errors.Join(errs...)
}

func (j *jobFile) add(key, value *yaml.Node, keys []string) error {
	name := key.Value
	if name == keyOverrides {
		return j.addOverrides(key, value)
	}
	if !slices.Contains(keys, name) {
		return fmt.Errorf("%s: unknown key %s%s: the keys are the flags of \"amble crawl\"", j.at(key.Line), name, cli.DidYouMean(name, keys))
	}
	if earlier, ok := j.entries[name]; ok {
		return fmt.Errorf("%s: key %s stands in line %d already", j.at(key.Line), name, earlier.line)
	}
	e := jobEntry{line: key.Line, origin: comment(key, value)}
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		e.list, items = true, value.Content
	}
	for _, n := range items {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: %s: want a value or a list of values", j.at(n.Line), name)
		}
		if n.Tag == "!!null" {
			return fmt.Errorf("%s: %s has no value: give one, or none, or take the key away", j.at(n.Line), name)
		}
		e.values = append(e.values, n.Value)
	}
	j.entries[name] = e
	return nil
}

// comment is what stands behind a key, or behind its value.
func comment(key, value *yaml.Node) string {
	text := cmp.Or(value.LineComment, key.LineComment, value.HeadComment)
	if text == "" && len(value.Content) > 0 {
		text = value.Content[0].HeadComment
	}
	return strings.TrimSpace(strings.TrimLeft(text, "#"))
}

// urls are the seeds that the file names.
func (j *jobFile) urls() []string { return j.entries[keyURLs].values }
