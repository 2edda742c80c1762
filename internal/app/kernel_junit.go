package app

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/emulator/launchfile"
)

// The XML that CI systems read as test results. There is no standard; this is what the
// tools that read it agree on (testmoapp/junitxml describes it).
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *struct{}     `xml:"skipped"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes the results of kernel:run as XML: a suite for each GPU, a case for
// each launch. What kept a GPU's launches from being run is an error of its own case.
func (a *App) writeJUnit(path, file string, runs []gpuRun) error {
	all := junitSuites{}
	for _, r := range runs {
		gpu := r.gpu
		if r.report != nil {
			gpu = r.report.Target
		}
		s := junitSuite{Name: strings.TrimSpace(file + " " + gpu)}
		class := strings.Trim(strings.NewReplacer("/", ".", "\\", ".").Replace(s.Name), ".")
		total := 0.0
		if r.report == nil {
			s.Errors++
			s.Cases = append(s.Cases, junitCase{Name: "load", Class: class, Time: "0.000", Error: &junitProblem{Message: firstLine(r.err.Error()), Text: r.err.Error()}})
		} else {
			seen := map[string]int{}
			named := func(kernel string) string {
				if seen[kernel]++; seen[kernel] > 1 {
					return fmt.Sprintf("%s #%d", kernel, seen[kernel])
				}
				return kernel
			}
			for _, l := range r.report.Launches {
				c := junitCase{Name: named(l.Kernel), Class: class, Time: fmt.Sprintf("%.3f", l.Seconds)}
				total += l.Seconds
				switch {
				case l.Error != "":
					var text strings.Builder
					fmt.Fprintln(&text, l.Error)
					for _, p := range r.report.Places {
						fmt.Fprintln(&text, p)
					}
					c.Error = &junitProblem{Message: firstLine(l.Error), Text: text.String()}
					s.Errors++
				case !l.OK:
					c.Failure = &junitProblem{Message: verdictOf(&launchfile.Report{Launches: []launchfile.Result{l}}), Text: mismatchText(l)}
					s.Failures++
				}
				s.Cases = append(s.Cases, c)
			}
			for _, kernel := range r.report.NotRun {
				s.Skipped++
				s.Cases = append(s.Cases, junitCase{Name: named(kernel), Class: class, Time: "0.000", Skipped: &struct{}{}})
			}
		}
		s.Tests, s.Time = len(s.Cases), fmt.Sprintf("%.3f", total)
		all.Suites = append(all.Suites, s)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(a.path(path), []byte(xml.Header+string(text)+"\n"), 0o644)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func mismatchText(l launchfile.Result) string {
	var b strings.Builder
	for _, buffer := range l.Buffers {
		for _, w := range buffer.Bad {
			fmt.Fprintf(&b, "%s[%d] is %s, expected %s\n", buffer.Name, w.Element, w.Got, w.Expected)
		}
		if more := buffer.Wrong - len(buffer.Bad); more > 0 {
			fmt.Fprintf(&b, "%s: %d more\n", buffer.Name, more)
		}
	}
	return b.String()
}
