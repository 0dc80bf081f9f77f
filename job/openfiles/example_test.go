package openfiles_test

import (
	"fmt"

	"github.com/amble-crawler/amble/job/openfiles"
)

// Of the files that a process may open, the queue of a crawl gets a quarter. The rest, except for a reserve, is for connections.
func ExampleShare() {
	shares := openfiles.Share(1024)
	fmt.Println(shares.Tables, "tables,", shares.Connections, "connections")
	fmt.Println(openfiles.Check(20))
	// Output:
	// 256 tables, 732 connections
	// this process may have 20 open files (ulimit -n): a crawl needs 48
}
