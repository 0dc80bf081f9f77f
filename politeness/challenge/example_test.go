package challenge_test

import (
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/politeness/challenge"
)

// A header field marks a response as a challenge. Without it, the same status is an ordinary response.
func ExampleOf() {
	fmt.Printf("%q\n", challenge.Of(403, http.Header{"Cf-Mitigated": {"challenge"}}, nil))
	fmt.Printf("%q\n", challenge.Of(403, http.Header{}, []byte("<title>Forbidden</title>")))
	// Output:
	// "Cloudflare"
	// ""
}
