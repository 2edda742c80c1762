package bench

import (
	"fmt"
	"strings"
)

// Table writes rows as a table in Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| what | stonemason | alternative | bound | met | runs |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n", r.What, r.Ours, r.Alternative, r.Bound, r.Met, r.Runs)
	}
	return b.String()
}
