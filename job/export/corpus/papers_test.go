package corpus

import "testing"

// If no site of a corpus states permitted uses or licences, the documentation of the corpus mentions none.
func TestNothingStatedIsLeftOut(t *testing.T) {
	d := (&corpus{}).described()
	for _, key := range []string{"license", "usageInfo"} {
		if v, ok := d[key]; ok {
			t.Errorf("%s is %v", key, v)
		}
	}
}
