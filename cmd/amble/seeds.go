package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/keyflags"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// seedsOf returns the seeds: the arguments, or else the job file's urls, and the lines of the seed file. Without any,
// they are those of the job that is resumed.
func seedsOf(o *keyflags.Origins, args []string, file string, stdin io.Reader) ([]weburl.URL, error) {
	texts := args
	if len(texts) == 0 {
		texts = o.File().URLs()
	}
	if file != "" {
		lines, err := readLines(file, stdin)
		if err != nil {
			return nil, cli.Usage("--seeds: %w", err)
		}
		texts = append(texts[:len(texts):len(texts)], lines...)
	}
	if len(texts) == 0 {
		texts = o.Job().URLs()
	}
	if len(texts) == 0 {
		return nil, cli.Usage("no seeds: give at least one URL, or a file of them with -i")
	}
	return parseURLs("seed", texts)
}

// parseURLs parses texts given by the operator. The error names each one that is not a URL.
func parseURLs(what string, texts []string) ([]weburl.URL, error) {
	urls := make([]weburl.URL, 0, len(texts))
	var errs []error
	for _, s := range texts {
		u, err := weburl.Parse(s)
		if err != nil {
			errs = append(errs, cli.Usage("%s %q is not a URL that can be requested: %s", what, job.WithoutSecrets(s), badURL(s, err)))
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(errs...)
}

// badURL says what is wrong with a URL and what to do about it.
func badURL(s string, err error) string {
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

// readLines reads the lines of a file that are neither blank nor comments; "-" is stdin.
func readLines(path string, stdin io.Reader) ([]string, error) {
	b, err := readFile(path, stdin)
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

// readFile reads a whole file; "-" is stdin, if there is one.
func readFile(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" && stdin != nil {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// texts returns URLs as text.
func texts(urls []weburl.URL) []string {
	res := make([]string, len(urls))
	for i, u := range urls {
		res[i] = u.String()
	}
	return res
}
