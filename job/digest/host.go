package digest

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// Host summarizes a crawl at one host, or at all hosts.
type Host struct {
	Name string // host:port; "" for the sum of all hosts

	Requests int            // requests started, including those for robots.txt
	Robots   int            // of Requests, those for a robots.txt or its redirect targets
	Cut      int            // of Requests, those without an end: still in flight, or their process ended first
	Retries  int            // of Requests, further attempts at a URL
	Classes  [6]int         // responses by the first digit of the status; 0: no response
	TooMany  int            // responses with status 429
	Walls    map[string]int // challenges of bot walls, by the wall's name, including those in response to requests for robots.txt
	Bytes    int64          // bytes of bodies as received
	Server   time.Duration  // total time from the start of a request to its end
	Answers  Histogram      // response times in nanoseconds, of requests that got a response
	First    time.Time      // the start of the first request
	Last     time.Time      // the end of the last request

	Pauses Pauses
	// LostToOthers is the time for which requests waited only because of other crawls that share the host, its address or its
	// domain: for each request, from when all other clauses allowed it until the clause "shared" did.
	LostToOthers time.Duration
	Early        int // requests that were too early, or broke another rule of pace; must be 0

	Visits   int            // URLs with an outcome
	Results  [Results]int   // Visits by result
	Outcomes map[string]int // Visits by outcome
	Reasons  map[string]int // Visits by reason, without ""
	Statuses map[int]int    // visits by the status of the final response; only 4xx and 5xx
	Depth    int            // greatest depth of a fetched page
	Same     int            // pages with the same body as an earlier page
	Near     int            // pages that are near-duplicates of an earlier page
	Size     int64          // bytes of fetched pages, decoded
	Usage    map[string]int // visits by a use and the site's statement about it, such as "train-ai disallow"
	Rules    RobotsState

	lane  lane
	ended time.Time // end of the last request
	run   string    // process that made the last request
}

// RobotsState is the outcome of the last request for a host's robots.txt.
type RobotsState struct {
	At     time.Time
	Status int    // 0: no response
	Err    string // why there was no response
	SHA256 string
	Wall   string // the bot wall that responded, "" if none did
	Failed int    // consecutive attempts without a response, or with 202, 429, 5xx or a challenge
}

// Pauses summarizes the times between the requests to a host.
type Pauses struct {
	Count  int           // pauses between two requests of one process
	Owed   int           // of Count, those with a required delay
	Least  time.Duration // the shortest pause; 0 if there is none
	Due    time.Duration // the required delay in the shortest pause
	Ratio  float64       // minimum of observed ÷ required; 0 if nothing was required
	Ratios Ratios
	Sum    float64 // sum of all ratios observed ÷ required
	Time   Times   // time between requests, by cause
}

// Times holds durations by cause, indexed by [ledger.ClauseID]: the cause of a pause is the clause
// that held longest. The last element, Free, holds time in which no delay was required.
type Times [Free + 1]time.Duration

// Free is the index in Times of the time in which the host required no delay: other hosts were served, or nothing was left.
const Free = 20

// Clause returns the time that a clause required.
func (t *Times) Clause(name string) time.Duration { return t[ledger.ClauseIDOf(name)] }

// Clauses returns the names of all clauses in the order of Times, "" where an index has no clause.
func Clauses() (names [Free]string) {
	for _, name := range [...]string{
		ledger.ClauseDelay, ledger.ClauseCrawlDelay, ledger.ClauseRequestRate, ledger.ClauseLatency, ledger.ClauseBackoff,
		ledger.ClauseRetryAfter, ledger.ClauseRobots, ledger.ClauseBusy, ledger.ClauseAddress, ledger.ClauseDomain, ledger.ClauseRate,
		ledger.ClauseStale, ledger.ClauseQuiet, ledger.ClauseRestart, ledger.ClauseHostDelay,
		ledger.ClauseRedirect, ledger.ClauseRateLimit, ledger.ClauseShared, ledger.ClauseEngine,
	} {
		names[ledger.ClauseIDOf(name)] = name
	}
	return names
}

