package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

var updateGoldens = flag.Bool("update", false, "rewrite what tests compare with: docs/job.schema.json, docs/terminal.svg")

const jobSchemaFile = "../../docs/job.schema.json"

// jobSchema represents the part of JSON Schema (draft 2020-12) that job.schema.json uses.
type jobSchema struct {
	Dialect     string                `json:"$schema,omitempty"`
	Title       string                `json:"title,omitempty"`
	Description string                `json:"description,omitempty"`
	Ref         string                `json:"$ref,omitempty"`
	Type        string                `json:"type,omitempty"`
	Const       string                `json:"const,omitempty"`
	Enum        []string              `json:"enum,omitempty"`
	Pattern     string                `json:"pattern,omitempty"`
	Format      string                `json:"format,omitempty"`
	Minimum     *float64              `json:"minimum,omitempty"`
	AnyOf       []*jobSchema          `json:"anyOf,omitempty"`
	Items       *jobSchema            `json:"items,omitempty"`
	Required    []string              `json:"required,omitempty"`
	Properties  map[string]*jobSchema `json:"properties,omitempty"`
	Closed      *bool                 `json:"additionalProperties,omitempty"`
	Defs        map[string]*jobSchema `json:"$defs,omitempty"`
}

// schemaOfKeys returns the schema of a job file, made from the keys.
func schemaOfKeys() *jobSchema {
	no, zero := false, 0.0
	text := &jobSchema{Type: "string"}
	orNone := func(s ...*jobSchema) *jobSchema { return &jobSchema{AnyOf: append(s, &jobSchema{Const: cli.None})} }
	s := &jobSchema{
		Dialect: "https://json-schema.org/draft/2020-12/schema", Title: "amble job file, version 1",
		Description: "A crawl as amble crawl --config takes it, and as job.yaml in a job directory holds it. The keys are the flags of amble crawl, and may all be left out.",
		Type:        "object", Closed: &no, Properties: map[string]*jobSchema{
			job.KeyURLs: {Description: "Seeds.", Ref: "#/$defs/list"},
			"hosts": {
				Description: job.KeyNamed("hosts").Doc,
				Type:        "array", Items: &jobSchema{Type: "object", Closed: &no, Required: []string{"match"}, Properties: map[string]*jobSchema{
					"match":     {Description: "A host such as www.site.test or www.site.test:8080, a domain with all below it such as *.site.test, or a range of addresses such as 192.0.2.0/24. Ranges come last, and have no headers and rules.", Type: "string", Pattern: "."},
					"delay":     {Description: "In the place of delay, if it is longer or the host is an own one.", Ref: "#/$defs/duration"},
					"max-pages": {Description: "Pages fetched from each host, in the place of max-per-host.", Ref: "#/$defs/count"},
					"max-bytes": {Description: "Bytes received from each host.", Ref: "#/$defs/size"},
					"max-time":  {Description: "Time from the first request to a host to the start of the last.", Ref: "#/$defs/duration"},
					"headers":   {Description: "Header fields of requests to these hosts, by name: a value, or a list of values; '@FILE' is the one line of a file, env:NAME an environment variable.", Type: "object"},
					"rules":     {Description: "Scope rules, as those of the key rules, before which they come.", Type: "array", Items: text},
				}},
			},
			"overrides": {
				Description: "Other rules in the place of single origins' robots.txt, for those who may. Every request that they let through says so in the ledger.",
				Type:        "array", Items: &jobSchema{Type: "object", Closed: &no, Required: []string{"origin", "reason"}, Properties: map[string]*jobSchema{
					"origin": {Description: "scheme://host[:port]", Type: "string", Pattern: "^https?://[^/]+$"},
					"reason": {Description: "Who allowed it, and why.", Type: "string", Pattern: "."},
					"body":   {Description: "The robots.txt to go by.", Type: "string"},
					"file":   {Description: "File that the robots.txt to go by is in, seen from the job file.", Type: "string"},
					"skip":   {Description: "Go by no rules at all; needs until.", Type: "boolean"},
					"until":  {Description: "When it ends.", Type: "string", Format: "date-time"},
				}},
			},
		},
		Defs: map[string]*jobSchema{
			"list":     {Description: "One value, or several.", AnyOf: []*jobSchema{text, {Type: "array", Items: text}}},
			"count":    orNone(&jobSchema{Type: "integer", Minimum: &zero}),
			"number":   orNone(&jobSchema{Type: "number", Minimum: &zero}),
			"duration": {Description: "Such as 500ms, 2s or 1m30s; a bare number is seconds.", AnyOf: []*jobSchema{{Type: "number", Minimum: &zero}, {Type: "string", Pattern: `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`}, {Const: cli.None}}},
			"size":     {Description: "Such as 500kB, 10MiB or 1GB; a bare number is bytes.", AnyOf: []*jobSchema{{Type: "number", Minimum: &zero}, {Type: "string", Pattern: `^[0-9.]+ ?([KMG]iB|[kKMG]?B)$`}, {Const: cli.None}}},
		},
	}
	for _, k := range job.Keys() {
		if k.Name != "overrides" && k.Name != "hosts" {
			s.Properties[k.Name] = schemaOfKey(k)
		}
	}
	for _, short := range job.Shorthands() {
		p := &jobSchema{Description: short.Doc, AnyOf: []*jobSchema{{Type: "boolean"}}}
		if !short.Bare || short.Name == "cookies" {
			p.AnyOf = append(p.AnyOf, &jobSchema{Ref: "#/$defs/list"})
		}
		if !short.Bare {
			p = &jobSchema{Description: short.Doc, Ref: "#/$defs/list"}
		}
		s.Properties[short.Name] = p
	}
	return s
}

