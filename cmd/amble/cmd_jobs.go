package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/kept"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/stores/open"
)

// jobsCmd is "amble jobs".
type jobsCmd struct {
	Words []string `arg:"" optional:"" name:"rm job" help:"Nothing, to list the jobs; or rm and the jobs to remove."`

	Finished bool   `help:"With rm: remove all jobs whose crawl is finished."`
	Older    span   `placeholder:"TIME" help:"With rm: remove all jobs on which no process has worked for this time, such as 30d."`
	State    string `placeholder:"DIR" help:"State directory, if it is not that of the user."`
	JSON     bool   `help:"Print one JSON object."`
	Names    bool   `help:"Print the names alone, one a line: those that a shell takes without quotes."`
}

// Help returns the beginning of the command's help.
func (*jobsCmd) Help() string {
	return `Examples:

	amble jobs
	amble jobs rm site.org-1 site.org-2
	amble jobs rm --finished --older 30d

A crawl without -o is kept in the state directory, under the host of its first seed and a number. The commands show, resume,
explain, verify, export and all others that take a job directory take such a name, too. Nothing is removed before you say so.

The state directory is $AMBLE_STATE, or amble in $XDG_STATE_HOME, or the place for state of the system.`
}

// Run executes the command.
func (c *jobsCmd) Run(a *app) error {
	jobs, folder, err := kept.List(c.State)
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	if len(c.Words) > 0 && c.Words[0] == "rm" {
		return c.remove(a, jobs)
	}
	if len(c.Words) > 0 || c.Finished || c.Older > 0 {
		return cli.Usage("to remove jobs, say amble jobs rm JOB, or amble jobs rm --finished")
	}
	if c.Names {
		return c.names(a, jobs)
	}
	total := int64(0)
	for i := range jobs {
		total += jobs[i].Bytes
	}
	if c.JSON {
		return cli.PrintJSON(a.out, struct {
			Dir   string     `json:"dir"`
			Bytes int64      `json:"bytes"`
			Jobs  []kept.Job `json:"jobs"`
		}{folder, total, append([]kept.Job{}, jobs...)})
	}
	return c.list(a, jobs, fmt.Sprintf("%s, %s, in %s", cli.Plural(len(jobs), "job"), cli.Bytes(total), cli.Printable(folder)))
}

// names prints the names of the jobs for shell completion. It omits names with characters that are special in shells.
func (c *jobsCmd) names(a *app, jobs []kept.Job) error {
	for i := range jobs {
		name := jobs[i].Name
		if cli.ShellWord(name) != name || strings.HasPrefix(name, "-") {
			continue
		}
		if _, err := fmt.Fprintln(a.out, name); err != nil {
			return err
		}
	}
	return nil
}

// list prints some lines for each job: the name, the seed, the error that stopped it, and a suggested command.
func (c *jobsCmd) list(a *app, jobs []kept.Job, total string) error {
	for i := range jobs {
		j := &jobs[i]
		about := ""
		if len(j.Seeds) > 0 {
			about = "  " + cli.Printable(j.Seeds[0]) + cli.AndMore(len(j.Seeds)-1) + "\n"
		}
		if why, _, _ := strings.Cut(j.Error, "\n"); why != "" {
			about += "  error: " + cli.Printable(why) + "\n"
		}
		_, err := fmt.Fprintf(a.out, "%s: %s, %s, %s, %s ago\n%s  %s\n", cli.Printable(j.Name), j.StateText(), cli.Plural(j.Pages, "page"), cli.Bytes(j.Bytes),
			ageText(time.Since(j.Last)), about, c.next(j))
		if err != nil {
			return err
		}
	}
	if len(jobs) > 0 {
		total += "\nto remove some: amble jobs rm JOB, or --finished, or --older 30d"
	}
	_, err := fmt.Fprintln(a.out, total)
	return err
}

// next returns the command that the user probably wants next.
func (c *jobsCmd) next(j *kept.Job) string {
	word := cli.ShellWord(kept.Name(j.Dir))
	switch j.State {
	case "finished", "running":
		return "amble show " + word
	case "empty":
		return "amble jobs rm " + word
	}
	return "amble resume " + word
}

// ageText formats a duration in the largest unit that it reaches.
func ageText(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.unit); n > 0 {
			return cli.Plural(n, u.name)
		}
	}
	return cli.Plural(max(0, int(d/time.Second)), "second")
}

