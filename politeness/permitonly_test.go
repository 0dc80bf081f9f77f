package politeness_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// These tests use only the exported API of the package, from outside: no program can get around a Permit.

func newGate(t *testing.T) *politeness.Gate {
	t.Helper()
	g, err := politeness.NewGate(politeness.Config{
		Identity: politeness.Identity{Product: "testbot", Version: "1.0", Contact: "https://lab.university.edu/crawl"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func permit(t *testing.T, g *politeness.Gate, host string, addr byte) politeness.Permit {
	t.Helper()
	u, err := weburl.Parse("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Admit(politeness.Request{URL: u, Next: g.Next(u), Addr: netip.AddrFrom4([4]byte{192, 0, 2, addr})})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNothingIsAllowedWithoutAPermit(t *testing.T) {
	var zero politeness.Permit
	if _, err := zero.Redeem(); !errors.Is(err, politeness.ErrNoPermit) || !zero.IsZero() {
		t.Errorf("zero Permit: %v", err)
	}
	var forged politeness.Grant
	if err := forged.Begin(); !errors.Is(err, politeness.ErrNoPermit) || forged.Begun() {
		t.Errorf("zero Grant: %v", err)
	}
	if !forged.URL().IsZero() || forged.Addr().IsValid() || forged.UserAgent() != "" || forged.Purpose() != politeness.Page {
		t.Error("a zero Grant names something")
	}
	if !zero.URL().IsZero() || zero.ID() != 0 || len(zero.Clauses()) != 0 || zero.Purpose() != politeness.Page || !zero.Expires().IsZero() {
		t.Error("a zero Permit names something")
	}
	newGate(t).Report(zero, politeness.Reply{Status: 200})
	var read struct{ P politeness.Permit }
	if err := json.Unmarshal([]byte(`{"P":{"p":{"id":1}}}`), &read); err != nil || !read.P.IsZero() {
		t.Errorf("a Permit from JSON: %v", err)
	}
}

func TestAPermitAllowsOneRequestHoweverItIsUsed(t *testing.T) {
	redeem := func(p politeness.Permit) error { _, err := p.Redeem(); return err }
	for _, c := range []struct {
		name string
		use  func(g *politeness.Gate, p politeness.Permit) error // must fail with its last step
		want error
	}{
		{"a copy after the original", func(_ *politeness.Gate, p politeness.Permit) error {
			c := p
			_ = redeem(p)
			return redeem(c)
		}, politeness.ErrUsed},
		{"Begin twice", func(_ *politeness.Gate, p politeness.Permit) error {
			g, _ := p.Redeem()
			_ = g.Begin()
			return g.Begin()
		}, politeness.ErrUsed},
		{"Begin on a copy of the Grant", func(_ *politeness.Gate, p politeness.Permit) error {
			g, _ := p.Redeem()
			c := g
			_ = g.Begin()
			return c.Begin()
		}, politeness.ErrUsed},
		{"Redeem after Report", func(g *politeness.Gate, p politeness.Permit) error {
			g.Report(p, politeness.Reply{})
			return redeem(p)
		}, politeness.ErrUsed},
		{"Begin after Report", func(g *politeness.Gate, p politeness.Permit) error {
			grant, _ := p.Redeem()
			g.Report(p, politeness.Reply{})
			return grant.Begin()
		}, politeness.ErrUsed},
		{"Redeem after expiry", func(_ *politeness.Gate, p politeness.Permit) error {
			time.Sleep(time.Until(p.Expires()) + 1)
			return redeem(p)
		}, politeness.ErrExpired},
		{"Begin after expiry", func(_ *politeness.Gate, p politeness.Permit) error {
			g, _ := p.Redeem()
			time.Sleep(time.Until(p.Expires()) + 1)
			return g.Begin()
		}, politeness.ErrExpired},
		{"a Report to another Gate frees nothing", func(g *politeness.Gate, p politeness.Permit) error {
			newGate(t).Report(p, politeness.Reply{})
			_, err := g.Admit(politeness.Request{URL: p.URL(), Next: g.Next(p.URL()), Addr: netip.MustParseAddr("192.0.2.1")})
			if w := (*politeness.NotYet)(nil); errors.As(err, &w) {
				return politeness.ErrUsed
			}
			return err
		}, politeness.ErrUsed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				if err := c.use(g, permit(t, g, "a.test", 1)); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestAGrantIsForItsPermitsURLAndAddressAlone(t *testing.T) {
	g := newGate(t)
	p, q := permit(t, g, "a.test", 1), permit(t, g, "b.test", 2)
	gp, err1 := p.Redeem()
	gq, err2 := q.Redeem()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if gp.URL() != p.URL() || gq.URL() != q.URL() || gp.Addr() == gq.Addr() || gp.UserAgent() != g.UserAgent() {
		t.Errorf("grants for %v at %v and %v at %v", gp.URL(), gp.Addr(), gq.URL(), gq.Addr())
	}
	for _, c := range p.Clauses() {
		c.Name = "forged"
	}
	if err := gp.Begin(); err != nil || !gp.Begun() || gq.Begun() {
		t.Errorf("Begin of one is not Begin of another: %v", err)
	}
}

// TestOnlyAdmitAndRedeemReturnPermitsAndGrants checks with the type checker that only Admit and Redeem return a Permit or a Grant: no
// other exported function, method, field or variable does, and neither type converts into the other.
func TestOnlyAdmitAndRedeemReturnPermitsAndGrants(t *testing.T) {
	pkg := check(t)
	makes := map[string][]string{}
	secret := map[types.Type]string{}
	for _, name := range []string{"Permit", "Grant"} {
		secret[pkg.Scope().Lookup(name).Type()] = name
	}
	note := func(where string, typ types.Type) {
		for _, name := range reach(typ, secret, map[types.Type]bool{}) {
			makes[name] = append(makes[name], where)
		}
	}
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch o := obj.(type) {
		case *types.Func:
			note(name, o.Type().(*types.Signature).Results())
		case *types.Var:
			note(name, o.Type())
		case *types.TypeName:
			methods := types.NewMethodSet(types.NewPointer(o.Type()))
			for m := range methods.Methods() {
				if m.Obj().Exported() {
					note(name+"."+m.Obj().Name(), m.Type().(*types.Signature).Results())
				}
			}
			if secret[o.Type()] == "" {
				note(name, o.Type().Underlying())
			}
		}
	}
	want := map[string][]string{"Permit": {"Gate.Admit"}, "Grant": {"Permit.Redeem"}}
	for name, where := range want {
		if !slices.Equal(makes[name], where) {
			t.Errorf("a %s comes from %v, want %v", name, makes[name], where)
		}
	}
	permit, grant := pkg.Scope().Lookup("Permit").Type(), pkg.Scope().Lookup("Grant").Type()
	if types.ConvertibleTo(permit, grant) || types.ConvertibleTo(grant, permit) {
		t.Error("Permit and Grant can be converted into one another")
	}
	for _, typ := range []types.Type{permit, grant} {
		for f := range typ.Underlying().(*types.Struct).Fields() {
			if f.Exported() {
				t.Errorf("%v has an exported field %s", typ, f.Name())
			}
		}
	}
}

// reach returns the names of secret types that can be reached from a value of the type typ without calling a function.
func reach(typ types.Type, secret map[types.Type]string, seen map[types.Type]bool) (found []string) {
	if name := secret[typ]; name != "" {
		return []string{name}
	}
	if seen[typ] {
		return nil
	}
	seen[typ] = true
	into := func(t types.Type) { found = append(found, reach(t, secret, seen)...) }
	switch u := typ.Underlying().(type) {
	case *types.Pointer:
		into(u.Elem())
	case *types.Slice:
		into(u.Elem())
	case *types.Array:
		into(u.Elem())
	case *types.Chan:
		into(u.Elem())
	case *types.Map:
		into(u.Key())
		into(u.Elem())
	case *types.Signature:
		into(u.Results())
	case *types.Tuple:
		for v := range u.Variables() {
			into(v.Type())
		}
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				into(f.Type())
			}
		}
	}
	return found
}

// check type-checks the package without the packages that it imports. Types of imported packages stay unknown, but no declaration of Permit
// or Grant depends on these.
func check(t *testing.T) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{IgnoreFuncBodies: true, Error: func(error) {}, Importer: unknown{}}
	pkg, _ := conf.Check("politeness", fset, files, nil)
	return pkg
}

// unknown is an importer for which every package is empty.
type unknown struct{}

func (unknown) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}
