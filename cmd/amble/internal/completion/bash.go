package completion

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
)

// bashScript returns a script that completes commands, flags, and those values of flags that are words or files.
func bashScript(cmds []shellCommand) string {
	var b strings.Builder
	b.WriteString(`# bash completion for amble
_amble() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= i
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then cmd=${COMP_WORDS[i]}; break; fi
    done
    COMPREPLY=()
    case $cmd in
`)
	fmt.Fprintf(&b, "    '') %s ;;\n", bashWords(append(commandNames(cmds), "--help", "--version")))
	for _, c := range cmds {
		bashCommand(&b, c)
	}
	b.WriteString(`    esac
}
complete -F _amble amble
`)
	return b.String()
}

func bashCommand(b *strings.Builder, c shellCommand) {
	fmt.Fprintf(b, "    %s)\n        case $prev in\n", c.name)
	for i := range c.flags {
		f := &c.flags[i]
		if len(f.words) > 0 {
			bashValue(b, f.names(), bashWords(f.words))
		}
	}
	bashValue(b, valued(c.flags, func(f *shellFlag) bool { return f.file }), `COMPREPLY=($(compgen -f -- "$cur"))`)
	bashValue(b, valued(c.flags, func(f *shellFlag) bool { return f.dir }), `COMPREPLY=($(compgen -d -- "$cur"))`)
	bashValue(b, valued(c.flags, func(f *shellFlag) bool {
		return f.value != "" && !f.file && !f.dir && len(f.words) == 0
	}), ":")
	all := valued(c.flags, func(*shellFlag) bool { return true })
	rest := `COMPREPLY=($(compgen -f -- "$cur"))`
	switch {
	case c.job && len(c.words) > 0:
		rest = fmt.Sprintf(`COMPREPLY=($(compgen -W "%s $(%s)" -- "$cur"))`, strings.Join(c.words, " "), keptNames)
	case c.job:
		rest = fmt.Sprintf(`COMPREPLY=($(compgen -W "$(%s)" -- "$cur") $(compgen -f -- "$cur"))`, keptNames)
	case len(c.words) > 0:
		rest = bashWords(c.words)
	}
	fmt.Fprintf(b, "        esac\n        if [[ $cur == -* ]]; then %s; else %s; fi ;;\n", bashWords(all), rest)
}

// bashValue writes the case for the values of these flags; do is the command that completes a value.
func bashValue(b *strings.Builder, flags []string, do string) {
	if len(flags) > 0 {
		fmt.Fprintf(b, "        %s) %s; return ;;\n", strings.Join(flags, "|"), do)
	}
}

func bashWords(words []string) string {
	return fmt.Sprintf(`COMPREPLY=($(compgen -W %s -- "$cur"))`, cli.ShellQuote(strings.Join(words, " ")))
}
