package export

import (
	"errors"
	"io/fs"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/replay"
	"github.com/amble-crawler/amble/sink"
)

// checkLinks returns an error if the links of the job can be read neither from their file nor from an archive.
func (x *Export) checkLinks() error {
	in, err := x.Job.Open(job.LinksName)
	if err == nil {
		return in.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	archives, err := x.Job.Archives()
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return refused("job %s has neither its links nor an archive to read them from: crawl with keep-links, or with the format warc", x.Job.Dir())
	}
	cfg, err := x.Job.Config()
	if err == nil && cfg.Since != "" {
		return refused("job %s did not keep its links, and was crawled with since %s, so that its archive does not have every page: crawl with keep-links", x.Job.Dir(), cfg.Since)
	}
	if err != nil {
		return err
	}
	if why := replay.Check(x.Job); why != nil {
		return refused("job %s did not keep its links: crawl with keep-links (%v)", x.Job.Dir(), why)
	}
	return nil
}

// Links calls f with each link of the job's pages: from the job's links file, or otherwise from the pages in its archive. The
// latter replays the crawl, which needs some 500 bytes of memory for each URL that the job knows. f must not keep the link. If
// the job has neither, the error says what to do.
func (x *Export) Links(f func(*sink.Outlink) error) error {
	if err := x.checkLinks(); err != nil {
		return err
	}
	res, err := replay.Links(x.ctx, x.Job, func(l *sink.Outlink) error {
		if err := x.step(&x.done.Links); err != nil {
			return err
		}
		return f(l)
	})
	if err == nil && res != nil && res.Differ > 0 {
		x.Note("links were read from the archive, which gives %s otherwise than the job has it: a replay names them", cli.Plural(res.Differ, "visit"))
	}
	return err
}

// hasLinks reports whether the job's links can be read. If not, it notes why.
func hasLinks(x *Export) (bool, error) {
	err := x.checkLinks()
	var known *job.Error
	if errors.As(err, &known) && known.Kind == job.Refused {
		x.Note("there is no table links: %v", err)
		return false, nil
	}
	return err == nil, err
}

// Links returns the table of links.
func Links() *Table {
	fields := []field[*sink.Outlink]{
		{Column{"from_url", Text, "the page with the link"}, func(l *sink.Outlink) Value { return text(l.From) }},
		{Column{"to_url", Text, "the URL to which it leads, null if that is none that can be crawled"}, func(l *sink.Outlink) Value { return text(l.To) }},
		{Column{"ref", Text, "the reference as written, if to_url is null"}, func(l *sink.Outlink) Value { return text(l.Ref) }},
		{Column{"text", Text, "text of the link, at most 256 bytes"}, func(l *sink.Outlink) Value { return text(l.Text) }},
		{Column{"rel", List, "link types: nofollow, ugc, canonical, …"}, func(l *sink.Outlink) Value { return list(l.Rel) }},
		{Column{"kind", Text, "what names it: anchor, image, script, …"}, func(l *sink.Outlink) Value { return text(l.Kind) }},
		{Column{"fate", Text, "what the crawl decided: follow, out_of_scope, …"}, func(l *sink.Outlink) Value { return text(l.Fate) }},
		{Column{"rule", Text, "rule that decided, as written"}, func(l *sink.Outlink) Value { return text(l.Rule) }},
	}
	t := &Table{Name: "links", Doc: "a link of a page, in the order of the visits and of the page; needs a crawl with keep-links or an archive", In: hasLinks}
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Column)
	}
	t.Rows = func(x *Export, f func([]Value) error) error {
		row := make([]Value, len(fields))
		return x.Links(func(l *sink.Outlink) error {
			for i := range fields {
				row[i] = fields[i].of(l)
			}
			return f(row)
		})
	}
	return t
}
