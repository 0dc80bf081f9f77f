// Package kept manages the jobs of crawls for which no directory was named. Each is in the folder kept of the state directory, under a
// short name: the host of its first seed and a number, as in site.org-1. Commands accept this name instead of a directory.
package kept

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/machine"
	"github.com/amble-crawler/amble/weburl"
)

// Folder returns the folder of kept jobs in a state directory; "" is the user's default state directory.
func Folder(state string) (string, error) {
	if state == "" {
		var err error
		if state, err = machine.Dir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(filepath.Join(state, "kept"))
}

// New makes an empty directory for a job with this first seed, and returns its path. Other users cannot read or write the folder.
func New(state string, seed weburl.URL) (string, error) {
	folder, err := makeFolder(state)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	host, last := hostWord(seed.Authority()), 0
	for _, e := range entries {
		if text, ok := strings.CutPrefix(e.Name(), host+"-"); ok {
			n, _ := strconv.Atoi(text) // 0 if the text is no number: then the name belongs to another host
			last = max(last, n)
		}
	}
	for n := last + 1; ; n++ {
		dir := filepath.Join(folder, fmt.Sprintf("%s-%d", host, n))
		if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) || n > last+100 { // if the name is taken, try the next number
			return dir, err
		}
	}
}

// makeFolder makes the folder of kept jobs, if it is missing.
func makeFolder(state string) (string, error) {
	folder, err := Folder(state)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return "", err
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.Perm()&0o022 != 0 {
		return "", fmt.Errorf("others can write to %s, which has mode %04o: chmod 700 it", folder, mode.Perm())
	}
	return folder, nil
}

// OfStore returns the directory in which the job from the store with this URL is resumed. It is the same for every call.
func OfStore(url string) (string, error) {
	folder, err := makeFolder("")
	if err != nil {
		return "", err
	}
	_, place, _ := strings.Cut(url, "://")
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(folder, fmt.Sprintf("%s-%x", hostWord(place), sum[:4])), nil
}

// hostWord returns the name of a host in a form that is valid in file names on every system.
func hostWord(host string) string {
	word := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(host))
	return cmp.Or(strings.Trim(word[:min(60, len(word))], "-."), "host")
}

// Path returns the directory of the kept job with this name. If name is a path, or there is no such job, it returns name.
func Path(name string) string {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\:`) {
		return name
	}
	if _, err := os.Lstat(name); err == nil {
		return name
	}
	folder, err := Folder("")
	if err != nil {
		return name
	}
	if dir := filepath.Join(folder, name); isDir(dir) {
		return dir
	}
	return name
}

// DidYouMean returns a hint with the job that is kept in a state directory and whose name resembles the given one, "" if none does.
func DidYouMean(state, name string) string {
	folder, err := Folder(state)
	if err != nil {
		return ""
	}
	all, _ := names(folder) // without names, DidYouMean gives no hint
	slices.Reverse(all)     // prefer the later of two jobs whose names are equally similar
	return cli.DidYouMean(name, all)
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Name returns the shortest argument with which commands find the job in a directory. It is the job's name if the job is kept in the user's
// state directory, otherwise the directory.
func Name(dir string) string {
	if name := filepath.Base(dir); Path(name) == dir {
		return name
	}
	return dir
}

// Job is a kept job.
type Job struct {
	Name  string    `json:"name"`
	Dir   string    `json:"dir"`
	State string    `json:"state"`           // finished, running, killed, stopped, limit, failed or empty
	Error string    `json:"error,omitempty"` // error that ended the last process
	Seeds []string  `json:"seeds,omitempty"`
	Pages int       `json:"pages"`
	Left  int       `json:"left"` // URLs still queued when the last process ended
	Bytes int64     `json:"bytes"`
	Last  time.Time `json:"last"` // end of the last process, or its start if the process runs or was killed
}

// reportSuffix is appended to a job's directory to name the directory for the report of an unfinished job.
const reportSuffix = "-report"

// List returns the jobs kept in a state directory, oldest first, and their folder. For "", it is the user's default state directory.
func List(state string) (jobs []Job, folder string, err error) {
	if folder, err = Folder(state); err != nil {
		return nil, "", err
	}
	all, err := names(folder)
	if err != nil {
		return nil, folder, err
	}
	for _, name := range all {
		jobs = append(jobs, read(filepath.Join(folder, name)))
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Or(a.Last.Compare(b.Last), strings.Compare(a.Name, b.Name)) })
	return jobs, folder, nil
}

// names returns the names of the kept jobs, sorted.
func names(folder string) (all []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), reportSuffix) {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// read returns a description of the job in a directory, without what cannot be read.
func read(dir string) Job {
	j := Job{Name: filepath.Base(dir), Dir: dir, State: "empty"}
	j.Bytes, _ = job.SizeOf(dir) // on an error, the size of what can be read
	if info, err := os.Stat(dir); err == nil {
		j.Last = info.ModTime().UTC()
	}
	r, err := job.Read(dir)
	if err != nil {
		return j
	}
	defer func() { _ = r.Close() }() // opened only for reading
	m, err := r.Manifest()
	if err != nil {
		return j
	}
	last := m.Last()
	j.Seeds, j.Pages, j.Left, j.Last = m.Seeds, last.Pages, last.Left, last.Ended
	switch {
	case m.Unfinished():
		if j.State, j.Last = "killed", last.Started; r.Running() {
			j.State = "running"
		}
	case m.Finished():
		j.State = "finished"
	case m.Finish.Limit():
		j.State = "limit"
	case last.Error != "":
		j.State, j.Error = "failed", last.Error
	default:
		j.State = "stopped"
	}
	return j
}

// StateText returns the state in words.
func (j *Job) StateText() string {
	text := map[string]string{
		"limit": "stopped by a limit", "failed": "stopped by an error", "empty": "not begun",
	}[j.State]
	if text = cmp.Or(text, j.State); j.State != "finished" && j.Left > 0 {
		text += ", " + cli.Plural(j.Left, "URL") + " left"
	}
	return text
}

// Remove removes a kept job with all its files. It does not remove a running job.
func (j *Job) Remove() error {
	if read(j.Dir).State == "running" { // read again, because a process may have started since
		return fmt.Errorf("%s is running: stop its crawl first", j.Name)
	}
	return errors.Join(os.RemoveAll(j.Dir), os.RemoveAll(j.Dir+reportSuffix))
}
