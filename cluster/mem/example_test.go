package mem_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
)

// Two nodes append to the journal of a shard. The node that does not know the record of the other one is refused.
func Example() {
	ctx := context.Background()
	server := mem.New()
	a, b := server.Connect(), server.Connect()
	_, err := a.Append(ctx, 0, cluster.Nonce{1}, []byte("a owns the shard"), 0)
	fmt.Println(err)
	_, err = b.Append(ctx, 0, cluster.Nonce{2}, []byte("b owns the shard"), 0)
	fmt.Println(errors.Is(err, cluster.ErrFenced))
	// Output:
	// <nil>
	// true
}