// remove removes the named jobs, and those selected by the flags.
func (c *jobsCmd) remove(a *app, jobs []kept.Job) error {
	names := c.Words[1:]
	if len(names) == 0 && !c.Finished && c.Older == 0 {
		return cli.Usage("name the jobs to remove, or say --finished or --older 30d: amble jobs lists them")
	}
	for _, name := range names {
		if !slices.ContainsFunc(jobs, func(j kept.Job) bool { return name == j.Name || name == j.Dir }) {
			return cli.Usage("no job is kept as %s%s: amble jobs lists those that are", name, kept.DidYouMean(c.State, name))
		}
	}
	ctx, stop := a.untilSignal(context.Background())
	defer stop()
	var errs []error
	for i := range jobs {
		j := &jobs[i]
		named := slices.Contains(names, j.Name) || slices.Contains(names, j.Dir)
		chosen := (c.Finished || c.Older > 0) && j.State != "running" &&
			(!c.Finished || j.State == "finished") && time.Since(j.Last) >= time.Duration(c.Older)
		if !named && !chosen {
			continue
		}
		if err := job.RemoveStored(ctx, j.Dir); err != nil {
			errs = append(errs, fmt.Errorf("%s stays, because what it has in its store could not be removed: %w", j.Name, err))
			continue
		}
		if err := j.Remove(); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := fmt.Fprintf(a.out, "removed %s, %s\n", cli.Printable(j.Name), cli.Bytes(j.Bytes)); err != nil {
			return err
		}
	}
	if len(errs) > 0 {
		return cli.Exit(cli.ExitOutput, errors.Join(errs...))
	}
	return nil
}

// jobMapper decodes arguments that name a job: by its directory, by the name of a kept job, or by its URL in a store. Other URLs stay
// unchanged.
type jobMapper struct{ a *app }

// Decode implements kong.Mapper, for a string and for several.
func (m jobMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if target.Kind() == reflect.String {
		if err := keyflags.Text(ctx, target); err != nil {
			return err
		}
		path, err := m.path(target.String())
		target.SetString(path)
		return err
	}
	for _, t := range ctx.Scan.PopWhile(func(t kong.Token) bool { return t.IsValue() }) {
		path, err := m.path(t.String())
		if err != nil {
			return err
		}
		target.Set(reflect.Append(target, reflect.ValueOf(path)))
	}
	return nil
}

// kept returns the directory of a kept job. It returns any other name unchanged, and records it for [app.meant].
func (a *app) kept(name string) string {
	path := kept.Path(name)
	if path == name {
		a.notKept = append(a.notKept, name)
	}
	return path
}

// meant returns a hint for the first argument that names no kept job: the name of a similar one. Without a similar one, it returns "".
func (a *app) meant() string {
	for _, name := range a.notKept {
		if !job.Holds(name) {
			return kept.DidYouMean("", name)
		}
	}
	return ""
}

// path returns the directory of a job. For a job in a store, it makes a temporary directory that exists until the command ends.
func (m jobMapper) path(name string) (string, error) {
	if !open.IsURL(name) {
		return m.a.kept(name), nil
	}
	dir, err := os.MkdirTemp("", "amble-stored-")
	if err != nil {
		return "", err
	}
	c := storedCopy{url: strings.TrimRight(name, "/"), temp: dir}
	defer func() {
		c.dir = dir
		m.a.copies = append(m.a.copies, c)
	}()
	if base := path.Base(name); base != "." && filepath.IsLocal(base) { // if possible, the directory is named after the job
		dir = filepath.Join(dir, base)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, job.Attach(context.Background(), dir, name)
}

// resumedMapper is like jobMapper, but for a job to resume. A job in a store gets a permanent directory among the kept jobs, which later
// commands use again.
type resumedMapper struct{ a *app }

// Decode implements kong.Mapper, for a string.
func (m resumedMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if err := keyflags.Text(ctx, target); err != nil {
		return err
	}
	name := target.String()
	if !open.IsURL(name) {
		target.SetString(m.a.kept(name))
		return nil
	}
	m.a.restored = strings.TrimRight(name, "/")
	dir, err := kept.OfStore(m.a.restored)
	if err != nil {
		return err
	}
	target.SetString(dir)
	if job.Holds(dir) {
		return nil
	}
	if err = job.Restore(context.Background(), dir, m.a.restored); errors.Is(err, job.ErrFinished) {
		m.a.ended, err = err, nil
	}
	return err
}

// removeCopies removes the temporary directories of jobs in stores.
func (a *app) removeCopies() {
	for _, c := range a.copies {
		_ = os.RemoveAll(c.temp) // after an error the directory remains in the system's temporary directory
	}
}

// storedCopy is the local directory of a job in a store.
type storedCopy struct {
	url       string // URL as given by the operator
	temp, dir string // temp is the directory to remove; dir, inside temp, is that of the job
}

// withURLs replaces, in text, the local directories of jobs in stores by their URLs.
func (a *app) withURLs(text []byte) []byte {
	for _, c := range a.copies {
		text = bytes.ReplaceAll(text, []byte(c.dir), []byte(c.url))
	}
	return text
}
