package job

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/weburl"
)

// keyHeader is the name of the key whose values may be secrets.
const keyHeader = "header"

// maxSecret limits the bytes of a value that is read from a file.
const maxSecret = 8 << 10

// field is one of the header fields that Config.Header describes.
type field struct {
	origin string // "": the origins of the seeds
	name   string
	value  string // "@FILE", "env:NAME" or the value itself
}

// text returns the field in the form of Config.Header.
func (f field) text() string {
	if f.origin != "" {
		return f.origin + " " + f.name + ": " + f.value
	}
	return f.name + ": " + f.value
}

// isKept reports whether a job may keep the field as it is, because it only says where the value is ("@FILE", "env:NAME").
func (f field) isKept() bool {
	return strings.HasPrefix(f.value, "@") || strings.HasPrefix(f.value, "env:")
}

// parseField reads "Name: value" or "https://host Name: value". Its error does not show the value.
func parseField(text string) (f field, err error) {
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
		var at string
		at, rest, _ = strings.Cut(rest, " ")
		u, err := weburl.Parse(at)
		if err != nil || u.PathQuery() != "/" {
			return f, &itemError{WithoutSecrets(at), errors.New("want the origin that gets the field, such as https://site.to.crawl, without a path")}
		}
		f.origin = u.Origin()
	}
	name, value, ok := strings.Cut(rest, ":")
	f.name, f.value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok, strings.ContainsAny(f.name, " \t"), strings.HasPrefix(value, "//"): // not "Name: value"; the colon may be that of a URL
		return f, &itemError{firstWord(f.name), errors.New("want 'Name: value', or 'https://site.to.crawl Name: value' for one origin")}
	case f.value == "":
		return f, &itemError{f.name, errors.New("it has no value")}
	}
	if err := fetcher.CheckField(f.name, f.value); err != nil {
		return f, &itemError{f.name, err}
	}
	return f, nil
}

// firstWord returns the start of an invalid field, up to where a value may begin.
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word[:min(len(word), 40)]
}

// readFields checks the text of the key header.
func readFields(v []string) ([]string, error) {
	for _, text := range v {
		if _, err := parseField(text); err != nil {
			return nil, err
		}
	}
	return slices.Clone(v), nil
}

// keptFields returns the key header as a job stores it: the names of all fields, and references to values ("@FILE", "env:NAME")
// instead of values.
func keptFields(v []string) []string {
	kept := make([]string, len(v))
	for i, text := range v {
		f, err := parseField(text)
		switch {
		case err != nil:
			f = field{name: "?", value: secretGone} // mask the whole text: any part of it may be a secret
		case !f.isKept():
			f.value = secretGone
		}
		kept[i] = f.text()
	}
	return kept
}

// absoluteHosts returns the entries with absolute paths of the files that their header fields name.
func absoluteHosts(all []crawler.HostSettings) ([]crawler.HostSettings, error) {
	all = slices.Clone(all)
	for i := range all {
		all[i].Header = all[i].Header.Clone()
		for _, values := range all[i].Header {
			for j, value := range values {
				path, isFile := strings.CutPrefix(value, "@")
				if !isFile {
					continue
				}
				path, err := filepath.Abs(path)
				if err != nil {
					return nil, err
				}
				values[j] = "@" + path
			}
		}
	}
	return all, nil
}

