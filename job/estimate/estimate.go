// Package estimate estimates, from a job that drew a random sample of the pages that sites list, what is true of all pages listed: a
// share, a mean or a total, each with an interval.
//
// The job must have drawn pages with a known probability (crawler.Config.Sample). What is asked is an expression in SQL over a row of
// the table visits, as the SQLite export has it.
//
//	res, err := estimate.Run(ctx, job, estimate.Question{Of: "fetch_status = 404", By: "content_mime_type"})
//
// # Vocabulary
//
// The frame comprises the pages in scope that sitemaps list. A page drawn has answered if a request got an answer with a status, after
// redirects; else it is non-response, and the answered pages of its site stand for it.
package estimate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/sqlite"
)

// Schema names the version of the JSON form of a Result.
const Schema = "amble.estimate/1"

// ErrNoSample is returned for a job that drew no sample, so that nothing can be said of pages that it did not request.
var ErrNoSample = errors.New("the job drew no sample with known probabilities")

// errNoAnswer is returned for a job in which no page drawn has answered with a value that is not NULL.
var errNoAnswer = errors.New("no page of the sample has answered with a value")

// Question says what to estimate.
type Question struct {
	Of string // an expression over columns of visits, such as "fetch_status = 404" or "bytes". NULL leaves the page out
	By string // a column or expression that groups pages; "" for one group
}

// ExpressionError is returned if SQLite rejects an expression of the Question.
type ExpressionError struct {
	By  bool   // it is Question.By, rather than Of
	SQL string // the expression
	Err error  // of SQLite
}

// Error returns what is wrong with which expression.
func (e *ExpressionError) Error() string { return fmt.Sprintf("%q: %v", e.SQL, e.Err) }

// Unwrap returns the error of SQLite.
func (e *ExpressionError) Unwrap() error { return e.Err }

// Result has the estimates. Weighted figures count a page with the inverse of its probability, so they are estimates, too.
type Result struct {
	Schema string `json:"schema"`
	Of     string `json:"of"`
	By     string `json:"by,omitempty"`
	Sample string `json:"sample"` // as the job's key has it, "100:seed"

	Sites    int     `json:"sites"`    // of which pages were drawn
	Frame    float64 `json:"frame"`    // pages listed, weighted: a page that is listed twice counts once
	Drawn    int     `json:"drawn"`    // pages
	Answered int     `json:"answered"` // of them
	Response float64 `json:"response"` // share of the frame that answered, weighted

	Silent   []Silent `json:"silent,omitempty"`   // pages drawn that have not answered, the most frequent reason first
	LeftOut  []string `json:"left_out,omitempty"` // sites of which no page answered: nothing is said of them
	Unlisted []string `json:"unlisted,omitempty"` // sites that list no page in scope
	Share    bool     `json:"share"`              // all values are 0 or 1, so the means are shares
	Groups   []Group  `json:"groups"`             // the largest first
}

// Silent counts pages drawn that have not answered.
type Silent struct {
	Outcome string `json:"outcome"` // of the visit, such as "refused"; "not visited" if there is none
	Reason  string `json:"reason,omitempty"`
	Pages   int    `json:"pages"`
}

// Group has the estimates for pages of one value of Question.By. The mean is over its pages with a value that is not NULL.
type Group struct {
	Value *string `json:"value"` // nil for NULL, and without Question.By
	Pages int     `json:"pages"` // of the sample
	Sites int     `json:"sites"` // with such pages

	Mean     float64   `json:"mean"`
	Of       *Interval `json:"interval,omitempty"`       // for all pages that these sites list; nil for the mean of one page, which is no share
	OfAll    *Interval `json:"interval_sites,omitempty"` // for all sites, if these were drawn at random from them; nil for fewer than 10
	Bounds   *Interval `json:"bounds,omitempty"`         // of a share: if no page that is silent had the property, and if all had
	Total    float64   `json:"total"`
	TotalOf  Interval  `json:"total_interval"`
	Listed   float64   `json:"listed"` // pages of the group in the frame, weighted
	ListedOf Interval  `json:"listed_interval"`
}

