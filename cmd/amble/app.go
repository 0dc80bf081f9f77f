package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// app is one invocation of the command: its input, outputs and environment.
type app struct {
	in      io.Reader
	out     *cli.Stdout
	err     io.Writer
	env     func(string) (string, bool)
	environ func() []string
	notify  func(chan<- os.Signal) // starts sending SIGINT and SIGTERM to the channel
	ignore  func(chan<- os.Signal) // stops sending signals to the channel; afterwards the signals end the process
	exit    func(int)              // called on the third signal, with the exit code
	all     bool                   // whether --help lists all flags
	copies  []storedCopy           // local copies of jobs in stores

	notKept  []string // job arguments that name no kept job
	restored string   // URL of the store whose job is resumed
	ended    error    // set if the job in the store has nothing left to do
}

// commands is the command line. Kong reads flags, defaults and help texts from its tags.
type commands struct {
	Crawl      crawlCmd      `cmd:"" group:"Crawl:" help:"Crawl from the given seeds."`
	Resume     resumeCmd     `cmd:"" group:"Crawl:" help:"Resume a crawl that was stopped, killed or limited."`
	Watch      watchCmd      `cmd:"" group:"Crawl:" help:"Request the pages of a crawl again, each as often as it is worth it."`
	Cluster    clusterCmd    `cmd:"" group:"Crawl:" help:"Crawl with several machines."`
	Serve      serveCmd      `cmd:"" group:"Crawl:" help:"Run jobs for other programs, by an HTTP API."`
	MCP        mcpCmd        `cmd:"" name:"mcp" group:"Crawl:" help:"Let agents read the web, by the Model Context Protocol."`
	Demo       demoCmd       `cmd:"" group:"Crawl:" help:"Crawl a small web that the command itself serves on loopback."`
	Capture    captureCmd    `cmd:"" group:"Crawl:" help:"Write real pages as a test web for Go programs."`
	Mirror     mirrorCmd     `cmd:"" group:"Crawl:" help:"Copy a site to files that a browser opens, and update the copy."`
	Show       showCmd       `cmd:"" group:"Look:" help:"Show the state and the results of a crawl, and whether it was polite."`
	Report     reportCmd     `cmd:"" hidden:"" group:"Look:" help:"Print the summary of a crawl again, and write it as a page."`
	Export     exportCmd     `cmd:"" group:"Look:" help:"Write a crawl as tables, a log or an archive for other programs."`
	Explain    explainCmd    `cmd:"" group:"Look:" help:"Say what a crawl would do, or did, with a URL, and why."`
	Links      linksCmd      `cmd:"" hidden:"" group:"Look:" help:"List the links of a page, and what a crawl would do with each."`
	Status     statusCmd     `cmd:"" hidden:"" group:"Look:" help:"Say how a crawl stands: what is left, and what each host waits for."`
	Jobs       jobsCmd       `cmd:"" group:"Look:" help:"List the crawls that were kept, and remove some."`
	Text       textCmd       `cmd:"" group:"Look:" help:"Print the main text of a page, as text, Markdown or JSON."`
	Diff       diffCmd       `cmd:"" hidden:"" group:"Look:" help:"Say which pages are new, gone, changed or moved between two crawls."`
	Shell      shellCmd      `cmd:"" hidden:"" group:"Look:" help:"Try selectors, links and rules on a page, on the web or recorded."`
	Estimate   estimateCmd   `cmd:"" group:"Look:" help:"Estimate from a sample what is true of all pages listed, with intervals."`
	Check      checkCmd      `cmd:"" group:"Check:" help:"Find broken links, with the pages that have them, and what else is to mend."`
	Plan       planCmd       `cmd:"" hidden:"" group:"Check:" help:"Say how long a polite crawl will take at least, and what decides it."`
	Robots     robotsCmd     `cmd:"" hidden:"" group:"Check:" help:"Judge URLs by robots.txt, and say why."`
	Verify     verifyCmd     `cmd:"" group:"Check:" help:"Check the ledger of a crawl against the politeness invariants."`
	Replay     replayCmd     `cmd:"" hidden:"" group:"Check:" help:"Make a whole crawl again from its archive, and say what differs."`
	Identity   identityCmd   `cmd:"" group:"Set up:" help:"Make, publish and check what sites recognise the crawler by."`
	Completion completionCmd `cmd:"" hidden:"" group:"Set up:" help:"Print a completion script for a shell."`
	Version    versionCmd    `cmd:"" hidden:"" group:"Set up:" help:"Print version and build."`

	HelpAll        bool           `name:"help-all" help:"Show help with all flags."`
	ShowVersion    versionFlag    `name:"version" help:"Print version and build."`
	ShowCompletion completionFlag `name:"completion" hidden:"" placeholder:"SHELL" help:"Print a completion script for bash, zsh or fish."`
}

