package open_test

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/stores/open"
)

// List a store by the URL that a user has given.
func ExampleURL() {
	store, err := open.URL("file:///")
	if err != nil {
		fmt.Println(err)
		return
	}
	for o, err := range store.List(context.Background(), "no-such-prefix/") {
		fmt.Println(o.Name, err)
	}
	fmt.Println(open.Close(store))
	// Output: <nil>
}
