package stub

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// run runs a program, which must succeed.
func run(t *testing.T, bin string, env ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}
