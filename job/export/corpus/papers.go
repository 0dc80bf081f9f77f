package corpus

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
)

// Names of the documents.
const (
	sheetName     = "DATASHEET.md"
	totalsName    = "corpus.json" // the criteria for choosing rows, and the numbers of rows
	croissantName = "croissant.json"
	crateName     = "ro-crate-metadata.json"
	sumsName      = "SHA256SUMS" // hashes of all other files, in the format of sha256sum -c
)

// source is a job of the corpus, as the documents describe it.
type source struct {
	name, software, contact string
	created                 time.Time
	seeds                   []string
	rows                    int
	files                   []file // archives, ledger and manifest
}

// papers writes the documents.
func (c *corpus) papers() error {
	sources, err := c.sources()
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		fill func([]source) ([]byte, error)
	}{{sheetName, c.sheet}, {totalsName, func([]source) ([]byte, error) { return encode(&c.totals) }}, {croissantName, c.croissant}, {crateName, c.crate}} {
		b, err := p.fill(sources)
		if err == nil {
			err = c.paper(p.name, b)
		}
		if err != nil {
			return err
		}
	}
	var sums bytes.Buffer
	for _, f := range c.files {
		fmt.Fprintf(&sums, "%s  %s\n", f.Sum, f.Name)
	}
	return c.paper(sumsName, sums.Bytes())
}

func (c *corpus) paper(name string, b []byte) error {
	sum := sha256.Sum256(b)
	c.files = append(c.files, file{name, int64(len(b)), hex.EncodeToString(sum[:])})
	c.x.Wrote(int64(len(b)))
	return os.WriteFile(filepath.Join(c.x.Path, name), b, 0o644)
}

// sources describes the jobs, oldest first.
func (c *corpus) sources() (all []source, err error) {
	for n, r := range c.x.Jobs {
		m, err := r.Manifest()
		if err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(r.Dir())
		if err != nil {
			return nil, err
		}
		s := source{name: filepath.Base(abs), software: m.Last().Software, created: m.Created, seeds: m.Seeds, contact: m.Settings["contact"], rows: c.totals.jobs[n]}
		archives, err := r.Archives()
		if err != nil {
			return nil, err
		}
		for _, name := range append(archives, job.LedgerName, job.VisitsName) {
			f, err := r.Open(name)
			if err != nil {
				return nil, err
			}
			sum, err := hashOf(f)
			s.files = append(s.files, file{path.Base(name), f.Size(), sum})
			if err := cmp.Or(err, f.Close(), c.x.Context().Err()); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b source) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name)) })
	return all, nil
}

// spdx matches text that may be an SPDX identifier.
var spdx = regexp.MustCompile(`^(MIT|[A-Za-z0]+(-[A-Za-z]+)*-[0-9]+(\.[0-9]+)*(-[a-z-]+)?)$`)

// licence returns the name under which totals count a licence.
func licence(s string) string {
	switch {
	case s == "":
		return "none stated"
	case spdx.MatchString(s):
		return s
	}
	return "other, as stated"
}

