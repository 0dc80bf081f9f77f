package shell

import (
	"errors"
	"os"
	"strings"

	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// Open makes the Shell use a recording: a job directory with an archive, or a WARC file. A WARC file is read with the settings that config
// returns. Open returns the first page: the named one, otherwise the job's first seed or the first page of the file. Call done at the end,
// even after an error; it may be nil.
func (s *Shell) Open(name, page string, config func() (crawler.Config, error)) (u weburl.URL, done func() error, err error) {
	if _, err := os.Stat(name); err != nil {
		return u, nil, cli.Usage("%s: %w (a page on the web is given in full, as in https://site.to.crawl/)", name, cli.Cause(err))
	}
	rec, err := job.Replay(name)
	if err != nil {
		return u, nil, err
	}
	s.Offline = rec.Apply
	if job.Holds(name) {
		if err := s.as(name); err != nil {
			return u, rec.Close, err
		}
	} else if s.Crawl, err = config(); err != nil {
		return u, rec.Close, err
	}
	if page == "" && len(s.Seeds) > 0 {
		page = s.Seeds[0].String()
	}
	if page == "" {
		page, err = firstPage(rec)
	}
	if err != nil {
		return u, rec.Close, err
	}
	u, err = operator.URL("URL", page)
	return u, rec.Close, err
}

// as sets the Shell's crawl to the settings of the job in dir.
func (s *Shell) as(dir string) error {
	r, err := job.Read(dir)
	if err != nil {
		return err
	}
	m, err := r.Manifest()
	var cfg job.Config
	if err == nil {
		cfg, err = r.Config()
	}
	if err == nil {
		s.Crawl = cfg.Crawl
		s.Seeds, err = operator.URLs("seed", m.Seeds)
	}
	return errors.Join(err, r.Close())
}

// firstPage returns the first URL of a recording that is not that of a robots.txt, "" if there is none.
func firstPage(rec *job.Recording) (string, error) {
	for url, err := range rec.URLs() {
		if err != nil || !strings.HasSuffix(url, "/robots.txt") {
			return url, err
		}
	}
	return "", nil
}
