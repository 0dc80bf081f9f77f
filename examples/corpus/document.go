package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
)

// document is a text of the corpus with its source.
type document struct {
	URL       string    `json:"url"`
	Canonical string    `json:"canonical,omitempty"` // the address that the page states as its own, if it is a different one
	Via       string    `json:"via,omitempty"`       // the page that led to it
	Depth     int       `json:"depth"`
	Title     string    `json:"title,omitempty"`
	Lang      string    `json:"lang,omitempty"` // as stated by the page or its header
	Fetched   time.Time `json:"fetched"`
	Modified  string    `json:"last_modified,omitempty"` // the header, as sent
	SHA256    string    `json:"sha256"`                  // of the page's body
	Licence   []licence `json:"licence,omitempty"`       // what the page states as its licence
	TDMPolicy string    `json:"tdm_policy,omitempty"`    // the policy of a tdm-reservation
	Usage     []usage   `json:"usage,omitempty"`         // what the site says about uses of the page
	Words     int       `json:"words"`
	Text      string    `json:"text"` // Markdown
}

// usage is what a site says about one use.
type usage struct {
	Use    string `json:"use"`
	Signal string `json:"signal"`
	Origin string `json:"origin"` // "robots.txt", "header" or "meta"
}

// newDocument reads a page, which is in UTF-8.
func newDocument(v *crawler.Visit, page []byte) (document, error) {
	tree, err := extract.Tree(page)
	if err != nil {
		return document{}, err
	}
	licences := findLicences(tree, v.URL)
	text, words := markdown(content(tree))
	d := document{
		URL: v.URL.String(), Via: v.Via.String(), Depth: v.Depth, Title: v.Doc.Title,
		Lang:    cmp.Or(v.Doc.Lang, v.Page.Header.Get("Content-Language")),
		Fetched: v.Page.Ended.UTC(), Modified: v.Page.Header.Get("Last-Modified"), SHA256: hex.EncodeToString(v.SHA256[:]),
		Licence: licences, TDMPolicy: v.Usage.TDMPolicy, Words: words, Text: text,
	}
	if own := v.Canonical(); !own.IsZero() && own != v.URL {
		d.Canonical = own.String()
	}
	for _, s := range v.Usage.Statements {
		d.Usage = append(d.Usage, usage{s.Use, s.Signal.String(), string(s.Origin)})
	}
	return d, nil
}

// save writes the text to a file of its own, named by the hash of its address, after a head with its metadata. JSON
// is YAML, so the head can be parsed as either.
func (d document) save(dir string) error {
	text := d.Text
	d.Text = ""
	head, err := json.Marshal(d)
	if err != nil {
		return err
	}
	name := sha256.Sum256([]byte(d.URL))
	var b strings.Builder
	fmt.Fprintf(&b, "---\n%s\n---\n\n%s\n", head, text)
	return os.WriteFile(filepath.Join(dir, hex.EncodeToString(name[:8])+".md"), []byte(b.String()), 0o644)
}
