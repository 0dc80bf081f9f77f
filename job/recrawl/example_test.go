package recrawl_test

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/job/recrawl"
)

// Four daily visits have found one change. The estimate lies between that rate and the rate that is assumed for any page.
func ExampleHistory_Rate() {
	var h recrawl.History
	for _, changed := range []bool{false, true, false, false} {
		h.Add(24*time.Hour, changed, 0)
	}
	fmt.Printf("%.2f changes a day\n", h.Rate(recrawl.Unknown()))
	// Output:
	// 0.08 changes a day
}

// With two requests a day, most requests go to the page that changes once a day. A copy of the page that changes every few minutes would be
// outdated before anybody reads it, so this page gets the fewest requests.
func ExampleOptimum() {
	rates := []float64{0.1, 1, 300}
	frequencies, _ := recrawl.Optimum(rates, 2, 0.01, 24)
	for i, f := range frequencies {
		fmt.Printf("%.1f changes a day: %.2f requests\n", rates[i], f)
	}
	// Output:
	// 0.1 changes a day: 0.54 requests
	// 1.0 changes a day: 1.45 requests
	// 300.0 changes a day: 0.01 requests
}
