package hostmatch_test

import (
	"fmt"
	"net/netip"

	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// The first matching pattern applies to a host. Address ranges are checked after all names.
func Example() {
	table, err := hostmatch.Compile([]string{"www.site.test:8080", "*.site.test", "192.0.2.0/24"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Host("www.site.test:8080"), table.Host("www.site.test:443"), table.Host("else.test:443"))
	fmt.Println(table.Addr(netip.MustParseAddr("192.0.2.7")))
	// Output:
	// 0 1 -1
	// 2
}
