package recrawl

import (
	"math"
	"slices"
)

// Freshness returns the fraction of time during which a copy equals the page, if the page changes at a rate and is requested at a
// frequency, at equal intervals: (f/λ)(1 − e^(−λ/f)) (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM
// Transactions on Database Systems 28(4), 2003, theorem 4.1).
func Freshness(rate, frequency float64) float64 {
	switch {
	case rate <= 0:
		return 1
	case frequency <= 0:
		return 0
	}
	r := rate / frequency
	return -math.Expm1(-r) / r
}

// Optimum returns the frequencies for pages with these rates of change that maximize the mean freshness and add up to the budget. Each
// frequency is between least and most; least is reduced if the budget does not allow for it. pages may be empty.
//
// It is the solution by a Lagrange multiplier μ of Cho and Garcia-Molina (2003, section 4.3) and of Azar, Horvitz, Lubetzky, Peres and
// Shahaf ("Tractable near-optimal policies for crawling", PNAS 115(32), 2018): the derivative of the freshness of every page that is
// requested, (1 − e^(−r)(1 + r)) / λ with r = λ/f, equals μ. It is at most 1/λ, so that pages with λ > 1/μ change too fast for the budget:
// requests for them gain less than for any other page. They get the frequency least. tooFast is this limit 1/μ, +Inf if there is none.
func Optimum(rates []float64, budget, least, most float64) (frequencies []float64, tooFast float64) {
	n := float64(len(rates))
	frequencies = make([]float64, len(rates))
	if n == 0 || budget <= 0 {
		return frequencies, math.Inf(1)
	}
	least = min(least, budget/n)
	fill := func(multiplier float64) (sum float64) {
		for i, rate := range rates {
			frequencies[i] = min(most, max(least, frequencyAt(rate, multiplier)))
			sum += frequencies[i]
		}
		return sum
	}
	if most*n <= budget {
		fill(0)
		return frequencies, math.Inf(1)
	}
	low, high := math.Log(1e-12), math.Log(2/leastRate)
	for range 45 {
		if mid := (low + high) / 2; fill(math.Exp(mid)) > budget {
			low = mid
		} else {
			high = mid
		}
	}
	// The frequencies for the two multipliers differ, if at all, only for pages that are hardly worth a request.
	above := fill(math.Exp(low))
	more := slices.Clone(frequencies)
	below := fill(math.Exp(high))
	part := 0.0
	if above > below {
		part = min(1, max(0, (budget-below)/(above-below)))
	}
	for i := range frequencies {
		frequencies[i] += (more[i] - frequencies[i]) * part
	}
	return frequencies, math.Exp(-high)
}

// frequencyAt returns the frequency at which the derivative of a page's freshness equals the multiplier, 0 if the derivative is smaller
// at every frequency.
func frequencyAt(rate, multiplier float64) float64 {
	switch y := rate * multiplier; {
	case y >= 1:
		return 0
	case rate <= 0: // the page never changes
		return 0
	case y <= 0:
		return math.Inf(1)
	default:
		return rate / inverse(y)
	}
}

// inverse returns the r at which 1 − e^(−r)(1 + r) is y, for y between 0 and 1, by Newton's method for the logarithms.
func inverse(y float64) float64 {
	r := math.Sqrt(2 * y)
	if y > 0.5 {
		r = 1 - math.Log(1-y)
	}
	for range 30 {
		e := math.Exp(-r)
		f := -math.Expm1(-r) - r*e - y
		step := f / (r * e)
		next := r - step
		if next <= 0 {
			next = r / 2
		}
		if math.Abs(next-r) <= 1e-7*r {
			return next
		}
		r = min(next, 700)
	}
	return r
}
