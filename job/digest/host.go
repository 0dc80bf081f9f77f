package digest

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// Host sums up a crawl at one host, or at all of them.
type Host struct {
	Name string // host:port; "" of all

	Requests int            // that began, robots.txt included
	Robots   int            // of them, for a robots.txt or what it redirects to
	Cut      int            // of Requests, without an end: the process ended first, or they are under way
	Retries  int            // of Requests, further attempts at a URL
	Classes  [6]int         // of answers: by the first digit of the status; 0: no answer
	TooMany  int            // answers with status 429
	Walls    map[string]int // answers that are a challenge of a bot wall, by its name; those for a robots.txt, too
	Bytes    int64          // of bodies, as received
	Server   time.Duration  // from the start of a request to its end, of all requests
	Answers  Histogram      // of these times, in nanoseconds, of requests that were answered
	First    time.Time      // the start of the first request
	Last     time.Time      // the end of the last

	Pauses Pauses
	// LostToOthers is the time for which requests waited for nothing but other crawls that share the host, its address or its domain: for each
	// request, from when all else allowed it until the clause "shared" did.
	LostToOthers time.Duration
	Early        int // requests that were too early, or broke another rule of pace; must be 0

	Visits   int            // URLs with an outcome
	Results  [Results]int   // of them
	Outcomes map[string]int // of them
	Reasons  map[string]int // of them, without ""
	Statuses map[int]int    // of visits, of the final answer; those of 4xx and 5xx alone
	Depth    int            // of the deepest page that was fetched
	Same     int            // pages with the body of an earlier one
	Near     int            // pages that are nearly the same as an earlier one
	Size     int64          // bytes of pages fetched, decoded
	Usage    map[string]int // visits by what the site says of a use, as "train-ai disallow"
	Rules    RobotsState

	lane  lane
	ended time.Time // of the last request
	run   string    // whose it was
}

// RobotsState is the outcome of the last request for a host's robots.txt.
type RobotsState struct {
	At     time.Time
	Status int    // 0: no answer
	Err    string // why there was none
	SHA256 string
	Wall   string // the bot wall that answered, "" if none did
	Failed int    // consecutive attempts that were not answered, or answered with 202, 429, 5xx or a challenge
}

// Pauses are the times between the requests to a host.
type Pauses struct {
	Count  int           // pauses between two requests of one process
	Owed   int           // of them, those in which something was owed
	Least  time.Duration // the shortest; of nothing 0
	Due    time.Duration // what was owed in it
	Ratio  float64       // the smallest of observed ÷ owed; 0 if nothing was owed
	Ratios Ratios
	Sum    float64 // of the ratios
	Time   Times   // time between requests, by cause
}

// Times holds time by cause: the clause that held longest, by its [ledger.ClauseID]. The last element, Free, is time that was not owed.
type Times [Free + 1]time.Duration

// Free is the index in Times of the time in which nothing was owed to the host: other hosts were served, or nothing was left.
const Free = 20

// Clause returns the time owed to a clause.
func (t *Times) Clause(name string) time.Duration { return t[ledger.ClauseIDOf(name)] }

// Clauses are the names of all clauses in the order of Times, with "" where there is none.
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

// Ratios counts pauses by observed ÷ owed.
type Ratios [len(Bounds) + 1]int

// Bounds are the upper bounds of Ratios. The first is 1: what is below was too early, and must be 0. The last element of
// Ratios has no bound.
var Bounds = [...]float64{1, 1.001, 1.01, 1.1, 1.5, 2, 5}

func (h *Host) clone() Host {
	c := *h
	c.Outcomes, c.Reasons, c.Statuses, c.Usage = maps.Clone(h.Outcomes), maps.Clone(h.Reasons), maps.Clone(h.Statuses), maps.Clone(h.Usage)
	c.Walls, c.Answers.buckets = maps.Clone(h.Walls), slices.Clone(h.Answers.buckets)
	c.lane = lane{}
	return c
}

// count counts a name; those after the first are "other".
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
	Classes  [6]int         `json:"answers"` // by the first digit of the status; 0: no answer
	TooMany  int            `json:"answers_429,omitempty"`
	Walls    map[string]int `json:"walls,omitempty"` // challenges of bot walls, by name
	Bytes    int64          `json:"bytes"`
	Server   float64        `json:"server_seconds"`
	Pauses   int            `json:"pauses"`
	Lost     float64        `json:"lost_to_others_s,omitempty"` // waited for nothing but other crawls
	Least    float64        `json:"least_pause_s,omitempty"`
	Owed     float64        `json:"owed_there_s,omitempty"` // what was owed in the shortest pause
	Ratio    float64        `json:"least_ratio,omitempty"`  // the smallest of observed ÷ owed; 0: nothing was owed
	Early    int            `json:"early"`
	P50      float64        `json:"answer_p50_s,omitempty"`
	P95      float64        `json:"answer_p95_s,omitempty"`
	Visits   int            `json:"visits"`
	Outcomes map[string]int `json:"outcomes,omitempty"`
	Reasons  map[string]int `json:"reasons,omitempty"`
	Same     int            `json:"same_body,omitempty"`
	First    time.Time      `json:"first,omitzero"`
	Last     time.Time      `json:"last,omitzero"`

	RobotsStatus int `json:"robots_status,omitempty"` // of the last request for robots.txt

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

// rounded is a number to six digits behind the point.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }
