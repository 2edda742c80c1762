package ui

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxDiagnostics = 10      // shown of one failure
	maxContext     = 8       // lines kept with a compiler's or linker's error
	maxCustom      = 20      // lines kept of a failed command with no error line
	maxDiagLine    = 1000    // bytes kept of one line
	maxSeen        = 10000   // different errors that are counted once each
	maxLogBytes    = 1 << 30 // read of one log
)

// Diagnostic is one error that a tool printed.
type Diagnostic struct {
	Tool     string // cmake, ninja, make, ld, ld.lld, clang, …; "" for a compiler's error at a place
	File     string // as the tool printed it
	Line     int    // from 1; 0 when there is none
	Col      int
	Severity string // error, fatal error, internal compiler error, failed
	Message  string // one line
	Context  []string
}

// String returns the error on one line, in the usual form of compilers.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.Tool != "" {
		b.WriteString(d.Tool + ": ")
	}
	if d.File != "" {
		b.WriteString(d.File + ":")
		if d.Line > 0 {
			fmt.Fprintf(&b, "%d:", d.Line)
		}
		if d.Col > 0 {
			fmt.Fprintf(&b, "%d:", d.Col)
		}
		b.WriteString(" ")
	}
	b.WriteString(d.Severity + ": " + d.Message)
	return b.String()
}

// The forms of error lines, each as its tool prints it.
var (
	// GCC, Clang, assemblers and TableGen: "file:line[:col]: error: message".
	placeRE = regexp.MustCompile(`^([^\s:][^:]*):(\d{1,9})(?::(\d{1,9}))?: (fatal error|internal compiler error|[Ee]rror): (.*)$`)
	// Any tool: "tool: [fatal] error: message", "error: message".
	toolRE = regexp.MustCompile(`^(?:([\w./+-]+): )?(fatal error|fatal|internal compiler error|error|ERROR|LLVM ERROR|Error): (.*)$`)
	// CMake: "CMake Error at file:line (command):" or "CMake Error: message".
	cmakeRE = regexp.MustCompile(`^CMake Error(?: \(dev\))?(?: (?:at|in) ([^:]+)(?::(\d{1,9}))?(?: \((.*)\))?)?:\s*(.*)$`)
	// GNU ld: "…: undefined reference to `x'", "ld: cannot find -lx", and so on.
	gnuRE = regexp.MustCompile(`undefined reference to |multiple definition of |(?:^|/|-)ld[\w.-]*: cannot find |(?:^|/|-)ld[\w.-]*: .*(?:file not recognized|incompatible|unrecognized option)`)
	// Apple's ld: the heads of its indented lists.
	appleRE = regexp.MustCompile(`^(?:Undefined symbols for architecture |duplicate symbol )`)
	// Ninja's word before the output of a command that failed; since 1.13 it
	// carries the exit status: "FAILED: [code=1] out".
	failedRE = regexp.MustCompile(`^FAILED: (?:\[code=\d+\] )?(.*?)\s*$`)
	// A line that some driver adds after the real error.
	echoRE = regexp.MustCompile(`^collect2: error: |linker command failed with exit code|^g?make(?:\[\d+\])?: \*\*\* |^ld: symbol\(s\) not found|^ninja: build stopped|^clang[\w.+-]*: (?:error|note): .*frontend command failed|^hipcc: .*exit code`)
	// Where a list of errors or the output of one command ends.
	boundaryRE = regexp.MustCompile(`^\[\d+/\d+\] |^ninja: |^\d+ (?:errors?|warnings?).* generated|^compilation terminated`)
	// The head of a message that is no error itself.
	noteRE = regexp.MustCompile(`^[^\s:][^:]*:\d+(?::\d+)?: (?:note|warning|remark): |^In file included from |^[^\s:][^:]*: In .*:$`)
)

// Scanner finds errors in what a build prints, line by line. Its memory is
// bounded whatever it is fed.
type Scanner struct {
	max   int
	found []Diagnostic
	echo  []Diagnostic // used only when nothing better turns up
	seen  map[string]bool
	total int

	cur     *Diagnostic // takes the lines that follow it
	kind    follow
	edge    *Diagnostic // ninja's FAILED, until its command says what was wrong
	command bool        // the next line is the failed command itself
	blanks  int
}

// follow says which following lines belong to an error.
type follow int

const (
	followNone   follow = iota
	followSource        // source lines with a margin, carets, fix-its
	followLLD           // lines that begin with >>>
	followIndent        // indented lines
	followCMake         // indented and empty lines, and the call stack
)

// NewScanner returns a Scanner that keeps the first max errors.
func NewScanner(max int) *Scanner {
	return &Scanner{max: max, seen: map[string]bool{}}
}

// ParseErrors returns the first max errors that a log contains. The error is
// that of reading r; what was found before it is returned with it.
func ParseErrors(r io.Reader, max int) ([]Diagnostic, error) {
	s := NewScanner(max)
	err := s.read(r)
	found, _ := s.Result()
	return found, err
}