// sheet returns the data sheet.
func (c *corpus) sheet(sources []source) ([]byte, error) {
	t := &c.totals
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Data sheet\n\nMain texts of %d pages with %d words, of which %d have the text of an earlier row or nearly the same. The pages were requested between %s and %s.\n\n"+
		"Rows are pages, and documents if they were read, that were answered with 200. Blocks that a site repeats on its pages were removed. Where a site disallows a use, the column `consent` says so. A site that says nothing has permitted nothing: whether a text may be used is for the user of this corpus to decide.\n",
		t.Rows, t.Words, t.Duplicates, day(t.First), day(t.Last))
	if len(t.Refuse) > 0 {
		fmt.Fprintf(&b, "\nLeft out are pages whose site disallows one of these uses: %s.\n", strings.Join(t.Refuse, ", "))
	}
	if notes := c.x.Notes(); len(notes) > 0 {
		fmt.Fprintf(&b, "\nThe export says:\n\n- %s.\n", strings.Join(notes, ".\n- "))
	}
	counts := func(title, what string, m map[string]int) {
		if len(m) == 0 {
			fmt.Fprintf(&b, "\n## %s\n\nNone.\n", title)
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n| %s | rows |\n|---|---|\n", title, what)
		for _, k := range cli.ByCount(m) {
			fmt.Fprintf(&b, "| %s | %d |\n", cell.Replace(cmp.Or(k, "unknown")), m[k])
		}
	}
	counts("Consent: statements of sites", "use and signal", t.Consent)
	counts("Consent: verdicts for the purposes of the crawl", "verdict", t.Verdicts)
	counts("Licences that pages state", "licence", t.Licences)
	counts("Languages of the texts", "language", t.Languages)
	b.WriteString("\n## Provenance\n\nEach row names file, offset and SHA-256 of the answer that it was made from.\n")
	for _, s := range sources {
		fmt.Fprintf(&b, "\n### %s\n\nMade on %s by %s%s, from %s: %d rows.\n\n| file | bytes | SHA-256 |\n|---|---|---|\n", s.name, day(s.created), s.software, cli.After(", contact ", s.contact), strings.Join(s.seeds, ", "), s.rows)
		for _, f := range s.files {
			fmt.Fprintf(&b, "| %s | %d | %s |\n", f.Name, f.Bytes, f.Sum)
		}
	}
	return b.Bytes(), nil
}

// cell escapes a text for a cell of a Markdown table.
var cell = strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ")

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }

// object is an object of JSON-LD.
type object = map[string]any

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// described returns the properties that both metadata formats share.
func (c *corpus) described() object {
	t := &c.totals
	var uses, licences []object
	for _, k := range cli.ByCount(t.Consent) {
		uses = append(uses, object{"@type": "DefinedTerm", "name": k, "description": fmt.Sprintf("%d of %d rows: their site says so", t.Consent[k], t.Rows)})
	}
	for _, k := range cli.ByCount(t.Licences) {
		l := object{"@type": "CreativeWork", "name": k, "description": fmt.Sprintf("%d of %d rows", t.Licences[k], t.Rows)}
		if spdx.MatchString(k) {
			l["url"] = "https://spdx.org/licenses/" + k
		}
		licences = append(licences, l)
	}
	d := object{
		"name": "corpus", "description": fmt.Sprintf("Main texts of %d web pages with %d words, with what their sites say about uses of them, and where each was archived.", t.Rows, t.Words),
		"datePublished": day(t.Last), "temporalCoverage": day(t.First) + "/" + day(t.Last),
	}
	for key, list := range map[string][]object{"license": licences, "usageInfo": uses} {
		if len(list) > 0 {
			d[key] = list
		}
	}
	return d
}

