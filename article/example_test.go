package article_test

import (
	"fmt"
	"log"

	"github.com/amble-crawler/amble/article"
)

// The main text of a page as Markdown, with its title and other metadata.
func Example() {
	page := `<html lang=en><title>Herons | Birds</title><meta property="og:site_name" content="Birds"><meta name=author content="Ada Bird">
<nav><a href=/>Home</a> <a href=/fish>Fish</a></nav>
<article><h1>Herons</h1>
<p>A heron stands still and waits, as <a href="/waiting">other birds</a> do, until a fish comes near enough.</p>
<ol><li>First it waits, for as long as it takes.</li><li>Then it strikes, faster than the eye can see.</li></ol>
<p>At the lake there are three pairs of them this year, and whoever comes early can watch all six.</p></article>
<footer>© Birds, all rights reserved</footer>`
	a, err := article.Read([]byte(page), "https://birds.site.example/herons")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, by %s, %d words\n\n", a.Title, a.Byline, a.Words)
	fmt.Println(a.Markdown())
	// Output:
	// Herons, by Ada Bird, 53 words
	//
	// A heron stands still and waits, as [other birds](https://birds.site.example/waiting) do, until a fish comes near enough.
	//
	// 1. First it waits, for as long as it takes.
	// 2. Then it strikes, faster than the eye can see.
	//
	// At the lake there are three pairs of them this year, and whoever comes early can watch all six.
}
