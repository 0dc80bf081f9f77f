package nats_test

import (
	"context"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/nats"
	"github.com/amble-crawler/amble/cluster/natsserver"
)

// Start a server in this process, and open the host clocks that all crawls on the server share. In production the servers run separately,
// and Config.URLs names them.
func Example() {
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := natsserver.Start(natsserver.Config{Name: "s1", Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	store, err := nats.ConnectClocks(context.Background(), nats.Config{URLs: server.URL()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	clocks := cluster.NewClocks(context.Background(), store, "", 0)
	clocks.Close()
	fmt.Println("away:", clocks.Err())
	// Output: away: <nil>
}
