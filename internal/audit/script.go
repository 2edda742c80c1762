package audit

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// script checks an executable's #! line. Only the kernel reads it, and only of
// executable files, so elsewhere it is a comment.
func (a *auditor) script(e *entry, head []byte) []Finding {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok || e.mode.Perm()&0o111 == 0 {
		return nil
	}
	a.program(e, true)
	line, _, _ = bytes.Cut(line, []byte("\n"))
	text := string(line)
	report := func(what, fix string) []Finding {
		return []Finding{finding(e.path, ruleShebang, what, fix)}
	}
	if strings.HasSuffix(text, "\r") {
		return report("its first line ends with a carriage return, which becomes part of the interpreter's name", "use Unix line ends")
	}
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return report("its first line names no interpreter", "write #!/bin/sh")
	case slices.Contains([]string{"/bin/sh", "/usr/bin/perl"}, words[0]):
		return nil
	case words[0] == "/usr/bin/env":
		// Options and settings go before the program.
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
				continue
			}
			if strings.Contains(word, "/") {
				return report(fmt.Sprintf("asks /usr/bin/env for %.200q, which is a path", word), "name the program alone")
			}
			return nil
		}
		return report("asks /usr/bin/env for nothing", "name a program")
	}
	return report(fmt.Sprintf("is run by %.200q, which other machines may not have", words[0]), "write #!/usr/bin/env "+path.Base(words[0]))
}
