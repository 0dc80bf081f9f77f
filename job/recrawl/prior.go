package recrawl

import (
	"math"
	"strings"
)

// Gamma is a Gamma distribution of rates, the prior of a page that was visited less than twice. It weighs as much as Shape changes seen
// in Days days.
type Gamma struct {
	Shape float64 // α
	Days  float64 // β
}

// unknown is the prior of a host without observations: a change a month on average, with the weight of half a change.
var unknown = Gamma{Shape: 0.5, Days: 15}

// Unknown returns the prior of a host without observations: one change in thirty days on average, with the weight of half a change, so
// that the first visits dominate.
func Unknown() Gamma { return unknown }

// Mean returns the mean rate, in changes a day.
func (g Gamma) Mean() float64 { return g.Shape / g.Days }

// Limits for learning the prior of a folder.
const (
	leastSiblings = 20  // minimum number of pages with a history for a folder to have a prior
	maxSiblings   = 300 // maximum number of pages that the prior is learnt from
	parentWeight  = 5   // weight of the parent folder's prior, in pages
	folderDepth   = 3
	gridSize      = 72
	fitRounds     = 30
)

// Learn returns the common prior of pages with these histories, given the prior of the parent folder, which has the weight of five
// pages. It maximizes the marginal likelihood of the histories (empirical Bayes) by expectation-maximization: the posterior of each
// page over a grid of rates, then the Gamma distribution of the greatest likelihood for the mean of the rates and of their logarithms
// (Minka, "Estimating a Gamma distribution", 2002, equations 4 and 10).
func Learn(pasts []*History, above Gamma) Gamma {
	grid, likelihood := gridOf(pasts)
	g := above
	for range fitRounds {
		mean, meanLog := expected(grid, likelihood, g)
		n := float64(len(likelihood))
		mean = (n*mean + parentWeight*above.Mean()) / (n + parentWeight)
		meanLog = (n*meanLog + parentWeight*(digamma(above.Shape)-math.Log(above.Days))) / (n + parentWeight)
		s := max(1e-3, math.Log(mean)-meanLog)
		shape := (3 - s + math.Sqrt((s-3)*(s-3)+24*s)) / (12 * s)
		shape = min(20, max(0.1, shape))
		g = Gamma{Shape: shape, Days: shape / mean}
	}
	return g
}

// gridOf returns a grid of rates, evenly spaced on a logarithmic scale, and the likelihood of each history at each rate, scaled so that
// its maximum is 1. It skips empty histories, and evenly selects at most maxSiblings of them.
func gridOf(pasts []*History) (grid [gridSize]float64, likelihood [][gridSize]float64) {
	step := math.Log(maxRate/leastRate) / (gridSize - 1)
	for i := range grid {
		grid[i] = leastRate * math.Exp(float64(i)*step)
	}
	every := max(1, (len(pasts)+maxSiblings-1)/maxSiblings)
	for i := 0; i < len(pasts); i += every {
		if pasts[i].Empty() {
			continue
		}
		var l [gridSize]float64
		most := math.Inf(-1)
		for j, rate := range grid {
			l[j] = pasts[i].logLikelihood(rate)
			most = max(most, l[j])
		}
		for j := range l {
			l[j] = math.Exp(l[j] - most)
		}
		likelihood = append(likelihood, l)
	}
	return grid, likelihood
}

// expected returns the mean over all pages of the expected rate and of the expected logarithm of the rate.
func expected(grid [gridSize]float64, likelihood [][gridSize]float64, g Gamma) (mean, meanLog float64) {
	var prior, logs [gridSize]float64
	for j, rate := range grid {
		logs[j] = math.Log(rate)
		prior[j] = math.Exp(g.Shape*(logs[j]-math.Log(g.Mean())) - g.Days*rate + g.Shape)
	}
	for i := range likelihood {
		var all, sum, sumLog float64
		for j, l := range likelihood[i] {
			w := l * prior[j]
			all, sum, sumLog = all+w, sum+w*grid[j], sumLog+w*logs[j]
		}
		if all > 0 {
			mean, meanLog = mean+sum/all, meanLog+sumLog/all
		} else { // the prior rules out the observations: the page contributes only the prior's mean
			mean, meanLog = mean+g.Mean(), meanLog+math.Log(g.Mean())
		}
	}
	n := max(1, float64(len(likelihood)))
	return mean / n, meanLog / n
}

// digamma returns the derivative of the logarithm of the Gamma function, for x > 0 (Abramowitz and Stegun, 6.3.5 and
// 6.3.18).
func digamma(x float64) (y float64) {
	for ; x < 6; x++ {
		y -= 1 / x
	}
	f := 1 / (x * x)
	return y + math.Log(x) - 0.5/x - f*(1.0/12-f*(1.0/120-f/252))
}

// folders returns up to four folders that contain a path, starting with the outermost, "/".
func folders(path string) []string {
	path, _, _ = strings.Cut(path, "?")
	all := make([]string, 0, folderDepth+1)
	for i := range len(path) {
		if path[i] == '/' && len(all) <= folderDepth {
			all = append(all, path[:i+1])
		}
	}
	if len(all) == 0 {
		all = append(all, "/")
	}
	return all
}
