package css_test

import (
	"fmt"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/extract/css"
)

func Example() {
	type Product struct {
		Name  string   `css:"h1"`
		Price float64  `css:".price"`
		Image string   `css:"img" attr:"src"`
		Tags  []string `css:".tag"`
	}
	tree, err := extract.Tree([]byte(`<h1>A lamp</h1> <img src="/lamp.png"> <b class=price>9,50</b> <i class=tag>oak</i>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var p Product
	err = css.Unmarshal(tree, &p)
	fmt.Printf("%+v\n%v\n", p, err)
	// Output:
	// {Name:A lamp Price:0 Image:/lamp.png Tags:[oak]}
	// css: field Product.Price, selector ".price": "9,50": invalid syntax
}

func ExampleText() {
	tree, err := extract.Tree([]byte("<h1>Lamps</h1><ul class=list><li>Oak <b>lamp</b><li>Tin lamp</ul>"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(css.Text(tree, css.MustCompile("h1")))
	for _, li := range css.All(tree, css.MustCompile(".list > li")) {
		fmt.Println(css.Text(li, nil))
	}
	// Output:
	// Lamps
	// Oak lamp
	// Tin lamp
}
