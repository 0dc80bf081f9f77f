package job

import (
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Facts summarizes the ledger and the visits of the job, reading each once, line by line. It passes each visit to the functions, without
// the fields that [sink.Parser.Short] leaves out; a visit is valid until they return. It keeps no more than some thousand hosts in memory.
func (r *Reader) Facts(each ...func(*sink.Record)) (*digest.Facts, error) {
	cfg, err := readAuditConfig(r.dir)
	if err != nil {
		return nil, err
	}
	d := digest.New(digest.Config{Audit: cfg, Body: r.RobotsBody})
	judge := func(l *judged) { d.Judge(&l.Entry, &l.Judgement) }
	if err := decoded(r.files.plainDir, LedgerName, parseJudged, judge, func(l *judged) { d.AddJudged(&l.Entry, &l.Judgement) }); err != nil {
		return nil, err
	}
	err = decoded(r.files.plainDir, VisitsName, parseShort, nil, func(v *sink.Record) {
		d.AddVisit(v)
		for _, f := range each {
			f(v)
		}
	})
	if err != nil {
		return nil, err
	}
	return d.Snapshot(0), nil
}

// judged is a ledger line with the auditor's verdict on it.
type judged struct {
	ledger.Entry
	digest.Judgement
}

func parseJudged() func([]byte, *judged) error {
	parse := parseLedger()
	return func(line []byte, l *judged) error { return parse(line, &l.Entry) }
}

// parseShort returns a function that decodes only the fields of visits that sums need.
func parseShort() func([]byte, *sink.Record) error { return (&sink.Parser{Short: true}).Parse }

// decoded decodes a JSON Lines file and calls use with each complete line, in order. The value is valid until use returns. If
// first is not nil, another goroutine calls it before use.
func decoded[T any](d plainDir, name string, parser func() func([]byte, *T) error, first, use func(*T)) error {
	file, err := d.stream(name)
	if err != nil {
		return readError(err)
	}
	defer func() { _ = file.Close() }() // only read, so an error of closing loses nothing
	err = jsonl.Each(file, parser, first, use)
	return readError(d.lineError(name, err))
}
