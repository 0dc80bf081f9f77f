package job

import (
	"strings"
	"testing"
)

// A shorthand in a job file sets several keys. It is an error if one of these keys is set as well.
func TestShorthandsSetTheirKeys(t *testing.T) {
	for text, want := range map[string]string{
		"follow: [sitemaps, nofollow]":      "sitemaps=true follow-nofollow=true feeds=false resources=false",
		"follow: sitemaps,feeds":            "sitemaps=true follow-nofollow=false feeds=true resources=false",
		"follow: none":                      "sitemaps=false follow-nofollow=false feeds=false resources=false",
		"archive: true":                     "format=jsonl, warc",
		"archive: off":                      "format=jsonl",
		"cookies: true":                     "cookies=true",
		"cookies: keep":                     "load-cookies= keep-cookies=true cookies=true",
		"cookies: [keep, c.txt]":            "load-cookies=c.txt keep-cookies=true cookies=true",
		"cookies: ''":                       "load-cookies=",
		"cookies: true\nload-cookies: a":    "load-cookies=a cookies=true",
		"cookies: keep\nload-cookies: a":    `job.yaml:2: key load-cookies stands in line 1 already`,
		"load-cookies: a\ncookies: keep":    `job.yaml:2: cookies: key load-cookies stands in line 1 already`,
		"follow: everything":                `job.yaml:1: follow: "everything": want sitemaps, feeds, resources, nofollow, or none alone`,
		"follow: [none, feeds]":             `job.yaml:1: follow: "none": want sitemaps, feeds, resources, nofollow, or none alone`,
		"archive: maybe":                    `job.yaml:1: archive: "maybe": want true or false`,
		"cookies: [a.txt, b.txt]":           `job.yaml:1: cookies: "a.txt" and "b.txt": want one file`,
		"archive: true\nformat: jsonl,warc": `job.yaml:2: key format stands in line 1 already`,
	} {
		f, err := parseFile("job.yaml", []byte(text+"\n"))
		if err != nil {
			if err.Error() != want {
				t.Errorf("%q: %v, want %s", text, err, want)
			}
			continue
		}
		all, err := f.Settings()
		var got []string
		for _, s := range all {
			got = append(got, s.Name+"="+s.Text())
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %s (%v), want %s", text, strings.Join(got, " "), err, want)
		}
	}
}

// Every key that a shorthand sets exists, and belongs to only one shorthand.
func TestShorthandsNameKeys(t *testing.T) {
	of := map[string]string{}
	for _, s := range shorthands {
		for key := range s.keys {
			if KeyNamed(key) == nil || of[key] != "" {
				t.Errorf("%s: the key %s does not exist, or is of %s, too", s.Name, key, of[key])
			}
			of[key] = s.Name
		}
	}
}
