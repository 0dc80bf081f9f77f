package completion

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
)

// zshScript returns a script that completes commands and flags, with their descriptions.
func zshScript(cmds []shellCommand) string {
	var b strings.Builder
	b.WriteString("#compdef amble\n\n_amble() {\n    local -a commands\n    commands=(\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, "        %s\n", cli.ShellQuote(c.name+":"+zshEscape(c.help)))
	}
	b.WriteString("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, "    %s)\n        shift words\n        (( CURRENT-- ))\n        _arguments", c.name)
		for i := range c.flags {
			for _, spec := range zshFlag(&c.flags[i]) {
				fmt.Fprintf(&b, " \\\n            %s", cli.ShellQuote(spec))
			}
		}
		rest := "*:file:_files"
		switch {
		case c.job:
			rest = fmt.Sprintf(`*:job:{ compadd -- %s ${(f)"$(%s)"}; _files }`, strings.Join(c.words, " "), keptNames)
		case len(c.words) > 0:
			rest = "1:word:(" + strings.Join(c.words, " ") + ")"
		}
		fmt.Fprintf(&b, " \\\n            %s ;;\n", cli.ShellQuote(rest))
	}
	b.WriteString("    esac\n}\n\nif [[ $funcstack[1] == _amble ]]; then _amble \"$@\"; else compdef _amble amble; fi\n")
	return b.String()
}

// zshFlag returns the specifications of a flag for _arguments. A flag may be given more than once.
func zshFlag(f *shellFlag) []string {
	var specs []string
	for _, name := range f.names() {
		spec := "*" + name
		if f.value != "" {
			if strings.HasPrefix(name, "--") {
				spec += "="
			} else {
				spec += "+"
			}
		}
		spec += "[" + zshEscape(f.help) + "]"
		if f.value != "" {
			spec += ":" + zshEscape(f.value) + ":" + zshValues(f)
		}
		specs = append(specs, spec)
	}
	return specs
}

func zshValues(f *shellFlag) string {
	switch {
	case len(f.words) > 0:
		return "(" + strings.Join(f.words, " ") + ")"
	case f.file:
		return "_files"
	case f.dir:
		return "_files -/"
	}
	return " "
}

func zshEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}