// Ratios counts pauses by observed ÷ required.
type Ratios [len(Bounds) + 1]int

// Bounds are the upper bounds of Ratios. The first is 1: pauses below it were too short, and their number must be 0. The last
// element of Ratios has no bound.
var Bounds = [...]float64{1, 1.001, 1.01, 1.1, 1.5, 2, 5}

func (h *Host) clone() Host {
	c := *h
	c.Outcomes, c.Reasons, c.Statuses, c.Usage = maps.Clone(h.Outcomes), maps.Clone(h.Reasons), maps.Clone(h.Statuses), maps.Clone(h.Usage)
	c.Walls, c.Answers.buckets = maps.Clone(h.Walls), slices.Clone(h.Answers.buckets)
	c.lane = lane{}
	return c
}

// count counts a name. If there are too many different names, it counts a new one as "other".
func count(m *map[string]int, name string) {
	if *m == nil {
		*m = map[string]int{}
	}
	if len(*m) >= maxNames {
		if _, known := (*m)[name]; !known {
			name = "other"
		}
	}
	(*m)[name]++
}

// Row is a Host in the form of report.json and of tables. Times are in seconds.
type Row struct {
	Host     string         `json:"host"`
	Requests int            `json:"requests"`
	Robots   int            `json:"robots_requests"`
	Retries  int            `json:"retries,omitempty"`
	Classes  [6]int         `json:"answers"` // responses by the first digit of the status; 0: no response
	TooMany  int            `json:"answers_429,omitempty"`
	Walls    map[string]int `json:"walls,omitempty"` // challenges of bot walls, by name
	Bytes    int64          `json:"bytes"`
	Server   float64        `json:"server_seconds"`
	Pauses   int            `json:"pauses"`
	Lost     float64        `json:"lost_to_others_s,omitempty"` // waited only because of other crawls
	Least    float64        `json:"least_pause_s,omitempty"`
	Owed     float64        `json:"owed_there_s,omitempty"` // required delay in the shortest pause
	Ratio    float64        `json:"least_ratio,omitempty"`  // minimum of observed ÷ required; 0: nothing was required
	Early    int            `json:"early"`
	P50      float64        `json:"answer_p50_s,omitempty"`
	P95      float64        `json:"answer_p95_s,omitempty"`
	Visits   int            `json:"visits"`
	Outcomes map[string]int `json:"outcomes,omitempty"`
	Reasons  map[string]int `json:"reasons,omitempty"`
	Same     int            `json:"same_body,omitempty"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`

	RobotsStatus int `json:"robots_status,omitempty"` // status of the last response for robots.txt

	Pages      int `json:"pages"`
	Failed     int `json:"failed,omitempty"`
	Refused    int `json:"refused,omitempty"`
	OverBudget int `json:"over_budget,omitempty"`
}

// Row returns the host in the form of report.json.
func (h *Host) Row() Row {
	return Row{
		Host: h.Name, Requests: h.Requests, Robots: h.Robots, Retries: h.Retries, Classes: h.Classes, TooMany: h.TooMany, Walls: maps.Clone(h.Walls), Bytes: h.Bytes,
		Server: seconds(h.Server), Pauses: h.Pauses.Count, Lost: seconds(h.LostToOthers), Least: seconds(h.Pauses.Least), Owed: seconds(h.Pauses.Due), Ratio: rounded(h.Pauses.Ratio), Early: h.Early,
		P50: seconds(time.Duration(h.Answers.Quantile(0.5))), P95: seconds(time.Duration(h.Answers.Quantile(0.95))),
		Visits: h.Visits, Outcomes: maps.Clone(h.Outcomes), Reasons: maps.Clone(h.Reasons), Same: h.Same, First: h.First.UTC(), Last: h.Last.UTC(),
		RobotsStatus: h.Rules.Status, Pages: h.Pages(), Failed: h.Failed(), Refused: h.Refused(), OverBudget: h.OverBudget(),
	}
}

// Sum returns the sum of counts.
func Sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func seconds(d time.Duration) float64 { return rounded(d.Seconds()) }

// rounded rounds a number to six digits after the point.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }
