package natsserver_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/amble-crawler/amble/cluster/natsserver"
)

// Start an engine's server in this process, on a free loopback port. It stores everything in a directory; a later server continues there.
func Example() {
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := natsserver.Start(natsserver.Config{Name: "first", Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	fmt.Println(strings.HasPrefix(server.URL(), "nats://127.0.0.1:"))
	// Output: true
}
