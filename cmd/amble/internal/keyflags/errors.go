package keyflags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Errors rewrites err in terms of flags: an error about a key becomes an error about its flag.
func Errors(err error) error {
	var of *job.Error
	if errors.As(err, &of) && of.Kind == job.Storage {
		return cli.Exit(cli.ExitOutput, err)
	}
	all := leaves(err)
	if len(all) == 0 {
		return nil
	}
	for i, err := range all {
		var key *job.KeyError
		switch {
		case errors.As(err, &key) && key.Key == "hosts": // the key hosts has no flag
			all[i] = fmt.Errorf("key %w", err)
		case key != nil && key.Key != "format": // errors about format already name the flag
			all[i] = fmt.Errorf("--%w", &job.KeyError{Key: flagOf(key.Key), Value: key.Value, Err: key.Err})
		case key != nil:
			all[i] = fmt.Errorf("--%w", err)
		default:
			all[i] = cli.UsageOf("", err)
		}
	}
	return cli.Exit(cli.ExitUsage, errors.Join(all...))
}

// leaves returns the single errors that are joined in err.
func leaves(err error) (all []error) {
	if err == nil {
		return nil
	}
	if of, ok := err.(*job.Error); ok { //nolint:errorlint // one that is wrapped has a text of its own around it
		return leaves(of.Err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	return []error{err}
}

// ParseError returns the command that an error of kong's Parse concerns, and the error to show to users.
func (o *Origins) ParseError(err error) (command string, res error) {
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if n := parse.Context.Selected(); n != nil {
			command = CommandName(n)
		}
	}
	var file *job.FileError
	if errors.As(err, &file) {
		return command, cli.Exit(cli.ExitUsage, file)
	}
	return command, cli.Exit(cli.ExitUsage, errors.New(o.explain(err.Error(), command)))
}

// explain adds to kong's message the origin of a bad value, and advice where kong gives none.
func (o *Origins) explain(msg, command string) string {
	if name, _, ok := strings.Cut(strings.TrimPrefix(msg, "--"), ":"); ok && o.from[name] != "" {
		return o.from[name] + ": " + strings.TrimPrefix(msg, "--")
	}
	if name, _, ok := strings.Cut(strings.TrimPrefix(msg, "--"), " must be one of"); ok && o.from[name] != "" {
		return o.from[name] + ": " + strings.TrimPrefix(msg, "--")
	}
	if name, what, ok := strings.Cut(msg, ": expected "); ok && strings.HasSuffix(what, `"EOL" (<EOL>)`) {
		return name + " needs a value"
	}
	if arg, ok := strings.CutPrefix(msg, "expected \""); ok {
		return "argument missing: " + strings.TrimSuffix(arg, "\"")
	}
	if flag, ok := strings.CutPrefix(msg, "unknown flag "); ok {
		flag, _, _ = strings.Cut(flag, ",")
		if here := equivalent(strings.TrimLeft(flag, "-")); here != "" && describesCrawl(command) {
			return "unknown flag " + flag + ": " + here
		}
	}
	if word, ok := strings.CutPrefix(msg, "unexpected argument "); ok && command == "" {
		if strings.Contains(word, "://") {
			return fmt.Sprintf("%s is not a command: to crawl it say \"amble crawl %s\"", word, word)
		}
		name, _, _ := strings.Cut(word, ",")
		if here := equivalentCommand(name); here != "" {
			return "unknown command " + name + ": " + here
		}
		return "unknown command " + word
	}
	return msg
}

// describesCrawl reports whether the flags of a command describe a crawl.
func describesCrawl(command string) bool {
	return command == "crawl" || command == "resume" || command == "plan" || command == "check"
}
