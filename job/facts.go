package job

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
)

// fileFacts returns size and hash of the results in a job directory. The index of robots.txt files contains their
// hashes, and so vouches for them. Files in extents are not read again.
func fileFacts(d jobFiles, extents map[string]extent) (map[string]FileFact, error) {
	facts := map[string]FileFact{}
	names := []string{VisitsName, LedgerName, reportName, auditName, path.Join(robotsName, indexName)}
	if _, ok := extents[ItemsName]; ok {
		names = append(names, ItemsName)
	}
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
		if e, ok := extents[name]; ok {
			facts[name] = FileFact{e.Bytes, e.SHA256}
			continue
		}
		if facts[name], err = d.factOf(name); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

func (d jobFiles) factOf(name string) (FileFact, error) {
	f, err := d.open(name)
	if err != nil {
		return FileFact{}, err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return FileFact{n, hex.EncodeToString(h.Sum(nil))}, err
}
