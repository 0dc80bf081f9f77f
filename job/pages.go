package job

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc"
	"github.com/amble-crawler/amble/weburl"
)

// Pages reads answers in the archive of a job as the pages that a crawl gets. It is safe for concurrent use until Close.
type Pages struct {
	archive *warc.Archive
	read    *fetcher.Replayer
}

// Pages opens the archive of the job, nil if the job keeps none. The error is that of its files or settings.
func (r *Reader) Pages() (*Pages, error) {
	archives, err := r.Archives()
	if err != nil || len(archives) == 0 {
		return nil, err
	}
	cfg, err := r.Config()
	if err != nil {
		return nil, err
	}
	archive, err := warc.OpenArchive(nil, filepath.Join(r.dir, archiveName))
	if err != nil {
		return nil, &Error{Kind: Storage, Err: err}
	}
	return newPages(archive, cfg.Crawl.Fetch)
}

// newPages returns the Pages of an archive, which it closes if there is an error.
func newPages(archive *warc.Archive, fetch fetcher.Config) (*Pages, error) {
	fetch.Wanted, fetch.Signer, fetch.Headers = nil, nil, nil // nothing is sent
	read, err := fetcher.NewReplayer(fetch, nil)
	if err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	return &Pages{archive, read}, nil
}

// Read returns the page of a visit that the archive has (sink.Record.WARC), whose URL is u. The caller releases it. The error
// says that the archive is damaged there.
func (p *Pages) Read(ctx context.Context, u weburl.URL, at *sink.Location) (*fetcher.Page, error) {
	page, _, err := p.ReadRecord(ctx, u, at)
	return page, err
}

// ReadRecord is like [Pages.Read] and returns the answer as the archive has it, too.
func (p *Pages) ReadRecord(ctx context.Context, u weburl.URL, at *sink.Location) (*fetcher.Page, *warc.Answer, error) {
	a, err := p.archive.At(at.File, at.Offset)
	if err != nil {
		return nil, nil, err
	}
	page, err := p.read.Read(ctx, u, &fetcher.Recorded{Addr: a.Addr, Head: a.Head, Payload: a.Payload, Truncated: a.Truncated})
	return page, a, err
}

// Close closes the archive.
func (p *Pages) Close() error { return p.archive.Close() }