// renamed maps old command names to the commands that replace them. They work in this version, and no help lists them.
var renamed = map[string]string{
	"status": "amble show JOB", "report": "amble show JOB", "links": "amble explain --links PAGE", "shell": "amble explain --shell PAGE",
	"replay": "amble verify --replay JOB", "robots": "amble explain --robots URL", "version": "amble --version",
	"plan": "amble crawl --plan URL", "diff": "amble show NEW --since OLD", "completion": "amble --completion SHELL", "cluster create": "amble crawl --job NAME URL",
	"cluster status": "amble cluster job status", "cluster stop": "amble cluster job stop", "cluster resume": "amble cluster job resume",
	"cluster collect": "amble cluster job collect", "cluster check": "amble cluster job check",
}

// dumb reports whether the terminal has no control sequences, according to its name.
func (a *app) dumb() bool {
	kind, _ := a.env("TERM")
	return kind == "dumb"
}

// view returns the view that shows a crawl to a person.
func (a *app) view(f view.Flags) *view.View { return view.New(f, a.out, a.err, a.env) }

// logs returns a function that writes a line to stderr, in the given --log-format. It may be called concurrently.
func (a *app) logs(form string) func(text string) {
	if form == "json" {
		log := slog.New(slog.NewJSONHandler(a.err, nil))
		return func(text string) { log.Info(text) }
	}
	return func(text string) { fmt.Fprintf(a.err, "amble: %s\n", text) }
}

// crawlGroups are the groups of keys that describe a crawl, with their titles in help texts.
var crawlGroups = map[job.Group]string{
	job.Who: "Who crawls:", job.Reach: "What:", job.InScope: "What:", job.Pace: "How politely:", job.Amount: "How much:",
	job.Access: "Which way:", job.State: "Which way:", job.Network: "Which way:", job.Rendering: "Pages made by scripts:", job.Output: "Output:",
}

// newCommands returns the commands. It makes the flags of the keys for one command, whose name is only, or for all commands if only is "".
func newCommands(only string) *commands {
	c := new(commands)
	network := map[job.Group]string{job.Who: "Who crawls:", job.Access: "Which way:", job.Network: "Which way:"}
	page := map[job.Group]string{
		job.InScope: "What a crawl from this page would follow:", job.Who: "Who crawls:", job.Access: "Which way:", job.Network: "Which way:",
	}
	site := map[job.Group]string{
		job.Who: "Who crawls:", job.Reach: "What:", job.InScope: "What:", job.Pace: "How politely:", job.Amount: "How much:", job.Access: "Which way:", job.State: "Which way:", job.Network: "Which way:",
	}
	for _, x := range []struct {
		command string
		flags   *kong.Plugins
		groups  map[job.Group]string
	}{
		{"crawl", &c.Crawl.Plugins, crawlGroups},
		{"resume", &c.Resume.Plugins, crawlGroups},
		{"cluster", &c.Cluster.Create.Plugins, crawlGroups},
		{"capture", &c.Capture.Plugins, site},
		{"mirror", &c.Mirror.Plugins, site},
		{"check", &c.Check.Plugins, site},
		{"links", &c.Links.Plugins, page},
		{"shell", &c.Shell.Plugins, page},
		{"text", &c.Text.Plugins, network},
		{"robots", &c.Robots.Plugins, map[job.Group]string{job.Who: "", job.Access: "", job.Network: ""}},
		{"identity", &c.Identity.Plugins, map[job.Group]string{job.Who: "As in the crawl:", job.Pace: "As in the crawl:", job.Network: "Which way:"}},
		{"explain", &c.Explain.Plugins, map[job.Group]string{
			job.InScope: "What:", job.Pace: "How politely:", job.Who: "Who crawls:", job.Access: "Which way:", job.Network: "Which way:",
		}},
		{"plan", &c.Plan.Plugins, map[job.Group]string{
			job.Who: "Who crawls:", job.InScope: "What:", job.Pace: "How politely:", job.Amount: "How much:", job.Access: "Which way:", job.Network: "Which way:",
		}},
	} {
		if only == "" || only == x.command {
			*x.flags = keyflags.Of(x.groups)
		}
	}
	return c
}

