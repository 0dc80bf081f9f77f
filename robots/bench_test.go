package robots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
)

// benchFile returns a file of about size bytes. Every wildEvery-th rule has a wildcard; 0 means none.
func benchFile(size, wildEvery int) []byte {
	var b strings.Builder
	b.WriteString("# rules for everyone\nUser-agent: *\n")
	for i := 0; b.Len() < size; i++ {
		if wildEvery > 0 && i%wildEvery == 0 {
			fmt.Fprintf(&b, "Disallow: /*/section-%04d/*.html$\n", i)
		} else {
			fmt.Fprintf(&b, "Disallow: /section-%04d/private/\n", i)
		}
	}
	return []byte(b.String())
}

// benchRules returns a file with the given number of rules and groups for other robots. Every wildEvery-th rule has a
// wildcard, of one of three kinds.
func benchRules(rules, wildEvery, others int) []byte {
	var b strings.Builder
	for i := range others {
		fmt.Fprintf(&b, "User-agent: other%d\nDisallow: /\n\n", i)
	}
	b.WriteString("User-agent: *\n")
	for i := range rules {
		switch {
		case wildEvery == 0 || i%wildEvery > 0:
			fmt.Fprintf(&b, "Disallow: /catalogue/section-%04d/private/\n", i)
		case i%(3*wildEvery) == 0:
			fmt.Fprintf(&b, "Disallow: /*?session%d=\n", i)
		case i%(3*wildEvery) == wildEvery:
			fmt.Fprintf(&b, "Disallow: /*/print%d/*.pdf$\n", i)
		default:
			fmt.Fprintf(&b, "Disallow: /catalogue/*/old%d/\n", i)
		}
	}
	return []byte(b.String())
}

const (
	benchHit  = "/catalogue/section-0501/private/item/17.html?colour=blue"
	benchMiss = "/catalogue/section-0501/public/item/17.html?colour=blue"
	benchWild = "/catalogue/item/17.html?session990=0123456789abcdef"
)

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		body []byte
	}{{"literal50KB", benchFile(50<<10, 0)}, {"wild50KB", benchFile(50<<10, 10)}} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(c.body)
			}
		})
		b.Run(c.name+"/ours+For", func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(c.body).For("ExampleBot")
			}
		})
		b.Run(c.name+"/temoto", func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := robotstxt.FromBytes(c.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTest(b *testing.B) {
	for _, c := range []struct {
		name string
		body []byte
		path string
	}{
		{"literal1000/hit", benchRules(1000, 0, 0), benchHit},
		{"literal1000/miss", benchRules(1000, 0, 0), benchMiss},
		{"wild100of1000/hit", benchRules(1000, 10, 0), benchHit},
		{"wild100of1000/miss", benchRules(1000, 10, 0), benchMiss},
		{"wild100of1000/wild", benchRules(1000, 10, 0), benchWild},
		{"groups200/hit", benchRules(1000, 0, 200), benchHit},
	} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			g := Parse(c.body).For("ExampleBot")
			b.ReportAllocs()
			for b.Loop() {
				g.Test(c.path)
			}
		})
		b.Run(c.name+"/temoto", func(b *testing.B) {
			r, err := robotstxt.FromBytes(c.body)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.TestAgent(c.path, "ExampleBot")
			}
		})
	}
}
