package demo

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// book is a book in the shop.
type book struct {
	title, author, price string
}

// books lists the shop's articles.
var books = []book{
	{"Walden", "Henry David Thoreau", "9.50"}, {"Middlemarch", "George Eliot", "12.00"}, {"Emma", "Jane Austen", "8.25"},
	{"Dracula", "Bram Stoker", "7.80"}, {"The Time Machine", "H. G. Wells", "6.40"}, {"Ulysses", "James Joyce", "14.90"},
	{"Candide", "Voltaire", "5.95"}, {"Faust", "Johann Wolfgang von Goethe", "10.20"}, {"The Trial", "Franz Kafka", "9.10"},
	{"Effi Briest", "Theodor Fontane", "8.60"}, {"Germinal", "Émile Zola", "11.30"}, {"Fathers and Sons", "Ivan Turgenev", "7.45"},
}

// perShelf is the number of books on a list page.
const perShelf = 4

// shopHost serves a shop with a page for each book, list pages, a catalogue that is not HTML, and a cart that crawlers must not request.
func shopHost(*Web) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /robots.txt", text("User-agent: *\nDisallow: /cart\n"))
	m.HandleFunc("GET /{$}", page("Corner Bookshop", "/shelf/1", "/about", "/cart", "/old"))
	m.HandleFunc("GET /about", page("About us", "/", "/catalogue.pdf", "/closing-sale"))
	m.Handle("GET /old", http.RedirectHandler("/shelf/1", http.StatusMovedPermanently))
	m.HandleFunc("GET /catalogue.pdf", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(rw, catalogue()) // an error means that the client has gone
	})
	for first := 0; first < len(books); first += perShelf {
		n := first/perShelf + 1
		var links []string
		for i := range perShelf {
			links = append(links, fmt.Sprintf("/book/%d", first+i+1))
		}
		if first+perShelf < len(books) {
			links = append(links, fmt.Sprintf("/shelf/%d", n+1))
		}
		m.HandleFunc(fmt.Sprintf("GET /shelf/%d", n), page(fmt.Sprintf("Shelf %d", n), links...))
	}
	for i := range books {
		m.HandleFunc(fmt.Sprintf("GET /book/%d", i+1), bookPage(&books[i], i/perShelf+1))
	}
	return m
}

// bookPage returns a handler that serves the page of a book on the list page with the number shelf.
func bookPage(b *book, shelf int) http.HandlerFunc {
	var s strings.Builder
	fmt.Fprintf(&s, "<!doctype html><title>%s</title><article class=book><h1>%s</h1><p class=author>%s</p><p class=price>%s</p></article>", b.title, b.title, b.author, b.price)
	fmt.Fprintf(&s, "<a href=/shelf/%d>back</a>", shelf)
	return html(s.String())
}

// catalogue returns a PDF file of one page with a line for each book.
func catalogue() string {
	var lines strings.Builder
	for _, b := range books {
		fmt.Fprintf(&lines, "(%s, %s: %s) '", b.title, strings.ReplaceAll(b.author, "É", "\\311"), b.price) // the code of É in WinAnsiEncoding
	}
	content := "BT /F 12 Tf 16 TL 72 720 Td (Catalogue of the Corner Bookshop) Tj " + lines.String() + " ET"
	var file, table strings.Builder
	file.WriteString("%PDF-1.4\n")
	table.WriteString("xref\n0 6\n0000000000 65535 f \n")
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
	} {
		fmt.Fprintf(&table, "%010d 00000 n \n", file.Len())
		fmt.Fprintf(&file, "%d 0 obj %s endobj\n", i+1, object)
	}
	return fmt.Sprintf("%s%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", &file, &table, file.Len())
}
