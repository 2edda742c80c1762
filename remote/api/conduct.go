package api

import (
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Conduct is what a call does beside its parameters: where its work stands in
// the order of things, and which state it looks at and changes. A place or a
// state is written as a path: a parameter, a field of the record that one is or
// points to (config.stream), a state of a handle (handle.stream), or a state of
// the calling thread (thread.device).
type Conduct struct {
	// Stream is where the work of a call that queues is put, or what a call
	// that drains waits for: a path to a stream or an event, or one of the words
	// [StreamLegacy], [StreamThread] and [StreamDevice].
	Stream string `yaml:"stream"`
	// Default is what a stream that is null means in this call: [StreamThread],
	// or [StreamLegacy] when it is empty.
	Default string `yaml:"default" sm:"enum=legacy|thread"`
	// After are paths to events that the work waits for, Marks to those that
	// stand for it from now on.
	After []string `yaml:"after" sm:"unique"`
	Marks []string `yaml:"marks" sm:"unique"`
	// Reads are states that decide what the call does, other than those that its
	// parameters name. Sets maps states that it changes to what they become: a
	// parameter (or what it points to), a number, a value of an enumeration, or
	// [SetInside] when no parameter says it.
	Reads []string                    `yaml:"reads" sm:"unique"`
	Sets  yamlx.Ordered[yamlx.Scalar] `yaml:"sets"`
	// Bound says to what of the caller's machine the call is bound: no library
	// elsewhere can do it for the caller.
	Bound Bound `yaml:"bound"`
}

// IsZero reports whether nothing is said.
func (c *Conduct) IsZero() bool {
	return c.Stream == "" && c.Default == "" && len(c.After)+len(c.Marks)+len(c.Reads)+len(c.Sets) == 0 && c.Bound == ""
}

// Words in place of a path to a stream.
const (
	// StreamLegacy is the default stream of the current device, which works in
	// turns with all blocking streams.
	StreamLegacy = "legacy"
	// StreamThread is the default stream of the calling thread.
	StreamThread = "thread"
	// StreamDevice are all streams of the current device.
	StreamDevice = "device"
)

// SetInside stands for a new state that no parameter says.
const SetInside = "inside"

// Bound says what of the caller's machine a call needs.
type Bound string

// What calls are bound to.
const (
	// BoundGraphics is a context of a graphics library in the same process.
	BoundGraphics Bound = "graphics"
	// BoundSystem is an object of the operating system: a file descriptor, a
	// shared handle, a semaphore.
	BoundSystem Bound = "system"
	// BoundMemory is memory of the host that the GPU works in, or that both see.
	BoundMemory Bound = "memory"
	// BoundFile is a file of the caller's.
	BoundFile Bound = "file"
)

// Values implements yamlx.Enum.
func (Bound) Values() []string {
	return []string{string(BoundGraphics), string(BoundSystem), string(BoundMemory), string(BoundFile)}
}

// Calls says how a function is called that the caller gives to the library.
type Calls struct {
	// From is the thread: the caller's, before its call returns, or one of the
	// library's.
	From From `yaml:"from" sm:"required"`
	// Many says that it is called more than once.
	Many bool `yaml:"many"`
	// With names the parameter or field whose value it is given.
	With string `yaml:"with"`
	// Holds says that the stream goes on when it has returned.
	Holds bool `yaml:"holds"`
	// Silent says that it must not call the library.
	Silent bool `yaml:"silent"`
}

// From says which thread calls.
type From string

// The threads that call.
const (
	FromCaller    From = "caller"
	FromLibrary   From = "library"
	FromUndecided From = "undecided"
)

// Values implements yamlx.Enum.
func (From) Values() []string {
	return []string{string(FromCaller), string(FromLibrary), string(FromUndecided)}
}

// Memory is one kind of memory that a library hands out by its address.
type Memory struct {
	// Create and Destroy name the functions that give and take back.
	Create  []string `yaml:"create" sm:"required,unique"`
	Destroy []string `yaml:"destroy" sm:"unique"`
	// Owner is the handle with which the memory ends at the latest.
	Owner string `yaml:"owner"`
	// Why says what ends memory that no function ends.
	Why string `yaml:"why"`
}

// Instead says that looking up another name finds this function.
type Instead struct {
	// Of is the name that is asked for.
	Of string `yaml:"of" sm:"required"`
	// Since is the version asked for from which on it is found, 100 times the
	// major number and the minor one.
	Since int `yaml:"since" sm:"min=0,max=99999"`
	// Thread says that it is found when the default stream is to be that of
	// the thread.
	Thread bool `yaml:"thread"`
}

// Lookup finds the function that a program gets that asks the library by name,
// for a version (100 times the major number and the minor one), and with the
// default stream of the thread or not; "" when there is none.
func (l *Library) Lookup(name string, version int, thread bool) string {
	best, since := "", -1
	for i := range l.Functions {
		in := l.Functions[i].Value.Instead
		// A form for the thread's stream is looked for first, then the newest.
		if in == nil || in.Of != name || in.Since > version || in.Thread && !thread {
			continue
		}
		rank := in.Since
		if in.Thread {
			rank += 1 << 20
		}
		if rank > since {
			best, since = l.Functions[i].Key, rank
		}
	}
	if _, ok := l.Functions.Get(name); ok && best == "" {
		return name
	}
	return best
}

// splitPath cuts a path at its first point.
func splitPath(path string) (name, rest string) {
	name, rest, _ = strings.Cut(path, ".")
	return name, rest
}

func isStreamWord(s string) bool {
	return slices.Contains([]string{StreamLegacy, StreamThread, StreamDevice}, s)
}
