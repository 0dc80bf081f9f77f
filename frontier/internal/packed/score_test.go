package packed

import (
	"math"
	"testing"
)

// TestRanksKeepTheOrderOfScores checks that ranks sort like scores, however small or large, and that a score with few
// digits survives the conversion.
func TestRanksKeepTheOrderOfScores(t *testing.T) {
	last := int32(math.MinInt32)
	for _, s := range []float64{math.Inf(-1), -1e30, -3, -1, -0.5, -1e-20, 0, 1e-20, 0.25, 0.5, 0.501, 1, 2.5, 1e9, math.MaxFloat64} {
		r := Rank(s)
		if r <= last {
			t.Errorf("the rank of %v is %d, after %d", s, r, last)
		}
		if fine := Fine(r); fine == 0 || fine >= 1<<24 || RankOf(fine) != r || Rank(Score(r)) != r {
			t.Errorf("%v: rank %d, fine %d, back %d, %v", s, r, fine, RankOf(fine), Score(r))
		}
		last = r
	}
	for _, s := range []float64{0, -3, 0.5, 2.5, -0.25} {
		if got := Score(Rank(s)); got != s {
			t.Errorf("%v became %v", s, got)
		}
	}
	if Rank(math.NaN()) != 0 || Rank(math.Copysign(0, -1)) != 0 {
		t.Error("NaN and -0 do not have the rank of 0")
	}
}
