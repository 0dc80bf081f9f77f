package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// limits holds the maximum numbers of entries and bytes in one file.
type limits struct{ entries, bytes int }

// protocol has the limits of sitemaps.org, "Sitemap XML format" and "Using sitemap index files".
var protocol = limits{entries: 50_000, bytes: 50 << 20}

// maxLoc is a length in bytes: URLs must be shorter (sitemaps.org, "loc").
const maxLoc = 2048

const (
	header     = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	urlsetHead = header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	urlsetFoot = "</urlset>\n"
	indexHead  = header + `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	indexFoot  = "</sitemapindex>\n"
)

// xml returns the entry as an element with the given name: "url" in a sitemap, "sitemap" in an index.
func (e entry) xml(element string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<%s><loc>", element)
	_ = xml.EscapeText(&b, []byte(e.loc)) // writing to a Builder cannot fail
	b.WriteString("</loc>")
	if !e.modified.IsZero() {
		fmt.Fprintf(&b, "<lastmod>%s</lastmod>", e.modified.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "</%s>\n", element)
	return b.String()
}

// split returns the entries as sitemaps, each within the limits most.
func split(list []entry, most limits) [][]byte {
	var docs [][]byte
	var b bytes.Buffer
	n := 0
	end := func() {
		b.WriteString(urlsetFoot)
		docs = append(docs, bytes.Clone(b.Bytes()))
		b.Reset()
		n = 0
	}
	for _, e := range list {
		line := e.xml("url")
		if n > 0 && (n == most.entries || b.Len()+len(line)+len(urlsetFoot) > most.bytes) {
			end()
		}
		if n == 0 {
			b.WriteString(urlsetHead)
		}
		b.WriteString(line)
		n++
	}
	end()
	return docs
}

// file is a file to be written.
type file struct {
	path string
	doc  []byte
}

// files names the sitemaps. If there are several, they get numbers, and out becomes their index. The index comes last, so that it never
// names a file that does not exist yet.
func files(out, base string, docs [][]byte) []file {
	if len(docs) == 1 {
		return []file{{out, docs[0]}}
	}
	stem := strings.TrimSuffix(out, ".xml")
	var all []file
	var index strings.Builder
	index.WriteString(indexHead)
	for i, doc := range docs {
		path := fmt.Sprintf("%s-%d.xml", stem, i+1)
		all = append(all, file{path, doc})
		index.WriteString(entry{loc: base + url.PathEscape(filepath.Base(path))}.xml("sitemap"))
	}
	index.WriteString(indexFoot)
	return append(all, file{out, []byte(index.String())})
}

// save writes the files, in order. Each older file is replaced atomically.
func save(out string, stdout io.Writer, all []file) error {
	if out == "-" {
		if len(all) > 1 {
			return errors.New("nothing written: the site needs several files, name one with -o")
		}
		_, err := stdout.Write(all[0].doc)
		return err
	}
	for _, f := range all {
		if err := replace(f.path, f.doc); err != nil {
			return err
		}
	}
	return nil
}

func replace(path string, doc []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".sitemap-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(doc)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
