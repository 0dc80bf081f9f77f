package docs_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

// schema is the part of JSON Schema (draft 2020-12) that visit.schema.json uses.
type schema struct {
	Dialect     string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Ref         string             `json:"$ref"`
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Const       *string            `json:"const"`
	Enum        []string           `json:"enum"`
	Pattern     string             `json:"pattern"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Defs        map[string]*schema `json:"$defs"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	b, err := os.ReadFile("visit.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields() // refuse keywords that the checks below would ignore
	s := new(schema)
	if err := dec.Decode(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaHasTheFieldsOfRecord compares the schema with the type of the written records.
func TestSchemaHasTheFieldsOfRecord(t *testing.T) {
	s := readSchema(t)
	compareFields(t, s, s, "visit", reflect.TypeFor[sink.Record]())
	if c := s.Properties["schema"].Const; c == nil || *c != sink.Schema {
		t.Errorf("schema is %v, want %s", c, sink.Schema)
	}
}

// compareFields checks that an object of the schema has the properties of a struct, with matching types, and requires those that are always
// written.
func compareFields(t *testing.T, root, s *schema, at string, typ reflect.Type) {
	t.Helper()
	var always, names []string
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		names = append(names, name)
		if opts == "" {
			always = append(always, name)
		}
		p := s.Properties[name]
		if p == nil {
			t.Errorf("%s.%s is not in the schema", at, name)
			continue
		}
		if p.Description == "" {
			t.Errorf("%s.%s has no description", at, name)
		}
		d := root.deref(p)
		if want := jsonType(f.Type); p.Const == nil && len(p.Enum) == 0 && d.Type != want {
			t.Errorf("%s.%s has type %q, want %q", at, name, d.Type, want)
		}
		if d.Type == "array" {
			d = root.deref(d.Items)
		}
		if d.Type == "object" {
			compareFields(t, root, d, at+"."+name, f.Type.Elem())
		}
	}
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s.%s is not written", at, name)
		}
	}
	slices.Sort(always)
	if required := slices.Sorted(slices.Values(s.Required)); !slices.Equal(required, always) {
		t.Errorf("%s requires %v, always written are %v", at, required, always)
	}
}

func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time](), t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return "integer"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Slice:
		return "array"
	case t.Kind() == reflect.Pointer:
		return "object"
	}
	return "unknown: " + t.String()
}

func (s *schema) deref(p *schema) *schema {
	if p.Ref == "" {
		return p
	}
	return s.Defs[strings.TrimPrefix(p.Ref, "#/$defs/")]
}

// TestSchemaNamesTheOutcomes compares the schema with the constants of package crawler.
func TestSchemaNamesTheOutcomes(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "crawler", "visit.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Outcome" {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, s)
		}
		return true
	})
	if enum := readSchema(t).Properties["outcome"].Enum; !slices.Equal(enum, outcomes) {
		t.Errorf("the schema has %v, the package %v", enum, outcomes)
	}
}

