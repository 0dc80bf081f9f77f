package corpus

import "testing"

// A corpus whose sites state no use and no licence claims neither.
func TestNothingStatedIsLeftOut(t *testing.T) {
	d := (&corpus{}).described()
	for _, key := range []string{"license", "usageInfo"} {
		if v, ok := d[key]; ok {
			t.Errorf("%s is %v", key, v)
		}
	}
}
