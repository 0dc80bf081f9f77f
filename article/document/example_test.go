package document_test

import (
	"context"
	"fmt"
	"log"

	"github.com/amble-crawler/amble/article/document"
)

// Read a PDF file of your own. Read foreign files with a [document.Isolated], which starts a process for each.
func Example() {
	body := onePage("BT /F1 20 Tf 50 700 Td (Herons) Tj /F1 10 Tf 0 -40 Td (Three pairs were seen at the lake.) Tj ET")
	d, err := document.Read(context.Background(), body, document.Type(body))
	if err != nil {
		log.Fatal(err)
	}
	a, err := d.Article("")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(d.Pages), "page")
	fmt.Println(a.Markdown())
	// Output:
	// 1 page
	// ## Herons
	//
	// Three pairs were seen at the lake.
}
