package report

import (
	"slices"
	"testing"

	"github.com/amble-crawler/amble/job/digest"
)

// TestNoTimeIsLost checks that each clause that can cause a pause belongs to exactly one of the causes in the drawing.
func TestNoTimeIsLost(t *testing.T) {
	for _, name := range digest.Clauses() {
		drawn := 0
		for _, c := range causes {
			if slices.Contains(c.clauses, name) {
				drawn++
			}
		}
		if name != "" && drawn != 1 {
			t.Errorf("pauses owed to %s are drawn %d times", name, drawn)
		}
	}
}
