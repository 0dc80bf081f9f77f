package digest

import (
	"maps"
	"math"
	"time"
)

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
