package app

import (
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// Completion is the completion script of a shell for bin/therock and for
// go tool mage: target names, which the program itself lists.
func Completion(shell string) (string, error) {
	switch shell {
	case "bash":
		return bashCompletion, nil
	case "zsh":
		return "autoload -U +X bashcompinit && bashcompinit\n" + bashCompletion, nil
	case "fish":
		return fishCompletion, nil
	}
	return "", exit.With(exit.Usage, oneOf("completion", "shell", shell, strings.Fields("bash zsh fish")))
}

const bashCompletion = `_therock() {
  COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" -l 2>/dev/null | sed -n 's/^  \([^ *]*\).*/\1/p')" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _therock therock
complete -F _therock bin/therock
`

const fishCompletion = `complete -c therock -f -a '(therock -l 2>/dev/null | string match -rg "^  ([^ *]+)")'
`
