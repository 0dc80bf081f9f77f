package s3_test

import (
	"fmt"

	"github.com/amble-crawler/amble/stores/s3"
)

// Keys, region and endpoint come from the variables and files of AWS. Open makes no request; the first method call does.
func ExampleOpen() {
	store, err := s3.Open("s3://crawls/2026/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.URL("visits.jsonl"))
	// Output: s3://crawls/2026/shop/visits.jsonl
}
