package job

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/weburl"
)

// cookiesName is the file of a job's cookies. Only its owner can read it, and no report or archive shows it.
const cookiesName = "cookies.json"

// needCookies turns cookies on if a setting of cookies is used, and reports whether it did.
func (c *Config) needCookies() bool {
	need := c.LoadCookies != "" || c.KeepCookies
	c.Crawl.Fetch.Cookies = c.Crawl.Fetch.Cookies || need
	return need
}

// addCookies sets the Jar of a crawl with cookies, if cookies are loaded or kept.
func (c *Config) addCookies(x *crawler.Config, seeds []weburl.URL) error {
	if c.LoadCookies == "" && !c.KeepCookies {
		return nil
	}
	if x.Fetch.Jar == nil {
		x.Fetch.Jar = fetcher.NewJar()
	}
	n, err := c.loadCookies(x.Fetch.Jar, seeds)
	if err == nil && n.Expired > 0 && c.Note != nil {
		c.Note(fmt.Sprintf("%s: %s of %d have expired and are left out", c.LoadCookies, cli.Plural(n.Expired, "cookie"), n.Expired+n.Cookies))
	}
	return err
}

// loadCookies adds the cookies of the file to a Jar.
func (c *Config) loadCookies(jar *fetcher.Jar, seeds []weburl.URL) (n fetcher.Loaded, err error) {
	if c.LoadCookies == "" {
		return n, nil
	}
	f, err := safefile.Open(c.LoadCookies)
	if err != nil {
		return n, &KeyError{Key: "load-cookies", Err: fmt.Errorf("%w; with an empty value the crawl goes on without it", err)}
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	if n, err = jar.Load(f, seeds...); err != nil {
		return n, &KeyError{Key: "load-cookies", Err: fmt.Errorf("%s: %w", c.LoadCookies, err)}
	}
	return n, nil
}

// cookieKeeper writes a Jar into a job's directory before each commit if the Jar has changed. It replaces the whole file: after a
// kill the file has the state of the last commit, or a slightly newer one.
type cookieKeeper struct {
	files jobFiles
	jar   *fetcher.Jar
	saved uint64 // Jar.Changes at the last save
}

// openCookies fills the crawl's Jar with the cookies that an earlier process kept. It also loads the operator's file, unless that
// file was loaded before: cookies that sites have changed since are newer.
func (j *Job) openCookies(x *crawler.Config, seeds []weburl.URL) (*cookieKeeper, error) {
	if !j.config.KeepCookies {
		return nil, nil
	}
	jar := x.Fetch.Jar
	k := &cookieKeeper{files: j.files, jar: jar}
	b, err := j.files.read(cookiesName)
	if errors.Is(err, fs.ErrNotExist) {
		return k, k.keep()
	}
	if err != nil {
		return nil, err
	}
	given := jar.Source()
	if err := jar.Restore(b); err != nil {
		return nil, &Error{Kind: Storage, Err: fmt.Errorf("%s is damaged: remove it to resume without the cookies in it", j.files.path(cookiesName))}
	}
	if given != "" && given != jar.Source() {
		_, err = j.config.loadCookies(jar, seeds)
	}
	return k, errors.Join(err, k.keep())
}

// keep writes the Jar if it has changed.
func (k *cookieKeeper) keep() error {
	n := k.jar.Changes()
	if n == k.saved {
		return nil
	}
	b, err := k.jar.Save()
	if err == nil {
		err = k.files.replaceSecret(cookiesName, b)
	}
	if err == nil {
		k.saved = n
	}
	return err
}

// before returns a function that saves changed cookies and then calls commit.
func (k *cookieKeeper) before(commit func() (map[string][]byte, error)) func() (map[string][]byte, error) {
	if k == nil {
		return commit
	}
	return func() (map[string][]byte, error) {
		if err := k.keep(); err != nil {
			return nil, err
		}
		return commit()
	}
}
