package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
)

// fileFacts are size and hash of the results in a job directory. The index of robots.txt files has
// the hashes of those, and so vouches for them.
func fileFacts(d plainDir) (map[string]fileFact, error) {
	facts := map[string]fileFact{}
	names := []string{visitsName, ledgerName, reportName, auditFile, filepath.Join(robotsName, indexName)}
	archives, err := d.list(archiveName)
	if err != nil {
		return nil, err
	}
	for _, e := range archives {
		names = append(names, filepath.Join(archiveName, e.Name()))
	}
	for _, name := range names {
		f, err := d.factOf(name)
		if err != nil {
			return nil, err
		}
		facts[filepath.ToSlash(name)] = f
	}
	return facts, nil
}

func (d plainDir) factOf(name string) (fileFact, error) {
	f, err := d.open(name)
	if err != nil {
		return fileFact{}, err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return fileFact{n, hex.EncodeToString(h.Sum(nil))}, err
}
