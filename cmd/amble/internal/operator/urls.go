package operator

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// Seeds returns the seeds of a crawl: the arguments or, without any, the urls of the job file; and the lines of the seed file. If there are
// none, it returns the seeds of the job that is resumed.
func Seeds(o *keyflags.Origins, args []string, file string, stdin io.Reader) ([]weburl.URL, error) {
	list := args
	if len(list) == 0 {
		list = o.File().URLs()
	}
	list, err := withLines(list, file, stdin)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		list = o.Job().URLs()
	}
	if len(list) == 0 {
		return nil, cli.Usage("no seeds: give at least one URL, or a file of them with -i")
	}
	return URLs("seed", list)
}

// PerhapsSeeds returns the seeds of a crawl for commands that make no crawl: the arguments or, without any, the urls of the job file or
// those of the job; and the lines of the seed file. There may be none.
func PerhapsSeeds(o *keyflags.Origins, args []string, file string, stdin io.Reader) ([]weburl.URL, error) {
	list := args
	for _, urls := range []func() []string{o.File().URLs, o.Job().URLs} {
		if len(list) == 0 {
			list = urls()
		}
	}
	list, err := withLines(list, file, stdin)
	if err != nil {
		return nil, err
	}
	return URLs("seed", list)
}

// withLines returns list followed by the lines of a file of seeds, if there is one.
func withLines(list []string, file string, stdin io.Reader) ([]string, error) {
	if file == "" {
		return list, nil
	}
	lines, err := Lines(file, stdin)
	if err != nil {
		return nil, cli.Usage("--seeds: %w", err)
	}
	return append(list[:len(list):len(list)], lines...), nil
}

// URL parses the URL argument of a command. what names the argument in errors.
func URL(what, text string) (weburl.URL, error) {
	urls, err := URLs(what, []string{text})
	if err != nil {
		return weburl.URL{}, err
	}
	return urls[0], nil
}

// URLs parses URLs given by the operator. The error names every invalid one.
func URLs(what string, list []string) ([]weburl.URL, error) {
	urls := make([]weburl.URL, 0, len(list))
	var errs []error
	for _, s := range list {
		u, err := weburl.Parse(s)
		if err != nil {
			errs = append(errs, cli.Usage("%s %q is not a URL that can be requested: %s", what, job.WithoutSecrets(s), Wrong(s, err)))
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(errs...)
}

// Wrong returns a message about an invalid URL, with advice. err is the error of parsing it.
func Wrong(s string, err error) string {
	switch weburl.ReasonOf(err) {
	case weburl.ReasonCredentials:
		return "it has a user name or password in it, which are never sent; leave them out"
	case weburl.ReasonTooLong:
		return "it is too long"
	case weburl.ReasonScheme:
		if strings.Contains(s, "://") || strings.HasPrefix(s, "mailto:") {
			return "it is neither http nor https"
		}
	}
	if _, err := os.Stat(s); err == nil {
		return "it is a file: seeds in a file are given with -i, a job file with --config"
	}
	if u, err := weburl.Parse("https://" + s); err == nil && s != "" && !strings.Contains(s, "://") {
		return "write it in full, as in " + u.String()
	}
	return "write it in full, as in https://site.to.crawl/"
}

// Texts returns URLs as text.
func Texts(urls []weburl.URL) []string {
	res := make([]string, len(urls))
	for i, u := range urls {
		res[i] = u.String()
	}
	return res
}

// Lines returns the lines of a file that are neither blank nor comments; "-" is stdin.
func Lines(path string, stdin io.Reader) ([]string, error) {
	b, err := File(path, stdin)
	if err != nil {
		return nil, err
	}
	var lines []string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// File reads a whole file; "-" is stdin, if there is one. Up to 256 MiB are read from a pipe or another file that is not regular.
func File(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" && stdin != nil {
		return safefile.ReadSeedsFrom(stdin, "stdin")
	}
	return safefile.ReadSeeds(path)
}
