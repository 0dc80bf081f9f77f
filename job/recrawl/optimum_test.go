package recrawl_test

import (
	"math"
	"slices"
	"testing"

	"github.com/amble-crawler/amble/job/recrawl"
)

func mean(rates, frequencies []float64) (f float64) {
	for i := range rates {
		f += recrawl.Freshness(rates[i], frequencies[i])
	}
	return f / float64(len(rates))
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// The example in section 4.2 of the paper has two pages that change at the rates 1 and 9, and ten requests. The proportional frequencies 1
// and 9 are worse than 5 and 5.
func TestOptimumSpendsTheBudget(t *testing.T) {
	for _, rates := range [][]float64{{1, 9}, {1, 2, 3, 4, 5}, {0.001, 0.01, 0.1, 1, 10, 100, 1000}, {3}} {
		for _, budget := range []float64{0.01, 1, 5, 10, 1000} {
			f, _ := recrawl.Optimum(rates, budget, 0, math.Inf(1))
			if got := sum(f); math.Abs(got-budget) > 1e-6*budget {
				t.Errorf("rates %v: the frequencies %v add up to %v, not %v", rates, f, got, budget)
			}
		}
	}
}

// Moving a part of the frequency from any page to another does not improve the result.
func TestOptimumIsAMaximum(t *testing.T) {
	rates := []float64{0.02, 0.1, 0.3, 1, 2, 5, 40}
	for _, budget := range []float64{0.5, 3, 12} {
		f, _ := recrawl.Optimum(rates, budget, 0, math.Inf(1))
		best := mean(rates, f)
		for i := range f {
			for k := range f {
				if i == k {
					continue
				}
				moved := slices.Clone(f)
				part := min(moved[i], budget/1000)
				moved[i], moved[k] = moved[i]-part, moved[k]+part
				if other := mean(rates, moved); other > best+1e-9 {
					t.Errorf("budget %v: %v moved from page %d to %d: %v is more than %v", budget, part, i, k, other, best)
				}
			}
		}
	}
}

// Table 4.2 of the paper has five pages with the rates 1 to 5, and five requests. The frequencies are 1.15, 1.36, 1.35, 1.14 and 0: the
// last page changes too fast to follow.
func TestOptimumOfThePaper(t *testing.T) {
	f, tooFast := recrawl.Optimum([]float64{1, 2, 3, 4, 5}, 5, 0, math.Inf(1))
	for i, want := range []float64{1.15, 1.36, 1.35, 1.14, 0} {
		if math.Abs(f[i]-want) > 0.005 {
			t.Errorf("page %d: %.4f, the paper has %v", i, f[i], want)
		}
	}
	if tooFast <= 4 || tooFast > 5 {
		t.Errorf("too fast from %v, want between 4 and 5", tooFast)
	}
}

func TestOptimumKeepsItsBounds(t *testing.T) {
	rates := []float64{0.001, 1, 1, 500}
	f, _ := recrawl.Optimum(rates, 3, 0.1, 1.2)
	for i := range f {
		if f[i] < 0.1-1e-12 || f[i] > 1.2+1e-12 {
			t.Errorf("page %d: %v is not between 0.1 and 1.2", i, f[i])
		}
	}
	if f[3] > 0.101 {
		t.Errorf("a page that is too fast gets %v, want the least", f[3])
	}
	if f, tooFast := recrawl.Optimum(rates, 400, 0.1, 24); sum(f) != 96 || !math.IsInf(tooFast, 1) {
		t.Errorf("a budget that is enough for all: %v, too fast from %v", f, tooFast)
	}
	if f, _ := recrawl.Optimum(rates, 0.004, 0.1, 24); sum(f) > 0.004+1e-9 {
		t.Errorf("a budget below the least of all: %v", f)
	}
	if f, _ := recrawl.Optimum(nil, 4, 0.1, 24); len(f) != 0 {
		t.Errorf("no page: %v", f)
	}
}