// isCommand reports whether the command line has a command with that name.
func isCommand(name string) bool {
	f, found := reflect.TypeFor[commands]().FieldByNameFunc(func(field string) bool { return strings.ToLower(field) == name })
	_, command := f.Tag.Lookup("cmd")
	return found && command
}

// readable returns c in the form that kong parses. It has only one command, because parsing the tags of all commands takes longer than
// most commands run. If the name only is "", it has all commands.
func (c *commands) readable(only string) any {
	if only == "" {
		return c
	}
	fields := reflect.VisibleFields(reflect.TypeFor[commands]())
	for i, f := range fields {
		if _, command := f.Tag.Lookup("cmd"); command && strings.ToLower(f.Name) != only {
			fields[i].Tag = `kong:"-"`
		}
	}
	return reflect.ValueOf(c).Convert(reflect.PointerTo(reflect.StructOf(fields))).Interface()
}

const description = `amble runs bounded, polite crawls.

Examples:

	amble demo
	amble crawl --contact me@university.edu https://site.to.crawl/
	amble explain --contact me@university.edu https://site.to.crawl/some/page

Results go to stdout, everything else to stderr. "amble help COMMAND" has the flags of a command that a first week needs, "amble COMMAND --help-all" all. Every
flag may also be set in the environment (--max-pages as AMBLE_MAX_PAGES) or in a job file (--config). "amble --completion SHELL" prints a completion script for bash, zsh
or fish. What amble promises to site owners is in docs/politeness.md.`

// run parses and executes args and returns the exit code.
func (a *app) run(args []string) (code int) {
	defer func() { code = a.survive(recover(), code) }()
	defer a.removeCopies()
	origins := keyflags.New(a.env)
	if i := slices.Index(args, "--help-all"); i >= 0 {
		a.all, args = true, slices.Clone(args)
		args[i] = "--help"
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(args[1:len(args):len(args)], "--help")
	}
	only := ""
	if isCommand(args[0]) {
		only = args[0]
	}
	parser, err := a.parser(only, origins)
	if err != nil {
		return a.complain(err, "")
	}
	if len(args) > 1 && args[0] == "cluster" && isJobAction(args[1]) { // "cluster resume NAME" and the like, without "job"
		args = slices.Insert(slices.Clone(args), 1, "job")
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		command, err := origins.ParseError(err)
		return a.complain(err, command)
	}
	origins.Parsed(ctx)
	for _, wrong := range a.unknownEnv(ctx.Model) {
		fmt.Fprintf(a.err, "amble: warning: %s\n", wrong)
	}
	if len(a.copies) > 0 {
		a.out.Edit(a.withURLs)
	}
	a.foldFor(keyflags.CommandName(ctx.Selected()), args)
	if now := renamed[keyflags.CommandName(ctx.Selected())]; now != "" {
		a.note(fmt.Sprintf("amble: this command is %s now; the old name works in this version", now))
	}
	for _, old := range origins.Superseded() {
		fmt.Fprintf(a.err, "amble: %s is %s now; the old flag works in this version\n", old[0], old[1])
	}
	return a.complain(ctx.Run(), keyflags.CommandName(ctx.Selected()))
}

// unknownEnv returns a warning for each AMBLE_ variable that is not a setting of any command. model may cover only one command.
func (a *app) unknownEnv(model *kong.Application) []string {
	environ := a.environ()
	wrong := keyflags.UnknownEnv(model, environ)
	if len(wrong) == 0 {
		return nil
	}
	all, err := a.parser("", keyflags.New(a.env))
	if err != nil {
		return wrong
	}
	return keyflags.UnknownEnv(all.Model, environ)
}

// foldFor turns on wrapping at words of a command's output if stdout is a terminal. It leaves out JSON, scripts, prompts, and the lines of
// a crawl, which are truncated instead.
func (a *app) foldFor(command string, args []string) {
	stdout := a.out.Unwrap()
	if slices.Contains([]string{"crawl", "resume", "watch", "shell", "completion"}, command) && !slices.Contains(args, "--plan") || slices.Contains(args, "--json") || slices.Contains(args, "--shell") ||
		!terminal.Is(stdout) || a.dumb() {
		return
	}
	columns := terminal.Columns(stdout)
	a.out.Edit(func(text []byte) []byte { return terminal.Fold(a.withURLs(text), columns()) })
}

