package completion

import (
	"fmt"
	"strings"
)

// fishScript returns a script that completes commands and flags, with their descriptions.
func fishScript(cmds []shellCommand) string {
	var b strings.Builder
	b.WriteString("# fish completion for amble\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, "complete -c amble -n __fish_use_subcommand -f -a %s -d %s\n", c.name, fishQuote(c.help))
	}
	for _, c := range cmds {
		within := fishQuote("__fish_seen_subcommand_from " + c.name)
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c amble -n %s -f -a %s\n", within, fishQuote(strings.Join(c.words, " ")))
		}
		if c.job {
			fmt.Fprintf(&b, "complete -c amble -n %s -a %s -d %s\n", within, fishQuote("("+keptNames+")"), fishQuote("kept job"))
		}
		for i := range c.flags {
			fmt.Fprintf(&b, "complete -c amble -n %s%s -d %s\n", within, fishFlag(&c.flags[i]), fishQuote(c.flags[i].help))
		}
	}
	return b.String()
}

func fishFlag(f *shellFlag) string {
	s := " -l " + f.long
	if f.short != "" {
		s += " -s " + f.short
	}
	switch {
	case len(f.words) > 0:
		return s + " -x -a " + fishQuote(strings.Join(f.words, " "))
	case f.dir:
		return s + " -x -a '(__fish_complete_directories)'"
	case f.file:
		return s + " -r -F"
	case f.value != "":
		return s + " -x"
	}
	return s
}

// fishQuote returns s in single quotes, in which fish knows only two escapes.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
