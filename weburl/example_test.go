package weburl_test

import (
	"fmt"

	"github.com/amble-crawler/amble/weburl"
)

func ExampleParse() {
	u, err := weburl.Parse(` HTTP:\\Bücher.example:80/a/../%7Eme?q='x'#top `)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u)
	fmt.Println(u.Host(), u.Origin(), u.PathQuery())
	_, err = weburl.Parse("mailto:someone@example.com")
	fmt.Println(weburl.ReasonOf(err))
	// Output:
	// http://xn--bcher-kva.example/%7Eme?q=%27x%27
	// xn--bcher-kva.example:80 http://xn--bcher-kva.example /%7Eme?q=%27x%27
	// url_scheme
}

func ExampleURL_Resolve() {
	page, _ := weburl.Parse("https://example.com/docs/intro.html?v=1")
	for _, ref := range []string{"../img/logo.png", "?v=2", "//cdn.example.net/x.js", "#top"} {
		u, err := page.Resolve(ref)
		fmt.Println(u, err)
	}
	// Output:
	// https://example.com/img/logo.png <nil>
	// https://example.com/docs/intro.html?v=2 <nil>
	// https://cdn.example.net/x.js <nil>
	// https://example.com/docs/intro.html?v=1 <nil>
}

// String returns the URL as it was found. URLs with the same normal form have the same key.
func ExampleURL_Normal() {
	a, _ := weburl.Parse("http://example.com/%7euser/a%2fb?")
	b, _ := weburl.Parse("http://example.com/~user/a%2Fb")
	fmt.Println(a)
	fmt.Println(a.Normal())
	fmt.Println(a == b, a.Key() == b.Key())
	// Output:
	// http://example.com/%7euser/a%2fb?
	// http://example.com/~user/a%2Fb
	// false true
}

func ExampleProfile() {
	u, _ := weburl.Parse("http://example.com/shop/index.php;jsessionid=8A1F?b=2&utm_source=mail&a=%7e")
	for _, p := range []weburl.Profile{weburl.Exact, weburl.Safe, weburl.Usual} {
		fmt.Println(p, p.Normal(u))
	}
	// Output:
	// exact http://example.com/shop/index.php;jsessionid=8A1F?b=2&utm_source=mail&a=%7e
	// safe http://example.com/shop/index.php;jsessionid=8A1F?b=2&utm_source=mail&a=~
	// usual http://example.com/shop/?a=~&b=2
}

func ExampleResolver() {
	page, _ := weburl.Parse("https://example.com/news/")
	seen := map[weburl.Key]bool{page.Key(): true}
	r := weburl.NewResolver(page, weburl.Safe)
	for _, ref := range []string{"a.html", "./a.html#more", "#top", "tel:110", "/news/b%2ehtml", "b.html"} {
		v, err := r.Resolve(ref)
		if err != nil || seen[v.Key()] {
			continue
		}
		seen[v.Key()] = true
		fmt.Println(v.URL())
	}
	// Output:
	// https://example.com/news/a.html
	// https://example.com/news/b%2ehtml
}