func schemaOfKey(k *job.Key) *jobSchema {
	zero := 0.0
	def := k.Default()
	s := &jobSchema{Description: strings.ReplaceAll(k.DocWith(func(name string) string { return name }), "${default}", def.Text())}
	switch kind := k.Kind(); kind {
	case job.Size:
		if s.Ref = "#/$defs/size"; def.Text() == "auto" {
			s.Ref, s.AnyOf = "", []*jobSchema{{Ref: s.Ref}, {Const: def.Text()}}
		}
	case job.List, job.Count, job.Number, job.Duration:
		s.Ref = "#/$defs/" + string(kind)
	case job.Bool:
		s.Type = "boolean"
	case job.Whole:
		s.Type, s.Minimum = "integer", &zero
	case job.Choice:
		s.Enum = k.Choices()
		if !k.Spellings() {
			s.Type = "string"
		}
	default:
		s.Type = "string"
	}
	return s
}

// TestJobSchemaIsOfTheFlags compares the published schema of job files with the flags. After a change of flags,
//
//	go test ./cmd/amble -run JobSchema -update
//
// writes the schema again.
func TestJobSchemaIsOfTheFlags(t *testing.T) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schemaOfKeys()); err != nil {
		t.Fatal(err)
	}
	if *updateGoldens {
		if err := os.WriteFile(jobSchemaFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(jobSchemaFile)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("docs/job.schema.json is not of these flags (%v): go test ./cmd/amble -run JobSchema -update", err)
	}
	for name, p := range schemaOfKeys().Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

func readJobSchema(t *testing.T) *jobSchema {
	t.Helper()
	b, err := os.ReadFile(jobSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	s := new(jobSchema)
	if err := json.Unmarshal(b, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPrintedConfigFollowsTheSchema prints random configurations, and validates them against the schema.
func TestPrintedConfigFollowsTheSchema(t *testing.T) {
	t.Parallel()
	s := readJobSchema(t)
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		args := []string{"http://127.0.0.1/"}
		for _, i := range r.Perm(len(someFlags))[:r.IntN(len(someFlags))] {
			args = append(args, someFlags[i])
		}
		_, o := parsed(t, nil, args...)
		for _, wrong := range s.validate(s, "job", anyYAML(t, o.Settings().YAML(job.Setting{Values: []string{"http://127.0.0.1/"}}))) {
			t.Errorf("%v: %s", args, wrong)
		}
	}
}

// TestJobFollowsTheSchema validates the job file that a crawl with overrides writes to its job directory.
func TestJobFollowsTheSchema(t *testing.T) {
	t.Parallel()
	s := readJobSchema(t)
	srv := httptest.NewServer(page("Home"))
	defer srv.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "in.yaml")
	text := fmt.Sprintf("urls: [%s/]\ndelay: 0\nhosts: [{match: a.test, max-pages: 5, max-bytes: 2MB, max-time: 1h, headers: {X-Key: secret}, rules: [exclude /x/]}]\noverrides:\n  - {origin: %q, reason: ours, skip: true, until: 2090-01-02}\n", srv.URL, srv.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("amble", "crawl", "-q", "--config", config, "-o", filepath.Join(dir, "job")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "job", "job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range append(s.validate(s, "job", anyYAML(t, string(kept))), s.validate(s, "in", anyYAML(t, text))...) {
		t.Error(wrong)
	}
}

// TestSchemaRefusesWhatTheCommandRefuses checks that the schema and the command accept the same lines, and refuse the same lines.
func TestSchemaRefusesWhatTheCommandRefuses(t *testing.T) {
	t.Parallel()
	s := readJobSchema(t)
	path := filepath.Join(t.TempDir(), "job.yaml")
	for text, good := range map[string]bool{
		"depth: 3": true, "depth: none": true, "depth: three": false, "depth: -1": false, "depths: 3": false,
		"delay: 2s": true, "delay: 1.5": true, "delay: fast": false, "max-body: 10MiB": true, "max-body: 10XB": false,
		"scope: domain": true, "scope: planet": false, "format: warc": true, "format: [jsonl, warc]": true, "format: {a: 1}": false,
		"urls: http://127.0.0.1/": true, "sitemaps: true": true, "sitemaps: maybe": false, "dialect: RFC9309": true,
		"dialect: mine": false, "canonical: usual": true, "canonical: best": false, "overrides: []": true, "overrides: x": false,
		"overrides: [{origin: http://a, reason: b, way: c}]": false,
		"hosts: []": true, "hosts: [{match: a.test, delay: 5s, max-pages: 3, headers: {Accept-Language: de}, rules: [exclude /x/]}]": true,
		"hosts: [{delay: 5s}]": false, "hosts: [{match: a.test, wait: 5s}]": false, "hosts: [{match: a.test, max-pages: many}]": false, "hosts: a.test": false,
	} {
		wrong := s.validate(s, "job", anyYAML(t, text))
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a, _, errs := testApp(nil)
		code := a.run([]string{"crawl", "--config", path, "--print-config"})
		if (len(wrong) == 0) != good || (code == cli.ExitDone) != good {
			t.Errorf("%s: the schema says %q, the command %d %s", text, wrong, code, errs)
		}
	}
}

func anyYAML(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// validate returns descriptions of the ways in which the value v at the path at violates p.
func (s *jobSchema) validate(p *jobSchema, at string, v any) (wrong []string) {
	if p.Ref != "" {
		p = s.Defs[strings.TrimPrefix(p.Ref, "#/$defs/")]
	}
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, at+": "+fmt.Sprintf(format, args...))
		}
	}
	if len(p.AnyOf) > 0 {
		bad(slices.ContainsFunc(p.AnyOf, func(q *jobSchema) bool { return len(s.validate(q, at, v)) == 0 }), "%v is none of what it may be", v)
		return wrong
	}
	text, isText := v.(string)
	bad(p.Const == "" || text == p.Const, "%v is not %s", v, p.Const)
	bad(len(p.Enum) == 0 || slices.Contains(p.Enum, text), "%v is none of %q", v, p.Enum)
	bad(p.Pattern == "" || !isText || regexp.MustCompile(p.Pattern).MatchString(text), "%q does not match %s", v, p.Pattern)
	number, isNumber := numberOf(v)
	bad(p.Minimum == nil || !isNumber || number >= *cmp.Or(p.Minimum, new(float64)), "%v is too small", v)
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	_, isBool := v.(bool)
	_, isDate := v.(interface{ IsZero() bool })
	is := map[string]bool{
		"": true, "string": isText || isDate, "number": isNumber, "integer": isNumber && number == float64(int64(number)),
		"boolean": isBool, "object": isObject, "array": isList,
	}
	bad(is[p.Type], "%v is no %s", v, p.Type)
	if p.Items == nil {
		list = nil
	}
	for i, x := range list {
		wrong = append(wrong, s.validate(p.Items, fmt.Sprintf("%s[%d]", at, i), x)...)
	}
	for _, name := range p.Required {
		_, ok := object[name]
		bad(ok, "%s is missing", name)
	}
	if p.Properties == nil {
		return wrong
	}
	for name, x := range object {
		if p.Properties[name] == nil {
			bad(false, "%s is unknown", name)
			continue
		}
		wrong = append(wrong, s.validate(p.Properties[name], at+"."+name, x)...)
	}
	return wrong
}

func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
