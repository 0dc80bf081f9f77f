package corpus

import "testing"

// If the sites of a corpus state neither uses nor licences, its documentation claims none.
func TestNothingStatedIsLeftOut(t *testing.T) {
	d := (&corpus{}).described()
	for _, key := range []string{"license", "usageInfo"} {
		if v, ok := d[key]; ok {
			t.Errorf("%s is %v", key, v)
		}
	}
}
