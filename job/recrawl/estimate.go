package recrawl

import "math"

// The lowest and highest rates that are distinguished, in changes per day: once in three centuries, and every minute and a half.
const (
	leastRate = 1e-5
	maxRate   = 1e3
)

// Rate returns the estimated rate of changes of a page, in changes per day, given the prior of similar pages. It is the maximum of the
// posterior density of the logarithm of the rate λ. With a Gamma(α, β) prior, its logarithm is, up to a constant,
//
//	α ln λ − βλ − λ Σ quiet + Σ dated (ln λ − λ age) + Σ changed ln(1 − e^(−λ gap))
//
// where quiet is a time without a change, age the time since a dated change, and gap a time with one or more changes (censored). This is
// the likelihood of Cho and Garcia-Molina (2003, section 5.3: irregular visits; section 4.2: with the time of the last change) with a
// conjugate prior, which keeps the rate finite for pages that never or always changed (their section 4.1.2 corrects the same bias by
// half a visit). In ln λ it is concave, so that its derivative
//
//	α + #dated + Σ changed λ gap / (e^(λ gap) − 1) − λ (β + Σ quiet + Σ age)
//
// falls, and has one root, which is found by bisection.
func (h *History) Rate(prior Gamma) float64 {
	events, exposure := prior.Shape, prior.Days
	for _, s := range h.periods {
		switch s.kind {
		case quiet:
			exposure += float64(s.days)
		case dated:
			events++
			exposure += float64(s.days)
		}
	}
	slope := func(rate float64) float64 {
		sum := events - rate*exposure
		for _, s := range h.periods {
			if s.kind == changed {
				sum += overExp(rate * float64(s.days))
			}
		}
		return sum
	}
	low, high := math.Log(leastRate), math.Log(maxRate)
	for range 24 { // bisection: after 24 steps the relative error is about one millionth
		if mid := (low + high) / 2; slope(math.Exp(mid)) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp((low + high) / 2)
}

// logLikelihood returns the logarithm of the probability of the observations, given the rate.
func (h *History) logLikelihood(rate float64) (sum float64) {
	for _, s := range h.periods {
		days := float64(s.days)
		switch s.kind {
		case quiet:
			sum -= rate * days
		case dated:
			sum += math.Log(rate) - rate*days
		case changed:
			sum += math.Log(-math.Expm1(-rate * days))
		}
	}
	return sum
}

// overExp returns x / (e^x − 1), which is 1 at 0.
func overExp(x float64) float64 {
	if x < 1e-9 {
		return 1
	}
	return x / math.Expm1(x)
}