// croissant returns the metadata in the form Croissant 1.1.
func (c *corpus) croissant(sources []source) ([]byte, error) {
	d := c.described()
	d["@context"] = croissantContext
	d["@type"], d["conformsTo"], d["version"] = "sc:Dataset", "http://mlcommons.org/croissant/1.1", "1.0.0"
	var distribution, within, fields, derived []object
	for _, f := range c.files {
		o := object{"@type": "cr:FileObject", "@id": f.Name, "name": f.Name, "contentUrl": f.Name, "contentSize": fmt.Sprint(f.Bytes, " B"), "encodingFormat": mediaType(f.Name), "sha256": f.Sum}
		distribution = append(distribution, o)
		if strings.HasSuffix(f.Name, ".parquet") {
			within = append(within, object{"@id": f.Name})
		}
	}
	distribution = append(distribution, object{"@type": "cr:FileSet", "@id": "parquet", "name": "parquet", "containedIn": within, "encodingFormat": "application/vnd.apache.parquet", "includes": "part-*.parquet"})
	for _, col := range c.columns.Columns {
		kind := map[export.Type]string{export.Int: "sc:Integer", export.Float: "sc:Float"}[col.Type]
		if col.Name == "url" {
			kind = "sc:URL"
		}
		fields = append(fields, object{
			"@type": "cr:Field", "@id": "pages/" + col.Name, "name": col.Name, "description": col.Doc, "dataType": cmp.Or(kind, "sc:Text"),
			"source": object{"fileSet": object{"@id": "parquet"}, "extract": object{"column": col.Name}},
		})
	}
	for _, s := range sources {
		for _, f := range s.files {
			derived = append(derived, object{"@type": "prov:Entity", "@id": "urn:sha256:" + f.Sum, "prov:label": s.name + "/" + f.Name})
		}
	}
	d["distribution"], d["prov:wasDerivedFrom"] = distribution, derived
	d["recordSet"] = []object{{"@type": "cr:RecordSet", "@id": "pages", "name": "pages", "description": "a row for each page", "field": fields}}
	d["prov:wasGeneratedBy"] = object{"@type": "prov:Activity", "prov:label": "web crawl and extraction of main texts", "prov:startedAtTime": stamp(c.totals.First), "prov:endedAtTime": stamp(c.totals.Last)}
	d["prov:wasAttributedTo"] = object{"@type": "prov:SoftwareAgent", "prov:label": "amble/" + crawler.Version}
	return encode(d)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func mediaType(name string) string {
	switch filepath.Ext(name) {
	case ".zst":
		return "application/zstd"
	case ".parquet":
		return "application/vnd.apache.parquet"
	case ".json":
		return "application/ld+json"
	}
	return "text/markdown"
}

// croissantContext is the JSON-LD context that the specification of Croissant recommends, with that of PROV-O.
var croissantContext = object{
	"@language": "en", "@vocab": "http://schema.org/", "sc": "http://schema.org/", "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/", "prov": "http://www.w3.org/ns/prov#",
	"conformsTo": "dct:conformsTo", "recordSet": "cr:recordSet", "field": "cr:field", "source": "cr:source", "fileSet": "cr:fileSet", "fileObject": "cr:fileObject", "extract": "cr:extract",
	"column": "cr:column", "includes": "cr:includes", "dataType": object{"@id": "cr:dataType", "@type": "@vocab"},
}

// crate returns the metadata in the form RO-Crate 1.1.
func (c *corpus) crate(sources []source) ([]byte, error) {
	root := c.described()
	root["@id"], root["@type"] = "./", "Dataset"
	graph := []object{{"@id": crateName, "@type": "CreativeWork", "conformsTo": object{"@id": "https://w3id.org/ro/crate/1.1"}, "about": object{"@id": "./"}}}
	software := object{"@id": "#amble", "@type": "SoftwareApplication", "name": "amble", "version": crawler.Version}
	var has, used []object
	for _, f := range c.files {
		has = append(has, object{"@id": f.Name})
		graph = append(graph, object{"@id": f.Name, "@type": "File", "name": f.Name, "contentSize": fmt.Sprint(f.Bytes), "encodingFormat": mediaType(f.Name), "sha256": f.Sum})
	}
	for _, s := range sources {
		for _, f := range s.files {
			id := "urn:sha256:" + f.Sum
			used = append(used, object{"@id": id})
			graph = append(graph, object{"@id": id, "@type": "CreativeWork", "name": s.name + "/" + f.Name, "contentSize": fmt.Sprint(f.Bytes), "sha256": f.Sum, "dateCreated": stamp(s.created)})
		}
	}
	for _, key := range []string{"license", "usageInfo"} { // in a crate, entities refer to each other by ID and are not nested
		var refs []object
		list, stated := root[key].([]object)
		for i, o := range list {
			o["@id"] = fmt.Sprintf("#%s-%d", key, i+1)
			refs, graph = append(refs, object{"@id": o["@id"]}), append(graph, o)
		}
		if stated {
			root[key] = refs
		}
	}
	root["hasPart"] = has
	graph = append(graph, root, software, object{
		"@id": "#extraction", "@type": "CreateAction", "name": "extraction of main texts", "instrument": object{"@id": "#amble"},
		"object": used, "result": object{"@id": "./"}, "startTime": stamp(c.totals.First), "endTime": stamp(c.totals.Last),
	})
	return encode(object{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph})
}