func (s *Scanner) read(r io.Reader) error {
	br := bufio.NewReaderSize(io.LimitReader(r, maxLogBytes), 64<<10)
	for {
		part, err := br.ReadSlice('\n')
		if len(part) > 0 {
			s.Add(string(part))
		}
		for err == bufio.ErrBufferFull { // the rest of a line too long to matter
			_, err = br.ReadSlice('\n')
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Result returns the errors kept, and how many different ones there were.
func (s *Scanner) Result() ([]Diagnostic, int) {
	s.closeEdge()
	s.cur = nil
	if len(s.found) == 0 {
		return s.echo, len(s.echo)
	}
	out := make([]Diagnostic, len(s.found))
	for i, d := range s.found {
		for len(d.Context) > 0 && strings.TrimSpace(d.Context[len(d.Context)-1]) == "" {
			d.Context = d.Context[:len(d.Context)-1]
		}
		out[i] = d
	}
	return out, s.total
}

// Add takes the next line, with or without its newline.
func (s *Scanner) Add(line string) {
	if len(line) > maxDiagLine {
		line = line[:maxDiagLine]
	}
	line = strings.TrimRight(Clean(strings.TrimRight(line, "\r\n")), " ")
	if s.command {
		s.command = false
		return
	}
	if s.cur != nil && s.belongs(line) {
		return
	}
	if boundaryRE.MatchString(line) && !toolRE.MatchString(line) {
		s.closeEdge()
		s.cur = nil
		return
	}
	if mayBeError(line) && s.start(line) {
		return
	}
	s.cur = nil
	if s.edge != nil && len(s.edge.Context) < maxCustom && line != "" {
		s.edge.Context = append(s.edge.Context, line)
	}
}

// mayBeError is a quick look that spares most lines the expressions.
func mayBeError(line string) bool {
	for _, w := range []string{"rror", "FAILED", "undefined", "Undefined", "multiple definition", "ld: ", "cannot find", "fatal", "ERROR", "***", "duplicate symbol", "not recognized", "incompatible"} {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// belongs adds line to the current error if it is part of it.
func (s *Scanner) belongs(line string) bool {
	limit := maxContext
	ok := false
	switch s.kind {
	case followSource:
		ok = strings.HasPrefix(line, " ") || marginLine(line)
		// A compiler without line numbers in the margin prints the source line
		// as it is, right after the error.
		if !ok && len(s.cur.Context) == 0 && line != "" {
			ok = !noteRE.MatchString(line) && !boundaryRE.MatchString(line) &&
				!placeRE.MatchString(line) && !failedRE.MatchString(line) && !toolRE.MatchString(line) && !echoRE.MatchString(line)
		}
	case followLLD:
		ok = strings.HasPrefix(line, ">>>")
	case followIndent:
		ok = strings.HasPrefix(line, " ")
	case followCMake:
		limit = maxCustom
		if line == "" { // two empty lines end a message
			s.blanks++
			ok = s.blanks < 2
		} else {
			s.blanks = 0
			ok = strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "Call Stack (")
		}
		if ok && s.cur.Message == "" {
			s.cur.Message = strings.TrimSpace(line)
			return true
		}
	}
	if !ok {
		return false
	}
	if len(s.cur.Context) < limit {
		s.cur.Context = append(s.cur.Context, line)
	}
	return true
}

// marginLine reports GCC's and Clang's source lines: "  12 | text".
func marginLine(line string) bool {
	i := 0
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	return i > 0 && strings.HasPrefix(line[i:], " |")
}

// start begins a new error if line is one.
func (s *Scanner) start(line string) bool {
	if m := failedRE.FindStringSubmatch(line); m != nil {
		s.closeEdge()
		s.edge = &Diagnostic{Tool: "ninja", Severity: "failed", Message: m[1]}
		s.cur, s.command = nil, true
		return true
	}
	if echoRE.MatchString(line) {
		if len(s.echo) < s.max {
			s.echo = append(s.echo, Diagnostic{Severity: "error", Message: line})
		}
		s.cur = nil
		return true
	}
	if m := placeRE.FindStringSubmatch(line); m != nil {
		s.keep(Diagnostic{File: m[1], Line: number(m[2]), Col: number(m[3]), Severity: strings.ToLower(m[4]), Message: m[5]}, followSource)
		return true
	}
	if m := cmakeRE.FindStringSubmatch(line); m != nil {
		d := Diagnostic{Tool: "cmake", File: m[1], Line: number(m[2]), Severity: "error", Message: m[4]}
		s.blanks = 0
		s.keep(d, followCMake)
		return true
	}
	if gnuRE.MatchString(line) {
		s.keep(Diagnostic{Tool: "ld", Severity: "error", Message: line}, followNone)
		return true
	}
	if m := toolRE.FindStringSubmatch(line); m != nil {
		d := Diagnostic{Tool: path.Base(m[1]), Severity: strings.ToLower(m[2]), Message: m[3]}
		kind := followIndent
		switch {
		case m[1] == "":
			d.Tool = ""
		case strings.Contains(d.Tool, "lld"):
			kind = followLLD
		}
		if m[2] == "LLVM ERROR" {
			d.Tool, d.Severity = "llvm", "fatal error"
		}
		s.keep(d, kind)
		return true
	}
	if rest, ok := strings.CutPrefix(line, "ld: "); appleRE.MatchString(line) || ok && !strings.HasPrefix(rest, "warning: ") {
		s.keep(Diagnostic{Tool: "ld", Severity: "error", Message: strings.TrimPrefix(line, "ld: ")}, followIndent)
		return true
	}
	return false
}

// keep counts an error and, if it is new and among the first, keeps it. A
// header's error comes once for each file that includes it and is shown once.
func (s *Scanner) keep(d Diagnostic, kind follow) {
	s.edge = nil // the failed command has said what was wrong
	s.cur, s.kind = nil, kind
	id := d.String()
	if d.Message == "" || !s.seen[id] {
		s.total++
		if len(s.seen) < maxSeen {
			s.seen[id] = true
		}
		if len(s.found) >= s.max {
			return
		}
		s.found = append(s.found, d)
		s.cur = &s.found[len(s.found)-1]
		return
	}
	// Its lines have been kept the first time; they still belong to it.
	s.cur = &Diagnostic{Message: d.Message}
}

// closeEdge keeps a failed command that printed nothing the scanner knows,
// with the beginning of what it did print.
func (s *Scanner) closeEdge() {
	if e := s.edge; e != nil {
		s.keep(*e, followNone)
		s.cur = nil
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
