package corpus

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/text"
)

// Verification is the result of Verify and Replay.
type Verification struct {
	Files  int      `json:"files"`  // files compared
	Differ []string `json:"differ"` // names of files that are missing or different
}

// Holds reports whether a directory holds a corpus.
func Holds(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, crateName))
	_, err2 := os.Lstat(filepath.Join(dir, sumsName))
	return err == nil && err2 == nil
}

// Verify compares the files of a corpus with their hashes in SHA256SUMS. It returns errors of the file system.
func Verify(dir string) (*Verification, error) {
	want, err := sums(dir)
	if err != nil {
		return nil, err
	}
	v := &Verification{Differ: []string{}}
	for _, f := range want {
		got, err := sumOf(filepath.Join(dir, f.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		v.compare(f, got)
	}
	return v, nil
}

func (v *Verification) compare(f file, got string) {
	if v.Files++; got != f.Sum {
		v.Differ = append(v.Differ, f.Name)
	}
}

// Replay makes the parts of a corpus again from its jobs, in a temporary directory in temp, and compares them with the hashes in
// SHA256SUMS. The documents are not compared, because they contain the names of the jobs. documents must be the value in
// [text.Options] with which the corpus was made.
func Replay(ctx context.Context, dir, temp string, jobs []*job.Reader, documents text.Documents) (*Verification, error) {
	want, err := sums(dir)
	if err != nil {
		return nil, err
	}
	var made totals
	b, err := safefile.Read(filepath.Join(dir, totalsName), 1<<20)
	if err == nil {
		err = json.Unmarshal(b, &made)
	}
	if err != nil {
		return nil, err
	}
	temp, err = os.MkdirTemp(temp, "corpus-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // the files in temp are needed only for the comparison
	again := filepath.Join(temp, "corpus")
	if _, err := export.WriteAll(ctx, jobs, Kind(text.Options{Refuse: made.Refuse, Documents: documents}), again, nil); err != nil {
		return nil, err
	}
	v := &Verification{Differ: []string{}}
	known := map[string]bool{}
	for _, f := range want {
		if known[f.Name] = true; !isPart(f.Name) {
			continue
		}
		got, err := sumOf(filepath.Join(again, f.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		v.compare(f, got)
	}
	all, err := sums(again)
	for _, f := range all {
		if !known[f.Name] {
			v.compare(f, "") // the corpus lacks this file
		}
	}
	return v, err
}

func isPart(name string) bool { return strings.HasPrefix(name, "part-") }

// sums reads the list of hashes.
func sums(dir string) (all []file, err error) {
	f, err := safefile.Open(filepath.Join(dir, sumsName))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	for in := bufio.NewScanner(f); in.Scan(); {
		sum, name, ok := strings.Cut(in.Text(), "  ")
		if !ok || name == "" || filepath.Base(name) != name {
			return nil, fmt.Errorf("%s: line %q is no hash with a name", f.Name(), in.Text())
		}
		all = append(all, file{Name: name, Sum: sum})
	}
	return all, nil
}

func sumOf(path string) (string, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	return hashOf(f)
}

// hashOf returns the SHA-256 of the contents of r.
func hashOf(r io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)), err
}
