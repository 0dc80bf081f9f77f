package job

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"

	"github.com/amble-crawler/amble/crawler"
)

// fileFacts returns size and hash of the results in a job directory. The bodies of robots.txt files are covered by their index,
// which contains their hashes. Files in extents are not read again.
func fileFacts(d jobFiles, extents map[string]extent) (map[string]FileFact, error) {
	facts := map[string]FileFact{}
	names := []string{VisitsName, LedgerName, reportName, auditName, path.Join(robotsName, indexName)}
	for _, name := range []string{LinksName, TextName, ItemsName, ItemsCSVName} {
		if _, ok := extents[name]; ok {
			names = append(names, name)
		}
	}
	var all []string
	archives, err := d.list(archiveName)
	if err != nil {
		return nil, err
	}
	for _, e := range archives {
		if e.Type().IsRegular() && !tolerated(e.Name()) {
			names = append(names, path.Join(archiveName, e.Name()))
		}
	}
	for _, name := range names {
		segments, err := d.segments(name)
		if err != nil {
			return nil, err
		}
		all = append(all, segments...)
	}
	for _, name := range all {
		if e, ok := extents[name]; ok {
			facts[name] = FileFact{e.Bytes, e.SHA256}
			continue
		}
		if facts[name], err = d.factOf(name); err != nil {
			return nil, err
		}
	}
	return facts, d.tableFact(facts)
}

// factsAt returns the state of the results when a process ends normally. After a crawl that was drained, the extents in the queue
// cover all files except the database.
func (d jobFiles) factsAt(finish crawler.Finish, extents map[string]extent) (map[string]FileFact, error) {
	if finish != crawler.FinishDrained {
		return fileFacts(d, extents)
	}
	facts := map[string]FileFact{}
	return facts, d.tableFact(facts)
}

func (d jobFiles) factOf(name string) (FileFact, error) {
	f, err := d.open(name)
	if err != nil {
		return FileFact{}, err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	h := sha256.New()
	n, err := io.Copy(h, f)
	return FileFact{n, hex.EncodeToString(h.Sum(nil))}, err
}