// absoluteFields returns the key header with absolute paths of the files that it names.
func absoluteFields(v []string) (abs []string, err error) {
	abs = slices.Clone(v)
	for i, text := range v {
		f, bad := parseField(text)
		path, isFile := strings.CutPrefix(f.value, "@")
		if bad != nil || !isFile {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		f.value = "@" + path
		abs[i] = f.text()
	}
	return abs, nil
}

// Access adds credentials to a configuration that Crawler has returned: the header fields of Header (sent to the origins of the seeds,
// unless they name another origin), the values of fields in Crawl.Hosts that are in files or in the environment, and the cookies of
// LoadCookies. It reads files and the environment. The error names each field and file that is unavailable, and shows no value.
func (c *Config) Access(x *crawler.Config, seeds ...weburl.URL) error {
	return errors.Join(c.addFields(x, seeds), readHostFields(x), c.addCookies(x, seeds), c.addCache(x))
}

// readHostFields replaces the names of files and variables in x.Hosts with the values of the header fields.
func readHostFields(x *crawler.Config) error {
	var errs []error
	x.Hosts = slices.Clone(x.Hosts)
	for i := range x.Hosts {
		h := &x.Hosts[i]
		h.Header = h.Header.Clone()
		for _, name := range sortedKeys(h.Header) {
			for j, value := range h.Header[name] {
				f := field{name: name, value: value}
				if value == secretGone {
					errs = append(errs, &KeyError{Key: keyHosts, Err: fmt.Errorf("entry %d (%s): headers: %s: a job does not keep values of header fields: give the job file again, or in it where to read the value, as '@FILE' or env:NAME", i+1, h.Match, name)})
				}
				if !f.isKept() {
					continue
				}
				var err error
				if h.Header[name][j], err = f.read(); err != nil {
					errs = append(errs, &KeyError{Key: keyHosts, Err: fmt.Errorf("entry %d (%s): headers: %w", i+1, h.Match, err)})
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Config) addFields(x *crawler.Config, seeds []weburl.URL) error {
	if len(c.Header) == 0 {
		return nil
	}
	all := maps.Clone(x.Fetch.Headers)
	if all == nil {
		all = fetcher.Headers{}
	}
	named, errs := fetcher.Headers{}, []error(nil)
	general := fetcher.Headers{}
	for _, text := range c.Header {
		f, err := parseField(text)
		if err == nil {
			f.value, err = f.read()
		}
		if err != nil {
			errs = append(errs, headerError(err))
			continue
		}
		to := general
		if f.origin != "" {
			to = named
		}
		for _, origin := range f.origins(seeds) {
			if to[origin] == nil {
				to[origin] = http.Header{}
			}
			to[origin].Add(f.name, f.value)
		}
	}
	for _, from := range []fetcher.Headers{general, named} { // the fields for an origin (named) replace those for all seeds (general)
		for origin, h := range from {
			merged := all[origin].Clone()
			if merged == nil {
				merged = http.Header{}
			}
			maps.Copy(merged, h)
			all[origin] = merged
		}
	}
	x.Fetch.Headers = all
	return errors.Join(errs...)
}

// headerError returns an error about a field as an error about the key header.
func headerError(err error) error {
	var item *itemError
	if errors.As(err, &item) {
		return &KeyError{Key: keyHeader, Value: fmt.Sprintf("%q", item.item), Err: item.err}
	}
	return &KeyError{Key: keyHeader, Err: err}
}

// origins returns the origins that get the field.
func (f field) origins(seeds []weburl.URL) []string {
	if f.origin != "" {
		return []string{f.origin}
	}
	var list []string
	for _, u := range seeds {
		list = append(list, u.Origin())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// read returns the value of the field, from the file or environment variable if it names one.
func (f field) read() (string, error) {
	value := f.value
	path, isFile := strings.CutPrefix(f.value, "@")
	variable, isEnv := strings.CutPrefix(f.value, "env:")
	switch {
	case value == secretGone:
		return "", &itemError{f.name, fmt.Errorf("a job does not keep its value: give it again, as '%s…', or where to read it, as '%s: env:NAME' or '%s: @FILE'", strings.TrimSuffix(f.text(), secretGone), f.name, f.name)}
	case isFile:
		line, err := oneLine(path)
		if err != nil {
			return "", &itemError{f.name, err}
		}
		value = line
	case isEnv:
		if value = strings.TrimSpace(os.Getenv(variable)); value == "" {
			return "", &itemError{f.name, fmt.Errorf("the environment has no %s: set it, or give the field in another way", variable)}
		}
	}
	if err := fetcher.CheckField(f.name, value); err != nil {
		return "", &itemError{f.name, err}
	}
	return value, nil
}

// oneLine returns the one line of a file.
func oneLine(path string) (string, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read, so an error of closing loses nothing
	b, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(b))
	if text == "" || len(b) > maxSecret || strings.Contains(text, "\n") {
		return "", fmt.Errorf("%s: want one line with the value, of at most %d bytes", path, maxSecret)
	}
	return text, nil
}

// languages matches the value of Accept-Language (RFC 9110 section 12.5.4, RFC 4647 section 2.1).
var languages = regexp.MustCompile(`^` + language + `(?: *, *` + language + `)*$`)

const language = `(?:\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)(?: *; *q=(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?`

// readLanguages checks the value of Accept-Language.
func readLanguages(v []string) (string, error) {
	text := strings.TrimSpace(one(v))
	if text != "" && (len(text) > 1000 || !languages.MatchString(text)) {
		return "", errors.New("want languages, the preferred one first, such as de or 'de, en;q=0.8'")
	}
	return text, nil
}

func plainText(s string) []string { return []string{s} }
