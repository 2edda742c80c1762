package interrupt

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/child"
	"github.com/stonemason-hip/stonemason/internal/exit"
)

// TestMain is also the program that is to be stopped: it runs a child that is
// deaf to every polite signal and ends as a verb does. The child ends by itself
// after a while, so that a test that finds it alive says so and does not hang.
func TestMain(m *testing.M) {
	if os.Getenv("INTERRUPT_TEST") == "" {
		// What is caught here has its usual effect on the programs that are
		// started, also when the tests are run by nohup, which ignores it.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		os.Exit(m.Run())
	}
	ctx, stop := Context(context.Background())
	if os.Getenv("INTERRUPT_TEST") == "late" { // mage, when its target has begun before it listens
		late := make(chan os.Signal, 1)
		signal.Notify(late, syscall.SIGINT)
		go func() {
			<-late
			<-late
			os.Exit(1)
		}()
	}
	_, err := child.Run(ctx, child.Command{
		Path: "/bin/sh", Args: []string{"-c", `exec 2> /dev/null; trap "" INT TERM HUP; echo ready $$; sleep 100; :`},
		Env: []string{"PATH=/usr/bin:/bin"}, Output: os.Stdout,
		Files: []*os.File{os.Stdout}, // so that the test sees when the last has ended
	})
	if mode := os.Getenv("INTERRUPT_TEST"); mode == "hang" || mode == "late" { // a verb that does not heed its context
		time.Sleep(time.Hour)
	}
	stop()
	fmt.Println(err)
	os.Exit(int(exit.Of(err)))
}

// start runs the program until its child is ready.
func start(t *testing.T, before string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", before, self)
	cmd.Env = append(os.Environ(), env...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, out
}

// end reads the output to its end, which comes when nobody is left who could
// write.
func end(t *testing.T, cmd *exec.Cmd, out io.Reader) (string, int) {
	t.Helper()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return string(text), cmd.ProcessState.ExitCode()
}

func TestSignals(t *testing.T) {
	for _, c := range []struct {
		before, says string
		signals      []syscall.Signal
		mode         string
	}{
		{`exec "$0"`, "stopped by Ctrl-C\n", []syscall.Signal{syscall.SIGINT}, "1"},
		{`exec "$0"`, "stopped by a termination signal\n", []syscall.Signal{syscall.SIGTERM}, "1"},
		{`exec "$0"`, "stopped by the end of its terminal\n", []syscall.Signal{syscall.SIGHUP}, "1"},
		{`trap "" HUP; exec "$0"`, "stopped by a termination signal\n", []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}, "1"},
		// The second ends what does not end by itself.
		{`exec "$0"`, "", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, "hang"},
		{`exec "$0"`, "", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, "hang"},
		{`exec "$0"`, "", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, "late"},
	} {
		cmd, out := start(t, c.before, "INTERRUPT_TEST="+c.mode)
		for i, s := range c.signals {
			if i > 0 { // two of a kind at once are one; this one is seen when it is heard
				if err := exec.Command("sleep", "0.2").Run(); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		if text, code := end(t, cmd, out); text != c.says || code != 130 {
			t.Errorf("%v after %s: says %q, exit code %d", c.signals, c.before, text, code)
		}
	}
}

// What mage runs ends with mage; what something else has started does not.
func TestMageHasEnded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		t.Fatal(err)
	}
	cmd, out := start(t, `"$0"; :`, "INTERRUPT_TEST=1", "MAGEFILE_CACHE="+filepath.Dir(self))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if text, _ := end(t, cmd, out); text != "stopped: the mage that ran this has ended\n" {
		t.Errorf("says %q", text)
	}

	cmd, out = start(t, `echo "ready $$"; "$0"; :`, "INTERRUPT_TEST=1", "MAGEFILE_CACHE="+t.TempDir())
	line, err := out.ReadString('\n') // the first was the shell's
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sleep", "0.5").Run(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscanf(line, "ready %d", &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("its child has ended with an ordinary parent: %v", err)
	}
	if text, _ := end(t, cmd, out); text != "signal: killed\n" {
		t.Errorf("says %q", text)
	}
}

// Mage's handler may hear the signal too, and cancel what it has given: the
// cause is the signal all the same. Without one it is mage's.
func TestTheSignalIsTheCause(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	ctx, stop := Context(parent)
	defer stop()
	cancel()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); exit.Of(err) != exit.Interrupted || !strings.Contains(err.Error(), "termination signal") {
		t.Errorf("the cause is %v", err)
	}
	ctx, again := Context(parent)
	defer again()
	<-ctx.Done()
	if err := context.Cause(ctx); err != context.Canceled {
		t.Errorf("without a signal the cause is %v", err)
	}
}
