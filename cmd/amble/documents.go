package main

import (
	"fmt"
	"os"

	"github.com/amble-crawler/amble/article/document"
)

// readDocument is the argument with which the command starts itself as a reader of one document: see [document.Isolated].
const readDocument = "read-document"

// documents returns a reader of PDF, EPUB and DOCX files. It runs this program as a separate process for each file.
func documents() *document.Isolated {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return &document.Isolated{Command: []string{program, readDocument}}
}

// readsDocument reports whether this process was started to read a document. If so, it reads the document.
func readsDocument() bool {
	if len(os.Args) != 2 || os.Args[1] != readDocument {
		return false
	}
	if err := document.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "amble: read a document: %v\n", err)
		os.Exit(1)
	}
	return true
}
