package demo

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// book is one of the shop's.
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

// perShelf is the number of books that a page lists.
const perShelf = 4

// shopHost is a shop with a page for each book, lists of them, a catalogue that is no page, and a cart for nobody's crawler.
func shopHost(*Web) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /robots.txt", text("User-agent: *\nDisallow: /cart\n"))
	m.HandleFunc("GET /{$}", page("Corner Bookshop", "/shelf/1", "/about", "/cart", "/old"))
	m.HandleFunc("GET /about", page("About us", "/", "/catalogue.pdf", "/closing-sale"))
	m.Handle("GET /old", http.RedirectHandler("/shelf/1", http.StatusMovedPermanently))
	m.HandleFunc("GET /catalogue.pdf", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(rw, "%PDF-1.4\n%%EOF\n") // an error means that the client has gone
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

// bookPage is the page of a book on a shelf.
func bookPage(b *book, shelf int) http.HandlerFunc {
	var s strings.Builder
	fmt.Fprintf(&s, "<!doctype html><title>%s</title><article class=book><h1>%s</h1><p class=author>%s</p><p class=price>%s</p></article>", b.title, b.title, b.author, b.price)
	fmt.Fprintf(&s, "<a href=/shelf/%d>back</a>", shelf)
	return html(s.String())
}
