package stores_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/amble-crawler/amble/stores"
)

// Store a file together with its hash, and read a part of the file.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := stores.OpenDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	ctx, content := context.Background(), []byte("one\ntwo\nthree\n")
	o := stores.Object{Name: "crawl/part-1.txt", Size: int64(len(content)), SHA256: sha256.Sum256(content)}
	if err := store.Put(ctx, o, bytes.NewReader(content)); err != nil {
		log.Fatal(err)
	}
	part, err := store.Get(ctx, o.Name, 4, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer part.Close()
	b, err := io.ReadAll(part)
	fmt.Printf("%s %v\n", b, err)
	for o, err := range store.List(ctx, "crawl/") {
		fmt.Println(o.Name, o.Size, err)
	}
	// Output:
	// two <nil>
	// crawl/part-1.txt 14 <nil>
}
