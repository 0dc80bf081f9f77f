package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	normal    = 1.959964 // the 97.5th percentile of the normal distribution
	minHosts  = 10       // fewer sites give no interval over all sites
	resamples = 2_000    // number of resamples of the bootstrap
)

// unit is an answered page of the sample with a value of a group.
type unit struct {
	site   int
	weight float64 // inverse of the probability that the page was drawn and answered
	value  float64
}

// Interval is a 95 % confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// total returns the Horvitz–Thompson estimate of the sum of values, with its interval, which has no negative end if no value is
// negative. Given the random numbers of all other pages, each page is drawn independently with its probability, so the variance
// has no joint terms (Duffield, Lund and Thorup, "Priority sampling for estimation of arbitrary subset sums", 2007).
func total(units []unit) (float64, Interval) {
	var sum, variance float64
	negative := false
	for _, u := range units {
		sum += u.weight * u.value
		variance += u.weight * (u.weight - 1) * u.value * u.value
		negative = negative || u.value < 0
	}
	in := Interval{sum, sum}
	if variance > 0 {
		half := student(len(units)-1) * math.Sqrt(variance)
		in = Interval{sum - half, sum + half}
	}
	if !negative {
		in.Low = max(in.Low, 0)
	}
	return sum, in
}

// mean returns the estimate of the mean, a ratio of two totals, and its interval over the pages of these sites. Its variance is
// that of the linear approximation (Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 1992, section 5.6). The
// interval of a share is Wilson's, for the number of independent pages that have that variance: the normal interval fails near 0
// and 1, where most shares of a web are. It is nil for a single page whose value is not a share, because the variance is unknown.
func mean(units []unit, share bool) (ratio float64, in *Interval) {
	var sum, weights, squares, variance float64
	for _, u := range units {
		sum += u.weight * u.value
		weights += u.weight
		squares += u.weight * (u.weight - 1)
	}
	ratio = sum / weights
	for _, u := range units {
		residual := (u.value - ratio) / weights
		variance += u.weight * (u.weight - 1) * residual * residual
	}
	if n := float64(len(units)); n > 1 {
		variance *= n / (n - 1)
	}
	switch t := student(len(units) - 1); {
	case squares == 0: // every page answered
		return ratio, &Interval{ratio, ratio}
	case share && variance > 0:
		return ratio, wilson(ratio, ratio*(1-ratio)/variance, t)
	case share: // all values are 0 or all are 1: use Kish's effective sample size
		return ratio, wilson(ratio, weights*weights/squares, t)
	case len(units) == 1:
		return ratio, nil
	default:
		half := t * math.Sqrt(variance)
		return ratio, &Interval{ratio - half, ratio + half}
	}
}

// wilson returns the score interval of a share in n pages (E. B. Wilson, 1927).
func wilson(share, n, z float64) *Interval {
	center := share + z*z/(2*n)
	half := z * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return &Interval{max((center-half)/scale, 0), min((center+half)/scale, 1)}
}

// student returns the 97.5th percentile of Student's t distribution with df degrees of freedom (Cornish and Fisher's expansion,
// within 1 % for 3 degrees or more; fewer are treated as 3).
func student(df int) float64 {
	n, z := float64(max(df, 3)), normal
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}

// hostInterval returns the interval of the mean over all sites of a list from which these sites are a random sample. It uses a bootstrap
// over the sites with studentized ratios (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 12). A site is drawn
// with all of its pages in the sample, so the interval includes the error of both stages. It returns nil for fewer than minHosts sites.
func hostInterval(units []unit, sites int, share bool, random *rand.Rand) *Interval {
	sums, weights := make([]float64, sites), make([]float64, sites)
	with := map[int]bool{}
	for _, u := range units {
		sums[u.site] += u.weight * u.value
		weights[u.site] += u.weight
		with[u.site] = true
	}
	if len(with) < minHosts {
		return nil
	}
	ratio, spread := hostRatio(sums, weights, nil)
	if spread == 0 {
		return &Interval{ratio, ratio}
	}
	picked, studentized := make([]int, sites), make([]float64, 0, resamples)
	for range resamples {
		for i := range picked {
			picked[i] = random.IntN(sites)
		}
		if r, s := hostRatio(sums, weights, picked); s > 0 {
			studentized = append(studentized, (r-ratio)/s)
		}
	}
	slices.Sort(studentized)
	at := func(q float64) float64 { return studentized[int(q*float64(len(studentized)-1))] }
	in := Interval{ratio - at(0.975)*spread, ratio - at(0.025)*spread}
	if share {
		in = Interval{max(in.Low, 0), min(in.High, 1)}
	}
	return &in
}

// hostRatio returns the ratio of the totals of the picked sites, or of all if none are given, and its standard error.
func hostRatio(sums, weights []float64, picked []int) (ratio, spread float64) {
	at := func(i int) int { return i }
	if picked != nil {
		at = func(i int) int { return picked[i] }
	}
	var sum, weight float64
	for i := range sums {
		sum, weight = sum+sums[at(i)], weight+weights[at(i)]
	}
	if weight == 0 {
		return 0, 0
	}
	ratio = sum / weight
	for i := range sums {
		residual := (sums[at(i)] - ratio*weights[at(i)]) / weight
		spread += residual * residual
	}
	n := float64(len(sums))
	return ratio, math.Sqrt(spread * n / (n - 1))
}
