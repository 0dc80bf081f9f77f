package estimate

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// maxHops limits the redirects followed from a drawn page to its final response.
const maxHops = 20

// site counts the visited pages of a site's sample, answered and unanswered.
type site struct {
	crawler.SiteDraw

	answered int
	silent   int // visited without an answer
}

// weight returns the number of pages of the frame that an answered page represents: the inverse of its probability to be drawn,
// divided by the share of the site's drawn pages that answered.
func (s *site) weight() float64 { return float64(s.Drawn) / float64(s.answered) / s.Probability }

// drawn is a page of the sample.
type drawn struct {
	site            int
	answered        bool
	outcome, reason string // of the visit of a page that has not answered
	value           sql.NullFloat64
	group           sql.NullString
}

// sample holds the visited pages that were drawn, and their sites.
type sample struct {
	sites []site
	pages []drawn
}

// visit holds the columns of a row that the estimate needs.
type visit struct {
	url, outcome, reason, redirect, hops sql.NullString
	status, depth                        sql.NullInt64
	value                                sql.NullFloat64
	group                                sql.NullString
}

// readSample reads the drawn pages. A page that was redirected has the answer, value and group of the page where the redirects end.
func readSample(ctx context.Context, db *sql.DB, draws []crawler.SiteDraw, q Question) (*sample, error) {
	s := &sample{}
	for _, d := range draws {
		s.sites = append(s.sites, site{SiteDraw: d})
	}
	visits, order, err := readVisits(ctx, db, q)
	if err != nil {
		return nil, err
	}
	siteOf := map[string]int{} // index by host
	for _, text := range order {
		v := visits[text]
		// Drawn pages are from the sitemaps of seeds: they have depth 1, and no redirect led to them. Seeds have depth 0.
		if v.depth.Int64 != 1 || v.hops.String != "" && v.hops.String != "[]" {
			continue
		}
		u, err := weburl.Parse(text)
		if err != nil {
			continue // only in a damaged job: the URL was valid when the sample was drawn
		}
		at, known := siteOf[u.Host()]
		if !known {
			at = slices.IndexFunc(s.sites, func(d site) bool { return d.Of(u) })
			siteOf[u.Host()] = at
		}
		if at < 0 {
			continue
		}
		end := v
		for range maxHops {
			next := visits[end.redirect.String]
			if end.outcome.String != string(crawler.Redirected) || next == nil {
				break
			}
			end = next
		}
		p := drawn{site: at, outcome: end.outcome.String, reason: end.reason.String, value: end.value, group: end.group}
		switch crawler.Outcome(end.outcome.String) {
		case crawler.Fetched, crawler.Duplicate, crawler.NotModified:
			p.answered = end.status.Valid
		}
		if p.answered {
			s.sites[at].answered++
		} else {
			s.sites[at].silent++
		}
		s.pages = append(s.pages, p)
	}
	return s, nil
}

// readVisits returns the last visit of each URL, and the URLs in the order in which they were first visited.
func readVisits(ctx context.Context, db *sql.DB, q Question) (visits map[string]*visit, order []string, err error) {
	by := q.By
	if strings.TrimSpace(by) == "" {
		by = "NULL"
	}
	// Check each expression as one for a single row (no aggregates). This finds more errors than a query without rows.
	for _, e := range []*ExpressionError{{SQL: q.Of}, {SQL: by, By: true}} {
		if _, err := db.ExecContext(ctx, "SELECT 1 FROM visits WHERE ("+e.SQL+"\n) LIMIT 0"); err != nil {
			e.Err = errors.New(strings.TrimSuffix(strings.TrimPrefix(err.Error(), "SQL logic error: "), " (1)"))
			return nil, nil, e
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT url, outcome, reason, fetch_redirect, hops, fetch_status, depth, ("+q.Of+"\n), CAST(("+by+"\n) AS TEXT) FROM visits ORDER BY rowid")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	visits = map[string]*visit{}
	for rows.Next() {
		v := new(visit)
		var value any
		if err := rows.Scan(&v.url, &v.outcome, &v.reason, &v.redirect, &v.hops, &v.status, &v.depth, &value, &v.group); err != nil {
			return nil, nil, err
		}
		switch value.(type) {
		case nil:
		case int64, float64:
			if err := v.value.Scan(value); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, &ExpressionError{SQL: q.Of, Err: errors.New("its values are text and not numbers; a comparison such as title = '' is 1 or 0")}
		}
		if visits[v.url.String] == nil {
			order = append(order, v.url.String)
		}
		visits[v.url.String] = v
	}
	return visits, order, rows.Err()
}
