package politeness

import (
	"math"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limit   Limit
		value   int64
		reached int // the smallest number that reaches the limit
		text    string
	}{{7, 7, 7, "7"}, {Zero, 0, 0, "0"}, {Unlimited, math.MaxInt64, 0, "unlimited"}} {
		if c.limit.Value() != c.value || c.limit.String() != c.text {
			t.Errorf("%d: value %d, text %s", c.limit, c.limit.Value(), c.limit)
		}
		if c.limit == Unlimited {
			if c.limit.Reached(math.MaxInt) {
				t.Error("Unlimited is reached")
			}
		} else if !c.limit.Reached(c.reached) || c.limit.Reached(c.reached-1) {
			t.Errorf("%v is not reached by %d first", c.limit, c.reached)
		}
	}
	if Zero.Valid(Unlimited) || !Zero.Valid(Unlimited, Zero) || !Limit(0).Valid() || Limit(-7).Valid(Unlimited, Zero) {
		t.Error("Valid disagrees with the limits that the fields allow")
	}
}
