package cluster

import "testing"

func TestEpochsOfNames(t *testing.T) {
	for s, want := range map[string]struct {
		name  string
		epoch uint64
		ok    bool
	}{
		"visits.jsonl@12": {"visits.jsonl", 12, true},
		"a@b@3":           {"a@b", 3, true},
		"visits.jsonl":    {},
		"x@":              {"x", 0, false},
	} {
		name, epoch, ok := cutEpoch(s)
		if name != want.name || epoch != want.epoch || ok != want.ok {
			t.Errorf("%s: %q, %d, %t", s, name, epoch, ok)
		}
		if ok && atEpoch(name, epoch) != s {
			t.Errorf("%s is written %s", s, atEpoch(name, epoch))
		}
	}
}
