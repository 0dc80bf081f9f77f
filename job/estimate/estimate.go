// Package estimate estimates properties of all pages that sites list, from a job that drew a random sample of these pages. It gives
// a share, a mean or a total, each with a confidence interval.
//
// The job must have drawn pages with a known probability (crawler.Config.Sample). The question is an SQL expression over a row of
// the table visits of the SQLite export.
//
//	res, err := estimate.Run(ctx, job, estimate.Question{Of: "fetch_status = 404", By: "content_mime_type"})
//
// # Vocabulary
//
// The frame comprises the pages in scope that sitemaps list. A drawn page has answered if a request got a response with a status,
// after redirects. Otherwise it is non-response, and the answered pages of its site represent it.
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

// ErrNoSample is returned for a job that drew no sample: nothing can be inferred about pages that it did not request.
var ErrNoSample = errors.New("the job drew no sample with known probabilities")

// errNoAnswer is returned for a job in which no drawn page has answered with a value other than NULL.
var errNoAnswer = errors.New("no page of the sample has answered with a value")

// Question selects the value to estimate.
type Question struct {
	Of string // an expression over columns of visits, such as "fetch_status = 404" or "bytes". Pages for which it is NULL are left out
	By string // a column or expression that groups pages; "": a single group
}

// ExpressionError is returned if SQLite rejects an expression of the Question.
type ExpressionError struct {
	By  bool   // the expression is Question.By, otherwise Question.Of
	SQL string // the expression
	Err error  // error of SQLite
}

// Error returns the expression and SQLite's error.
func (e *ExpressionError) Error() string { return fmt.Sprintf("%q: %v", e.SQL, e.Err) }

// Unwrap returns the error of SQLite.
func (e *ExpressionError) Unwrap() error { return e.Err }

// Result holds the estimates. Weighted figures count each page with the inverse of its probability, so they are estimates, too.
type Result struct {
	Schema string `json:"schema"`
	Of     string `json:"of"`
	By     string `json:"by,omitempty"`
	Sample string `json:"sample"` // value of the job's key sample, such as "100:seed"

	Sites    int     `json:"sites"`    // sites whose pages were drawn
	Frame    float64 `json:"frame"`    // weighted number of pages listed; a page that is listed twice is counted once
	Drawn    int     `json:"drawn"`    // pages drawn
	Answered int     `json:"answered"` // of Drawn, pages that answered
	Response float64 `json:"response"` // weighted share of the frame that answered

	Silent   []Silent `json:"silent,omitempty"`   // drawn pages that have not answered, the most frequent reason first
	LeftOut  []string `json:"left_out,omitempty"` // sites without an answered page; the estimates do not cover them
	Unlisted []string `json:"unlisted,omitempty"` // sites that list no page in scope
	Share    bool     `json:"share"`              // all values are 0 or 1, so the means are shares
	Groups   []Group  `json:"groups"`             // sorted by size, largest first
}

// Silent counts drawn pages that have not answered.
type Silent struct {
	Outcome string `json:"outcome"` // outcome of the visit, such as "refused"; "not visited" if there is none
	Reason  string `json:"reason,omitempty"`
	Pages   int    `json:"pages"`
}

// Group holds the estimates for pages with one value of Question.By. The mean is over its pages with a value other than NULL.
type Group struct {
	Value *string `json:"value"` // nil for NULL, and without Question.By
	Pages int     `json:"pages"` // pages in the sample
	Sites int     `json:"sites"` // sites with such pages

	Mean     float64   `json:"mean"`
	Of       *Interval `json:"interval,omitempty"`       // for all pages that these sites list; nil for one page if Mean is no share
	OfAll    *Interval `json:"interval_sites,omitempty"` // for all sites, if these sites are a random sample; nil for fewer than 10 sites
	Bounds   *Interval `json:"bounds,omitempty"`         // the share if no unanswered page had the property, and if all had
	Total    float64   `json:"total"`
	TotalOf  Interval  `json:"total_interval"`
	Listed   float64   `json:"listed"` // weighted number of the group's pages in the frame
	ListedOf Interval  `json:"listed_interval"`
}

// Run answers the question with estimates. It makes no request. It needs space for the job's tables in the directory of temporary files.
// It returns ErrNoSample, an error if no page has answered with a value, an *ExpressionError, or an error of reading the job.
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
	defer func() { _ = db.Close() }() // only read, so an error of closing loses nothing
	s, err := readSample(ctx, db, rep.Draws, q)
	if err != nil {
		return nil, err
	}
	res := s.result()
	res.Of, res.By, res.Sample = q.Of, q.By, m.Settings["sample"]
	key := sha256.Sum256([]byte(res.Sample + "\n" + q.Of + "\n" + q.By)) // as a seed, so that the same question gets the same result
	if res.Groups = s.groups(res.Share, rand.New(rand.NewChaCha8(key))); len(res.Groups) == 0 {
		return nil, errNoAnswer
	}
	return res, nil
}

// result returns the figures about the sample as a whole.
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
	}) { // in a fixed order, so that each group always gets the same random numbers
		g := parts[of]
		g.OfAll = hostInterval(g.units, len(s.sites), share, random)
		groups = append(groups, g.Group)
	}
	return groups
}

// bounds returns the share under two assumptions: no page without a value has the property, or every one has it.
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
