package openfiles_test

import (
	"fmt"

	"github.com/amble-crawler/amble/job/openfiles"
)

// The queue of a crawl gets a quarter of the files that a process may open; connections get the rest.
func ExampleShare() {
	shares := openfiles.Share(1024)
	fmt.Println(shares.Tables, "tables,", shares.Connections, "connections")
	fmt.Println(openfiles.Check(20))
	// Output:
	// 256 tables, 732 connections
	// this process may have 20 open files (ulimit -n): a crawl needs 48
}
