package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// whoCrawls checks who crawls. The contact may be missing only if nothing but loopback is requested.
func whoCrawls(agent, contact string, urls []weburl.URL) (politeness.Identity, error) {
	name, version, _ := strings.Cut(agent, "/")
	id := politeness.Identity{Product: name, Version: version, Contact: contact}
	bare := id
	bare.Contact = ""
	err := cli.UsageOf("--agent: ", bare.Validate(true))
	switch {
	case contact == "" && !job.OnLoopback(urls):
		err = errors.Join(err, cli.Usage("--contact is missing: give a web page or mail address where site owners reach you"+
			" (or AMBLE_CONTACT, or the key contact in a job file)"))
	case contact != "":
		err = errors.Join(err, cli.UsageOf("--contact: ", politeness.Identity{Product: "x", Contact: contact}.Validate(true)))
	}
	return id, err
}

// robotsName returns the name that robots.txt is read for. If agent is a whole User-Agent header, the name is printed,
// because it may differ from the expected one.
func robotsName(a *app, agent string) (string, error) {
	name := robots.ProductToken(agent)
	product, _, _ := strings.Cut(agent, "/")
	switch {
	case name == "":
		return "", cli.Usage("--agent %q: want a name, as in mybot or mybot/1.0", agent)
	case strings.ContainsAny(agent, " ;("):
		fmt.Fprintf(a.err, "amble: robots.txt is read for %q\n", name)
	case name != product:
		return "", cli.Usage("--agent %q: a robots.txt can name letters, digits, - and _ only: it would be read for %q", agent, name)
	}
	return name, nil
}

// firstUsage joins all errors into one about the user's input, or returns nil if there are none.
func firstUsage(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return cli.Exit(cli.ExitUsage, err)
}
