// Command trace finds the bytes of each row of a corpus in the archives that it was made from: it prints whether they are there, and
// the address of an earlier page with the same bytes.
//
//	zstdcat birds-corpus/part-*.zst | go run trace.go birds/warc
//
// Errors are ignored: a row whose bytes cannot be read is one that is not there. Bodies in other codings than gzip need one more case.
package main

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
)

func main() {
	for rows := json.NewDecoder(os.Stdin); rows.More(); {
		var row struct {
			URL, WARC, SHA256 string
			Offset            int64
		}
		rows.Decode(&row)
		f, _ := os.Open(filepath.Join(os.Args[1], row.WARC))
		f.Seek(row.Offset, io.SeekStart)
		member, _ := gzip.NewReader(f)
		record := bufio.NewReader(member)
		record.ReadString('\n') // WARC/1.1
		fields, _ := textproto.NewReader(record).ReadMIMEHeader()
		answer, _ := http.ReadResponse(record, nil)
		if answer.Header.Get("Content-Encoding") == "gzip" {
			answer.Body, _ = gzip.NewReader(answer.Body)
		}
		page, _ := io.ReadAll(answer.Body)
		fmt.Println(fmt.Sprintf("%x", sha256.Sum256(page)) == row.SHA256, fields.Get("WARC-Refers-To-Target-URI"), row.URL)
		f.Close()
	}
}
