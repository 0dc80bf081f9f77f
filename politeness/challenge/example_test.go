package challenge_test

import (
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/politeness/challenge"
)

// A header field says that an answer is a challenge. The same status without it is the site's own answer.
func ExampleOf() {
	fmt.Printf("%q\n", challenge.Of(403, http.Header{"Cf-Mitigated": {"challenge"}}, nil))
	fmt.Printf("%q\n", challenge.Of(403, http.Header{}, []byte("<title>Forbidden</title>")))
	// Output:
	// "Cloudflare"
	// ""
}