// shorten returns a function that shortens URLs so that they fit on a line of the terminal, of which other text takes some columns. It
// omits the part that a URL shares with the previous one. In a file or a pipe URLs stay whole.
func (a *app) shorten(taken int) func(url string) string {
	stdout := a.out.Unwrap()
	if !terminal.Is(stdout) || a.dumb() {
		return func(url string) string { return url }
	}
	room, earlier, shown := max(20, terminal.Columns(stdout)()-taken), "", ""
	return func(url string) string {
		host, _ := terminal.SplitURL(url)
		short := terminal.Shorten(url, earlier, host != shown, room)
		earlier, shown = url, host
		return short
	}
}

// parser returns a parser of command lines for one command, whose name is only, or for all commands if only is "".
func (a *app) parser(only string, o *keyflags.Origins) (*kong.Kong, error) {
	hide := hideRare
	if a.all {
		hide = sayDefaults
	}
	return kong.New(newCommands(only).readable(only),
		kong.Name("amble"), kong.Description(description), kong.Vars{"engine": defaultEngine},
		kong.Writers(a.out, a.err), kong.Exit(func(code int) { panic(exitPanic(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true, WrapUpperBound: 80}),
		kong.Resolvers(o), kong.Bind(a, o), kong.KindMapper(reflect.String, kong.MapperFunc(keyflags.Text)), kong.NamedMapper("job", jobMapper{a}), kong.NamedMapper("resumed", resumedMapper{a}), kong.PostBuild(keyflags.Document), kong.PostBuild(keyflags.HideFixed), kong.PostBuild(hide),
	)
}

// exitPanic unwinds run when kong wants to end the process after --help.
type exitPanic int

// survive returns the exit code of a run that may have panicked with x.
func (a *app) survive(x any, code int) int {
	switch x := x.(type) {
	case nil:
		return code
	case exitPanic:
		if err := a.out.Failure(); err != nil {
			return a.complain(err, "")
		}
		return int(x)
	}
	fmt.Fprintf(a.err, "amble: internal error: %s\n%s", cli.Printable(fmt.Sprint(x)), debug.Stack())
	return cli.ExitInternal
}

// remedy returns text to append to an error of a job: the command or flag that solves it; "" if there is none or the error names it.
func remedy(err error) string {
	var of *job.Error
	switch {
	case errors.Is(err, job.ErrUntrusted):
		return ", then resume it with --trust"
	case errors.As(err, &of) && of.Dir == "" && errors.Is(err, job.ErrNoJob):
		return "; amble jobs lists the crawls that are kept"
	case of == nil || of.Dir == "":
		return ""
	case errors.Is(err, job.ErrFinished):
		return "; its summary: amble show " + cli.ShellWord(of.Dir)
	case errors.Is(err, job.ErrNoReport):
		return "; resume it with: " + resumeCommand(of.Dir)
	case errors.Is(err, job.ErrNoJob):
		return ": begin one with: amble crawl -o " + cli.ShellWord(of.Dir) + " URL"
	}
	return ""
}

// complain prints an error, unless its text is empty, and returns its exit code. If stdout has failed, it prints that failure instead,
// since it may be the cause; a closed stdout is not a failure.
func (a *app) complain(err error, command string) int {
	if failed := a.out.Failure(); failed != nil {
		err = failed
	}
	if errors.Is(err, cli.ErrClosed) {
		return cli.ExitDone
	}
	var e *cli.Error
	if err == nil || errors.As(err, &e) && e.Err == nil {
		return exitCode(err)
	}
	text := err.Error()
	if errors.Is(err, job.ErrNoJob) {
		text += a.meant()
	}
	for line := range strings.Lines(text + remedy(err)) {
		a.note("amble: " + cli.Printable(strings.TrimRight(line, "\n")))
	}
	if exitCode(err) == cli.ExitUsage {
		fmt.Fprintf(a.err, "amble: see \"%s --help\"\n", strings.TrimSpace("amble "+command))
	}
	return exitCode(err)
}

// note prints a line on stderr, wrapped at words if stderr is a terminal.
func (a *app) note(line string) {
	text := a.withURLs([]byte(line + "\n"))
	if terminal.Is(a.err) && !a.dumb() {
		text = terminal.Fold(text, terminal.Columns(a.err)())
	}
	_, _ = a.err.Write(text) // there is nowhere to report an error
}

// firstUsage joins all errors into one usage error, or returns nil if there are none.
func firstUsage(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return cli.Exit(cli.ExitUsage, err)
}

// exitCode returns the exit code for an error that a command returned.
func exitCode(err error) int {
	var of *job.Error
	if !errors.As(err, new(*cli.Error)) && errors.As(err, &of) {
		if of.Kind == job.Refused {
			return cli.ExitUsage
		}
		return cli.ExitOutput
	}
	return cli.ExitCode(err)
}
