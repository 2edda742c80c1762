package sandbox

// Status says whether steps can be isolated on this machine.
type Status struct {
	// Program is the absolute path of bubblewrap, "" where steps cannot be
	// isolated; Version is its version.
	Program, Version string
	// Why says why not; Next what helps, "" when nothing is known to.
	Why, Next string
	// Absent says that all that is missing is the program.
	Absent bool
}

// OK reports whether steps can be isolated.
func (s Status) OK() bool { return s.Program != "" }

// String is one line for a person.
func (s Status) String() string {
	if s.OK() {
		return "network off, sources read-only, home and foreign prefixes hidden (" + s.Version + ")"
	}
	if s.Next != "" {
		return "not isolated: " + s.Why + ": " + s.Next
	}
	return "not isolated: " + s.Why
}
