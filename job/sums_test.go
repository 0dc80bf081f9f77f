package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSums lists the hashes of files, and then changes files. Verify must name each changed file.
func TestSums(t *testing.T) {
	t.Parallel()
	dir, _, _ := recorded(t)
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.WriteSums(); err != nil {
		t.Fatal(err)
	}
	v, err := r.Verify()
	if err != nil || v.Damaged() > 0 || v.Sums < 8 {
		t.Fatalf("%v: %+v", err, v)
	}
	sums := filepath.Join(dir, SumsName)
	list, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := filepath.Glob(filepath.Join(dir, "robots", "*.txt"))
	if err != nil || len(bodies) == 0 {
		t.Fatal(bodies, err)
	}
	for _, path := range []string{filepath.Join(dir, reportName), filepath.Join(dir, jobName), bodies[0]} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, append(b, '\n'))
		name, _ := filepath.Rel(dir, path)
		damagedIs(t, r, filepath.ToSlash(name))
		overwrite(t, path, b)
	}
	first, rest, _ := strings.Cut(string(list), "\n")
	overwrite(t, sums, []byte(rest))
	damagedIs(t, r, strings.Fields(first)[1])
	overwrite(t, sums, []byte(string(list)+strings.Repeat("0", 64)+"  ../outside\n"))
	damagedIs(t, r, SumsName)
	overwrite(t, sums, []byte(string(list)+strings.Repeat("0", 64)+"  warc/gone.warc.gz\n"))
	damagedIs(t, r, "warc/gone.warc.gz")
}

func overwrite(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func damagedIs(t *testing.T, r *Reader, name string) {
	t.Helper()
	v, err := r.Verify()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Files {
		if c.Damage != "" && c.File != name {
			t.Errorf("damaged: %s (%s), want %s", c.File, c.Damage, name)
		}
	}
	if v.Damaged() != 1 {
		t.Errorf("%s was changed: %d files are damaged", name, v.Damaged())
	}
}

// TestSumsEndWithTheNextProcess checks that the list of hashes is removed when a job runs again, because its files then change.
func TestSumsEndWithTheNextProcess(t *testing.T) {
	t.Parallel()
	dir, seed, _ := recorded(t)
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.WriteSums(); err != nil {
		t.Fatal(err)
	}
	c, err := r.Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Crawl.Limits.Pages = 2000
	j, err := Start(dir, c, seed, seed+"new")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, SumsName)); !os.IsNotExist(err) {
		t.Errorf("while a process works on the job: %v", err)
	}
	if err := r.WriteSums(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, SumsName)); !os.IsNotExist(err) {
		t.Errorf("written while a process works on the job: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
