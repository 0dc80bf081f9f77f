package job

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// SumsName is the list of the hashes of the files in a job directory; see [Reader.WriteSums].
const SumsName = "SHA256SUMS"

// WriteSums writes [SumsName]: the SHA-256 of each file of the job's record, in the format of "sha256sum -c", sorted by name.
// [Reader.Verify] compares the files with it. It leaves out the queue, the cookies and the lock, which are of no use to others, and
// files that do not belong to a job. Files that were hashed when the last process ended are not read again, so that a file damaged
// since then differs from its line.
//
// Call it after everything else was written into the directory. While a process works on the job, and after one that was killed, the
// files may still change: then it removes an old list and writes none. Job.Run removes it, too.
func (r *Reader) WriteSums() error {
	m, err := r.Manifest()
	if err != nil {
		return err
	}
	if m.Last().Ended.IsZero() {
		return r.files.removeSums()
	}
	names, err := r.files.recorded()
	if err != nil {
		return readError(err)
	}
	return outputError(r.files.replaceBy(SumsName, 0o644, func(w io.Writer) error {
		for _, name := range names {
			sum, err := r.files.sumOf(name, m)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", sum, name); err != nil {
				return err
			}
		}
		return nil
	}))
}

// removeSums removes a list of hashes, because files are about to change.
func (d jobFiles) removeSums() error {
	err := d.root.Remove(SumsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return outputError(d.named("remove", SumsName, err))
}

// unsummed lists the files of a job that are left out: they are of no use to others, or are the list itself.
var unsummed = []string{lockName, lastWriteName, cookiesName, SumsName, storedName}

// recorded returns the files of a job's record, slash-separated and sorted.
func (d jobFiles) recorded() (names []string, err error) {
	for name := range ownFiles {
		if slices.Contains(unsummed, name) {
			continue
		}
		there, err := d.has(name)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		segments, err := d.segments(name)
		if err != nil {
			return nil, err
		}
		names = append(names, segments...)
	}
	for dir, ours := range ownDirs {
		if dir == frontierName || dir == resourcesName { // neither is a result
			continue
		}
		list, err := d.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			if ours(name) && !tolerated(name) && !strings.HasSuffix(name, newSuffix) {
				names = append(names, path.Join(dir, name))
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// sumOf returns the hexadecimal hash of a file, from the records if they have it.
func (d jobFiles) sumOf(name string, m *Manifest) (string, error) {
	if known, ok := m.Outputs[name]; ok {
		return known.SHA256, nil
	}
	fact, err := d.factOf(name)
	return fact.SHA256, err
}

// checkSums compares the files with the list of hashes, if there is one, and returns those that differ. Files in checked were already
// compared with their commits: damaged ones are skipped, and the others are not read again.
func (d jobFiles) checkSums(r *records, checked []FileCheck) (lines int, differ []FileCheck, err error) {
	f, err := d.open(SumsName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	missing := map[string]bool{}
	names, err := d.recorded()
	if err != nil {
		return 0, nil, err
	}
	for _, name := range names {
		missing[name] = true
	}
	s := bufio.NewScanner(f)
	for s.Scan() {
		lines++
		sum, name, ok := strings.Cut(s.Text(), "  ")
		if !ok || !isSHA256(sum) || !filepath.IsLocal(filepath.FromSlash(name)) {
			differ = append(differ, FileCheck{File: SumsName, Damage: fmt.Sprintf("line %d is not a hash and the name of a file in the job", lines)})
			continue
		}
		delete(missing, name)
		if i := slices.IndexFunc(checked, func(c FileCheck) bool { return c.File == name }); i >= 0 && (checked[i].Damage != "" || d.isWhole(r, name, sum)) {
			continue
		}
		if c, err := d.checkSum(name, sum); err != nil {
			return lines, nil, err
		} else if c.Damage != "" {
			differ = append(differ, c)
		}
	}
	for _, name := range names {
		if missing[name] {
			differ = append(differ, FileCheck{File: name, Damage: "it is not in " + SumsName + ": it was added, or the list was cut"})
		}
	}
	return lines, differ, s.Err()
}

// isWhole reports whether an intact file has this hash and has nothing after its committed part.
func (d jobFiles) isWhole(r *records, name, sum string) bool {
	all := r.files[name]
	size, err := d.size(filepath.FromSlash(name))
	return err == nil && len(all) > 0 && all[len(all)-1] == known{size, sum}
}

// checkSum compares a file with its hash.
func (d jobFiles) checkSum(name, sum string) (c FileCheck, err error) {
	c.File = name
	f, err := d.open(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		c.Damage = "it is missing, and listed in " + SumsName
		return c, nil
	}
	if err != nil {
		return c, err
	}
	h := sha256.New()
	c.Bytes, err = io.Copy(h, f)
	if hex.EncodeToString(h.Sum(nil)) != sum {
		c.Damage = "it is not what it was when " + SumsName + " was written"
		if name == SheetName || name == SheetDataName || name == PageName || name == HostsName || name == ProblemsName {
			c.Damage += "; a new report writes both again, with what you filled in"
		}
	}
	return c, errors.Join(err, f.Close())
}
