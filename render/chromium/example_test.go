package chromium_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/weburl"
)

// A Renderer shows a page in a browser without a network. Requests are answered from Have, which is empty here.
func ExampleRenderer_Round() {
	ctx := context.Background()
	page, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := chromium.New(ctx, chromium.Config{Isolation: chromium.Namespace})
	var unusable *chromium.Error
	if errors.As(err, &unusable) {
		fmt.Println(unusable.Reason, unusable.Text) // no browser, or no way to isolate it
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	result, err := r.Round(ctx, render.Task{
		URL: page, Agent: "example/1", Time: time.Now(),
		Document: render.Answer{Status: 200, Body: []byte(`<p id=p></p><script>p.textContent = "by a script"</script>`)},
		Have:     func(render.Want) render.Decision { return render.Decision{Refuse: render.ReasonHost} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, after %v of the page's clock\n", result.DOM, result.Virtual)
}
