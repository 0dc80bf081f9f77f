package completion

import (
	"strings"
	"testing"
)

// Help texts with quotes, brackets, colons or spaces do not break the completion scripts.
func TestCompletionQuotes(t *testing.T) {
	cmds := []shellCommand{{name: "go", help: `it's [a]: "b" \ $c`, flags: []shellFlag{{
		long: "flag", short: "f", help: `it's [a]: "b" \ $c`, value: "X", words: []string{"p", "q"},
	}}}}
	for shell, c := range map[string]struct{ got, want string }{
		"zsh":  {zshScript(cmds), `'*--flag=[it'\''s \[a\]\: "b" \\ $c]:X:(p q)'`},
		"fish": {fishScript(cmds), `-l flag -s f -x -a 'p q' -d 'it\'s [a]: "b" \\ $c'`},
		"bash": {bashScript(cmds), `-f|--flag) COMPREPLY=($(compgen -W 'p q' -- "$cur")); return ;;`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: no %s in\n%s", shell, c.want, c.got)
		}
	}
}
