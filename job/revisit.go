package job

import "github.com/amble-crawler/amble/crawler"

// Revisit opens the crawl in a directory, as it was begun, for a program that requests its pages again, such as package
// watch: also one that has ended. program sets what no setting can say; it is called with the settings of the job, and may
// be nil. change is called with the configuration of the crawl when all that the job adds to it is set: it may wrap its
// Frontier, which implements [frontier.Durable], and set whatever decides what is requested again. The directory records
// none of that: the next [Open] has the settings of the job. change must not make the crawl less polite than the job: the
// ledger is checked against the job's settings. Its error is returned. Other errors are those of Open, but for ErrFinished.
func Revisit(dir string, program func(*Config), change func(*crawler.Config) error) (*Job, error) {
	c, seeds, err := asBegun(dir)
	if err != nil {
		return nil, err
	}
	if program != nil {
		program(&c)
	}
	return start(dir, c, seeds, opening{change: change})
}