// TestVisitsFollowTheSchema crawls a site with one page for each case, and validates each line.
func TestVisitsFollowTheSchema(t *testing.T) {
	s := readSchema(t)
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		site := w.Site("https://site.example")
		site.Robots("User-agent: *\nDisallow: /private\nSitemap: /map.xml\n").Forbids("/private")
		site.Page("/map.xml", `<urlset><url><loc>https://site.example/listed</loc></url></urlset>`).Type("application/xml")
		site.Page("/listed", "<p>Listed.").Header("X-Robots-Tag", "noarchive").Header("Content-Usage", "train-ai=n")
		site.Page("/", `<title>T</title><meta name=robots content=noindex><link rel=canonical href=/>
			<a href=/private>x</a><a href=/moved>x</a><a href=/leaves>x</a><a href=/gone>x</a><a href=/hangs>x</a>
			<a href=/a/a/a/a/a>x</a><a href=mailto:x>x</a><a href=https://other.example/>x</a><a rel=nofollow href=/n>x</a>
			<a href=/same-1>x</a><a href=/same-2>x</a><a href=/same-3>x</a>`)
		for _, path := range []string{"/same-1", "/same-2", "/same-3"} {
			site.Page(path, "the same everywhere")
		}
		site.Redirect("/moved", "/trap/trap/trap/trap")
		site.Redirect("/leaves", "https://other.example/")
		site.Page("/hangs", "").Fault(crawltest.Hang())
		site.Page("/picture", "\x89PNG\r\n\x1a\n").Type("image/png")
		site.Page("/same", "").Status(304).Header("ETag", `"1"`)
		down := w.Site("https://down.example").Fault(crawltest.Refuse())
		var out bytes.Buffer
		crawl(t, w, &out, site.URL("/"), site.URL("/picture"), site.URL("/same"), down.URL("/"), "https://nowhere.example/")
		outcomes := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range s.validate(s, "visit", v) {
				t.Errorf("%s: %s", v["url"], wrong)
			}
			outcomes[fmt.Sprint(v["outcome"])] = true
		}
		for _, o := range s.Properties["outcome"].Enum {
			if !outcomes[o] {
				t.Errorf("no visit is %s, so nothing was tested of it", o)
			}
		}
	})
}

// crawl runs a crawl of w that writes its visits to out.
func crawl(t *testing.T, w *crawltest.Web, out *bytes.Buffer, seeds ...string) {
	t.Helper()
	const contact = "https://lab.university.edu/crawl"
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
	const before = `{"schema":"amble.visit/1","url":"https://site.example/same","outcome":"fetched","status":200,"etag":"\"1\""}`
	past, err := crawler.ReadHistory(strings.NewReader(before), 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := crawler.Config{Contact: contact, Follow: crawler.Follow{Sitemaps: true}, Duplicates: crawler.Duplicates{Same: 1}, Since: past, Sinks: []sink.Sink{sink.NewJSONL(out)}}
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		return errors.Join(v.Emit(v.Depth), v.Emit(map[string][]string{"hops": v.Hops}))
	})
	w.Apply(&cfg)
	c, err := crawler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), seeds...); err != nil {
		t.Fatal(err)
	}
}

// validate returns the ways in which v violates p.
func (s *schema) validate(p *schema, at string, v any) []string {
	if p = s.deref(p); reflect.DeepEqual(*p, schema{Description: p.Description}) {
		return nil // any value is valid
	}
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	switch v := v.(type) {
	case string:
		switch {
		case p.Const == nil && len(p.Enum) == 0 && p.Type != "string":
			bad("is a string")
		case p.Const != nil && *p.Const != v, len(p.Enum) > 0 && !slices.Contains(p.Enum, v), !regexp.MustCompile(p.Pattern).MatchString(v):
			bad("%q is not allowed", v)
		}
		if _, err := time.Parse(time.RFC3339, v); p.Format == "date-time" && err != nil {
			bad("%v", err)
		}
	case float64:
		if p.Type != "integer" || v != float64(int64(v)) || v < *cmp.Or(p.Minimum, &v) || v > *cmp.Or(p.Maximum, &v) {
			bad("%v is not allowed", v)
		}
	case []any:
		if p.Type != "array" {
			bad("is a list")
			break
		}
		for i, x := range v {
			wrong = append(wrong, s.validate(p.Items, fmt.Sprintf("%s[%d]", at, i), x)...)
		}
	case map[string]any:
		for _, name := range p.Required {
			if _, ok := v[name]; !ok {
				bad("%s is missing", name)
			}
		}
		for name, x := range v {
			if p.Properties[name] == nil {
				bad("%s is unknown", name)
				continue
			}
			wrong = append(wrong, s.validate(p.Properties[name], at+"."+name, x)...)
		}
	default:
		bad("%T is not allowed", v)
	}
	return wrong
}
