// Package operator reads the operator's input: the identity of the crawler, and URLs. Its errors say what is wrong and how to correct it.
//
// Reading order: who.go (the crawler's identity), urls.go (seeds, and files of them).
package operator

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Identity returns the crawler's identity for a crawl of these URLs. The contact may be missing only if all URLs are on loopback.
func Identity(cfg *crawler.Config, urls []weburl.URL) (politeness.Identity, error) {
	id := cfg.Identity()
	alone := func(flag string, id politeness.Identity) error { return cli.UsageOf(flag+": ", id.Validate(true)) }
	err := errors.Join(alone("--agent", politeness.Identity{Product: id.Product, Version: id.Version}),
		alone("--promises", politeness.Identity{Product: "x", Promises: id.Promises}))
	switch {
	case id.Contact == "" && !job.OnLoopback(urls):
		err = errors.Join(err, cli.Usage("--contact is missing: give a web page or mail address where site owners reach you"+
			" (or AMBLE_CONTACT, or the key contact in a job file)"))
	case id.Contact != "":
		err = errors.Join(err, CheckContact(id.Contact))
	}
	return id, err
}

// CheckContact returns an error about an invalid contact.
func CheckContact(contact string) error {
	return cli.UsageOf("--contact: ", politeness.Identity{Product: "x", Contact: contact}.Validate(false))
}

// PublicIdentity returns the crawler's identity for publication, which needs a contact.
func PublicIdentity(cfg *crawler.Config) (politeness.Identity, error) {
	id := cfg.Identity()
	return id, cli.UsageOf("--agent, --contact, --promises: ", id.Validate(false))
}

// RobotsName returns the crawler's name in robots.txt files. If agent is a whole User-Agent header, it also prints the name, which may not
// be the one that the operator expects.
func RobotsName(errs io.Writer, agent string) (string, error) {
	name := robots.ProductToken(agent)
	product, _, _ := strings.Cut(agent, "/")
	switch {
	case name == "":
		return "", cli.Usage("--agent %q: want a name, as in mybot or mybot/1.0", agent)
	case strings.ContainsAny(agent, " ;("):
		fmt.Fprintf(errs, "amble: robots.txt is read for %q\n", name)
	case name != product:
		return "", cli.Usage("--agent %q: a robots.txt can name letters, digits, - and _ only: it would be read for %q", agent, name)
	}
	return name, nil
}
