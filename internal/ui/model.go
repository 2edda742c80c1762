package ui

import (
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// tailLines is how many of the last lines of a running step are kept in case
// it fails without a line that the parser knows as an error.
const tailLines = 30

// stepRun is a running step.
type stepRun struct {
	name        string
	start       time.Time
	estimate    time.Duration
	done, total int64
	tail        []string
	scan        *Scanner
	log         string
	msg         string
	took        time.Duration
}

func (s *stepRun) output(line string) {
	s.scan.Add(line)
	if len(s.tail) == tailLines {
		s.tail = append(s.tail[:0], s.tail[1:]...)
	}
	s.tail = append(s.tail, Clean(line))
}

// nodeRun is a running node.
type nodeRun struct {
	id       nodeID
	start    time.Time
	estimate time.Duration
	steps    []*stepRun // running ones, oldest first
	failed   *stepRun   // the last step that failed
	fetch    trace.Event
	group    []string // GitHub Actions: lines kept for the node's group
	lost     int      // lines that the group had no room for
}

type nodeID struct{ host, name string }

func (n *nodeRun) step(name string) *stepRun {
	for _, s := range n.steps {
		if s.name == name {
			return s
		}
	}
	return nil
}

// model is what the events have said so far.
type model struct {
	start    time.Time
	estimate time.Duration
	total    int // nodes of the plan
	done     int
	failed   int
	hosts    map[string]bool
	running  []*nodeRun // oldest first
}

func newModel() *model { return &model{hosts: map[string]bool{}} }

func (m *model) node(e trace.Event) *nodeRun {
	for _, n := range m.running {
		if n.id == (nodeID{e.Host, e.Node}) {
			return n
		}
	}
	return nil
}

// ensure returns the running node of e, which a well-formed log has started
// before; for any other log it starts it now.
func (m *model) ensure(e trace.Event) *nodeRun {
	if n := m.node(e); n != nil {
		return n
	}
	n := &nodeRun{id: nodeID{e.Host, e.Node}, start: e.Time, estimate: e.Estimate}
	m.running = append(m.running, n)
	return n
}

func (n *nodeRun) ensure(e trace.Event) *stepRun {
	if s := n.step(e.Step); s != nil {
		return s
	}
	s := &stepRun{name: e.Step, start: e.Time, scan: NewScanner(maxDiagnostics)}
	n.steps = append(n.steps, s)
	return s
}

// take updates the model. For the end of a node it returns the node, which is
// no longer in the model.
func (m *model) take(e trace.Event) (ended *nodeRun) {
	if m.start.IsZero() {
		m.start = e.Time
	}
	if e.Host != "" {
		m.hosts[e.Host] = true
	}
	switch e.Kind {
	case trace.PlanReady:
		m.total, m.estimate = len(e.Nodes), e.Estimate
		if m.total == 0 {
			m.total = int(e.Total)
		}
		for _, n := range e.Nodes {
			if n.Host != "" {
				m.hosts[n.Host] = true
			}
		}
	case trace.NodeStart:
		m.ensure(e).estimate = e.Estimate
	case trace.NodeEnd:
		n := m.ensure(e)
		for i, r := range m.running {
			if r == n {
				m.running = append(m.running[:i], m.running[i+1:]...)
				break
			}
		}
		m.done++
		if e.Outcome == trace.Failed {
			m.failed++
			if n.failed == nil && len(n.steps) > 0 { // the step's own end never came
				n.failed = n.steps[len(n.steps)-1]
			}
		}
		return n
	case trace.StepStart:
		n := m.ensure(e)
		n.fetch = trace.Event{}
		n.ensure(e).estimate = e.Estimate
	case trace.StepEnd:
		n := m.ensure(e)
		s := n.ensure(e)
		for i, r := range n.steps {
			if r == s {
				n.steps = append(n.steps[:i], n.steps[i+1:]...)
				break
			}
		}
		n.fetch = trace.Event{}
		if e.Outcome == trace.Failed {
			s.log, s.msg, s.took = e.Log, e.Msg, e.Duration
			n.failed = s
		}
	case trace.StepOutput:
		// Output that overtook its step's end belongs to no one any more.
		if n := m.node(e); n != nil {
			if s := n.step(e.Step); s != nil {
				s.output(e.Msg)
			}
		}
	case trace.StepProgress:
		if n := m.node(e); n != nil {
			if s := n.step(e.Step); s != nil {
				s.done, s.total = e.Done, e.Total
			}
		}
	case trace.FetchProgress:
		if n := m.node(e); n != nil {
			n.fetch = e
		}
	}
	return nil
}

// label names a node, with its host where the build is for more than one.
func (m *model) label(host, node string) string {
	if len(m.hosts) > 1 && host != "" {
		return node + "@" + host
	}
	return node
}