// Run estimates. It makes no request, and needs space in the directory of temporary files for the job's tables. Errors are
// ErrNoSample, one for no answer with a value, an *ExpressionError, or those of reading the job.
func Run(ctx context.Context, r *job.Reader, q Question) (*Result, error) {
	rep, err := r.Report()
	if err != nil {
		return nil, err
	}
	if len(rep.Draws) == 0 {
		return nil, ErrNoSample
	}
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "amble-estimate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	path := filepath.Join(temp, "job.sqlite")
	if _, err := export.Write(ctx, r, sqlite.Kind(), path, nil); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro&_pragma=query_only(1)"}).String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // only read
	s, err := readSample(ctx, db, rep.Draws, q)
	if err != nil {
		return nil, err
	}
	res := s.result()
	res.Of, res.By, res.Sample = q.Of, q.By, m.Settings["sample"]
	key := sha256.Sum256([]byte(res.Sample + "\n" + q.Of + "\n" + q.By)) // the same question has the same answer
	if res.Groups = s.groups(res.Share, rand.New(rand.NewChaCha8(key))); len(res.Groups) == 0 {
		return nil, errNoAnswer
	}
	return res, nil
}

// result returns what is said of the sample as a whole.
func (s *sample) result() *Result {
	res := &Result{Schema: Schema, Share: true}
	silent := map[Silent]int{}
	var answering float64
	for i := range s.sites {
		site := &s.sites[i]
		if site.Drawn == 0 {
			res.Unlisted = append(res.Unlisted, site.Site)
			continue
		}
		res.Sites++
		res.Drawn += site.Drawn
		res.Answered += site.answered
		res.Frame += float64(site.Drawn) / site.Probability
		answering += float64(site.answered) / site.Probability
		if site.answered == 0 {
			res.LeftOut = append(res.LeftOut, site.Site)
		}
		if missing := site.Drawn - site.answered - site.silent; missing > 0 {
			silent[Silent{Outcome: "not visited"}] += missing
		}
	}
	res.Response = answering / max(res.Frame, 1)
	for i := range s.pages {
		p := &s.pages[i]
		if !p.answered {
			silent[Silent{Outcome: p.outcome, Reason: p.reason}]++
		} else if p.value.Valid && p.value.Float64 != 0 && p.value.Float64 != 1 {
			res.Share = false
		}
	}
	for of, n := range silent {
		of.Pages = n
		res.Silent = append(res.Silent, of)
	}
	slices.SortFunc(res.Silent, func(a, b Silent) int {
		return cmp.Or(b.Pages-a.Pages, cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	return res
}

// groups returns the estimates, the largest group first.
func (s *sample) groups(share bool, random *rand.Rand) []Group {
	type part struct {
		Group

		units []unit
	}
	parts := map[sql.NullString]*part{}
	for i := range s.pages {
		p := &s.pages[i]
		if !p.answered || !p.value.Valid {
			continue
		}
		g := parts[p.group]
		if g == nil {
			g = &part{}
			if p.group.Valid {
				g.Value = &p.group.String
			}
			parts[p.group] = g
		}
		g.units = append(g.units, unit{p.site, s.sites[p.site].weight(), p.value.Float64})
	}
	for _, g := range parts {
		with := map[int]bool{}
		ones := slices.Clone(g.units)
		for i := range ones {
			ones[i].value = 1
			with[ones[i].site] = true
		}
		g.Pages, g.Sites = len(ones), len(with)
		g.Mean, g.Of = mean(g.units, share)
		g.Total, g.TotalOf = total(g.units)
		g.Listed, g.ListedOf = total(ones)
		if share && len(parts) == 1 {
			g.Bounds = s.bounds()
		}
	}
	var groups []Group
	for _, of := range slices.SortedFunc(maps.Keys(parts), func(a, b sql.NullString) int {
		return cmp.Or(cmp.Compare(parts[b].Listed, parts[a].Listed), cmp.Compare(a.String, b.String))
	}) { // in this order, so that random numbers are the same each time
		g := parts[of]
		g.OfAll = hostInterval(g.units, len(s.sites), share, random)
		groups = append(groups, g.Group)
	}
	return groups
}

// bounds returns the share if no page without a value had the property, and if all had.
func (s *sample) bounds() *Interval {
	var frame, ones, zeros float64
	for i := range s.sites {
		frame += float64(s.sites[i].Drawn) / s.sites[i].Probability
	}
	for i := range s.pages {
		switch p := &s.pages[i]; {
		case !p.answered || !p.value.Valid:
		case p.value.Float64 == 1:
			ones += 1 / s.sites[p.site].Probability
		default:
			zeros += 1 / s.sites[p.site].Probability
		}
	}
	return &Interval{ones / frame, (frame - zeros) / frame}
}
