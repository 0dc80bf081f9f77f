package explain

import (
	"io"

	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// Job returns a function that writes everything that the job in dir recorded about a URL. It prints notes for the operator on errs.
func Job(errs io.Writer, dir string) func(url string, w io.Writer) error {
	return func(url string, w io.Writer) error {
		u, err := weburl.Parse(url)
		if err != nil {
			return err
		}
		r, err := job.Read(dir)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // opened only for reading
		q, _, err := QuestionOf(errs, r)
		if err != nil {
			return err
		}
		e := New(u)
		e.Fate = crawler.FateFollow
		if err := e.Recall(r, u, q); err != nil {
			return err
		}
		e.Conclude()
		_, err = io.WriteString(w, e.Text())
		return err
	}
}

// QuestionOf returns the Question of a job, and the settings as returned by SettingsOf. It prints notes for the operator on errs.
func QuestionOf(errs io.Writer, r *job.Reader) (q Question, cfg crawler.Config, err error) {
	if cfg, err = SettingsOf(r); err != nil {
		return q, cfg, err
	}
	q.Dialect = cfg.Politeness.Dialect
	q.Agent, err = operator.RobotsName(errs, cfg.Agent)
	return q, cfg, err
}

// SettingsOf returns those settings of a job that can be applied again.
func SettingsOf(r *job.Reader) (crawler.Config, error) {
	all, err := r.Settings()
	if err != nil {
		return crawler.Config{}, err
	}
	cfg, _ := all.Config()
	return cfg.Crawl, nil
}
