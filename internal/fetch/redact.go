package fetch

import (
	"net/url"
	"regexp"
	"strings"
)

// Redact returns a URL that may be shown: without user, password, query and
// fragment, where tokens live.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		// Not even parsable: cut by hand, and keep nothing before an "@".
		raw, _, _ = strings.Cut(raw, "?")
		if at := strings.LastIndex(raw, "@"); at >= 0 {
			raw = "…" + raw[at+1:]
		}
		return raw
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// RedactText redacts every URL in a text, such as the output of a tool.
func RedactText(text string) string {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`).ReplaceAllStringFunc(text, func(raw string) string {
		// Punctuation after a URL belongs to the sentence.
		body := strings.TrimRight(raw, ".,;:!)]}")
		return Redact(body) + raw[len(body):]
	})
}
