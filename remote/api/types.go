package api

import (
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Library describes one library.
type Library struct {
	Schema int `yaml:"schema" sm:"required,min=1,max=1"`
	// Name is the library's file name without lib and suffix: amdhip64.
	Name    string `yaml:"library" sm:"required" pattern:"^[A-Za-z][A-Za-z0-9_-]*$"`
	Summary string `yaml:"summary" sm:"required"`
	// Version is that of the API, as the library's project counts.
	Version string `yaml:"version" sm:"required" pattern:"^[0-9]+(\\.[0-9]+)*$"`
	// Origin says what the description was made from.
	Origin []Origin `yaml:"origin" sm:"required"`
	File   File     `yaml:"file" sm:"required"`
	// Uses names descriptions whose types this one refers to.
	Uses   []string `yaml:"uses" sm:"unique"`
	Status Status   `yaml:"status" sm:"required"`
	// Nodes are the version nodes of the ELF symbols, the oldest first. A
	// library without any exports unversioned symbols.
	Nodes []string `yaml:"nodes" sm:"unique" pattern:"^[A-Za-z_][A-Za-z0-9_.]*$"`
	// Thread are names for what the library remembers of each thread of a
	// program, with their types: the current device, the last error.
	Thread yamlx.Ordered[Type] `yaml:"thread"`

	// Aliases are further names of types.
	Aliases   yamlx.Ordered[Type]     `yaml:"aliases"`
	Enums     yamlx.Ordered[Enum]     `yaml:"enums"`
	Handles   yamlx.Ordered[Handle]   `yaml:"handles"`
	Records   yamlx.Ordered[Record]   `yaml:"records"`
	Callbacks yamlx.Ordered[Callback] `yaml:"callbacks"`
	// Memory are the kinds of memory that the library hands out.
	Memory    yamlx.Ordered[Memory]   `yaml:"memory"`
	Functions yamlx.Ordered[Function] `yaml:"functions" sm:"required"`

	src *yamlx.Source
	// used are the loaded libraries of Uses, in that order.
	used  []*Library
	names *scope
}

// Origin is something that a description was made from.
type Origin struct {
	// Package and Version name a distribution's package, or a public repository
	// and its tag.
	Package string `yaml:"package" sm:"required"`
	Version string `yaml:"version" sm:"required"`
	For     string `yaml:"for" sm:"required,enum=headers|symbols"`
}

// File says what the library's file is called.
type File struct {
	// SoVersion is the number in the soname: 7 of libamdhip64.so.7.
	SoVersion string `yaml:"soversion" sm:"required" pattern:"^[0-9]+(\\.[0-9]+)*$"`
	// Version is the number in the file's name, and on Darwin the current
	// version: 7.2.53211. At most three numbers.
	Version string `yaml:"version" sm:"required" pattern:"^[0-9]+(\\.[0-9]+){0,2}$"`
	// Compatibility is the compatibility version on Darwin.
	Compatibility string `yaml:"compatibility" sm:"required" pattern:"^[0-9]+(\\.[0-9]+){0,2}$"`
	// Package is what find_package asks for, Targets the imported targets.
	Package string   `yaml:"package" pattern:"^[A-Za-z][A-Za-z0-9_+-]*$"`
	Targets []string `yaml:"targets" sm:"unique" pattern:"^[A-Za-z][A-Za-z0-9_+-]*(::[A-Za-z0-9_+-]+)*$"`
}

// Status is the type by which the library's functions say how a call went.
type Status struct {
	Type    string `yaml:"type" sm:"required"`
	Success string `yaml:"success" sm:"required"`
	// Unavailable is what a call answers where the library cannot work.
	Unavailable string `yaml:"unavailable" sm:"required"`
	// Invalid is what a call answers to a null pointer where it needs another.
	Invalid string `yaml:"invalid"`
	// Remembered is the state of the thread that a call which fails changes to
	// its status.
	Remembered string `yaml:"remembered"`
}

// Enum is an enumeration.
type Enum struct {
	// Unsigned says that values are of type unsigned int, not int.
	Unsigned bool `yaml:"unsigned"`
	// Wide says that values have 64 bits, as some C compilers allow. One above
	// the largest of int64 stands for the negative number with the same bits.
	Wide   bool                 `yaml:"wide"`
	Values yamlx.Ordered[int64] `yaml:"values" sm:"required"`
	// Texts are what the library says of a value, in words.
	Texts yamlx.Ordered[string] `yaml:"texts"`
	// Sizes are, of an enumeration of attributes, the sizes in bytes of the
	// attributes' values.
	Sizes yamlx.Ordered[int64] `yaml:"sizes"`
}

// Handle is a pointer to something that only the library knows.
type Handle struct {
	// Of is the name of the incomplete structure, or void.
	Of string `yaml:"of" sm:"required" pattern:"^[A-Za-z_][A-Za-z0-9_]*$"`
	// Create and Destroy name the functions that make one (by a parameter that
	// points to a handle, or by their result) and that end one.
	Create  []string `yaml:"create" sm:"unique"`
	Destroy []string `yaml:"destroy" sm:"unique"`
	// Get name the functions that hand out one that is there already, Retain
	// those after which it has to be ended once more.
	Get    []string `yaml:"get" sm:"unique"`
	Retain []string `yaml:"retain" sm:"unique"`
	// Owner is the handle with which this one ends at the latest.
	Owner string `yaml:"owner"`
	// Order says that the handle is a place in the order of work: a stream, or
	// an event in one.
	Order string `yaml:"order" sm:"enum=stream|event"`
	// Fixed are values that need no function: hipStreamPerThread, which is 2.
	Fixed yamlx.Ordered[int64] `yaml:"fixed"`
	// Lasting says that nothing ends one: it lives as long as the process, or
	// until the library is shut down.
	Lasting bool `yaml:"lasting"`
	// Undecided says that nobody has said yet who makes and ends one.
	Undecided bool `yaml:"undecided"`
	// Why gives the reason of what is not as it should be: that nothing makes
	// one, or ends it, or that it is undecided.
	Why string `yaml:"why"`
	// States are names for what a handle remembers and what decides how other
	// calls are meant: rocBLAS's pointer_mode, its stream. The value is the
	// type: an enumeration, a number or a handle.
	States yamlx.Ordered[string] `yaml:"states"`
}

// Record is a structure or union with a layout.
type Record struct {
	Union bool `yaml:"union"`
	// By names the field of a union, with which all others begin, that says
	// which of them is meant.
	By string `yaml:"by"`
	// Passed says that a value is made to be handed to another process, where
	// the same library knows it: an IPC handle.
	Passed bool `yaml:"passed"`
	// Tag says that the headers know the name only behind struct or union.
	Tag bool `yaml:"tag"`
	// Packed says that fields stand without gaps.
	Packed bool    `yaml:"packed"`
	Size   int64   `yaml:"size" sm:"required,min=0"`
	Align  int64   `yaml:"align" sm:"required,min=1,max=4096"`
	Fields []Field `yaml:"fields"`
}

// Field is a member of a record.
type Field struct {
	Pos yamlx.Pos `yaml:",pos"`
	// Name is empty for a member whose members belong to the record.
	Name string `yaml:"name"`
	Type Type   `yaml:"type" sm:"required"`
	// Offset is in bytes. Of a bit-field it is that of the byte that holds its
	// lowest bit, which is bit number Bit of Bits.
	Offset  int64 `yaml:"offset" sm:"min=0"`
	Bit     int   `yaml:"bit" sm:"min=0,max=7"`
	Bits    int   `yaml:"bits" sm:"min=0,max=64"`
	Meaning `yaml:",inline"`
	// When are the values for which the field is meant: in a union those of
	// what decides it, in a structure those of the field that By names.
	When []string `yaml:"when" sm:"unique"`
}

// Callback is a type of pointers to functions.
type Callback struct {
	Returns Type    `yaml:"returns" sm:"required"`
	Params  []Param `yaml:"params"`
}

// Function is an exported function.
type Function struct {
	// Node is the version node of the ELF symbol.
	Node string `yaml:"node"`
	// Link is the symbol's name when it is not the function's, as that of a C++
	// function; without the underscore that macOS puts before each.
	Link    string `yaml:"link" pattern:"^[A-Za-z_][A-Za-z0-9_]*$"`
	Returns Type   `yaml:"returns" sm:"required"`
	// Sync says what a caller may rely on when the call returns.
	Sync    Sync `yaml:"sync"`
	Conduct `yaml:",inline"`
	// Lookup names the parameter in which the caller names a function of the
	// library, to be given its address.
	Lookup string `yaml:"lookup"`
	// Instead says which name finds this function, when it is not its own.
	Instead *Instead `yaml:"instead"`
	// Fails is what the function returns when it cannot do its work: a value of
	// an enumeration, a number, or zero for all bits zero. Without it a function
	// that returns a status answers the library's Unavailable.
	Fails yamlx.Scalar `yaml:"fails"`
	// Answer says how the client itself can answer.
	Answer *Answer `yaml:"answer"`
	// Undocumented marks a function that no public header declares.
	Undocumented bool `yaml:"undocumented"`
	// Variadic says that more arguments follow, of which nothing is known.
	Variadic bool    `yaml:"variadic"`
	Params   []Param `yaml:"params"`
}

// Param is a parameter.
type Param struct {
	Pos     yamlx.Pos `yaml:",pos"`
	Name    string    `yaml:"name" sm:"required" pattern:"^[A-Za-z_][A-Za-z0-9_]*$"`
	Type    Type      `yaml:"type" sm:"required"`
	Meaning `yaml:",inline"`
}

// Meaning says what a pointer is for. Nothing of it is set for what is no
// pointer and for a handle; of a callback only Calls, of a union only By.
type Meaning struct {
	// Dir is the direction of what is pointed to.
	Dir Direction `yaml:"dir"`
	As  As        `yaml:"as"`
	// Of is As for what is pointed to, when that is a pointer again.
	Of As `yaml:"of"`
	// Through is the direction of what those pointers point to; in when nothing
	// is said.
	Through Direction `yaml:"through"`
	// Count is the number of elements of an array, Bytes its size.
	Count Expr `yaml:"count"`
	Bytes Expr `yaml:"bytes"`
	// By names what decides where an either points, or which field of a union is
	// meant: a parameter of the call, a state of a handle (handle.pointer_mode),
	// or [ByItself].
	By string `yaml:"by"`
	// Each names an array of numbers, as many as there are pointers in this
	// one: the size in bytes of what each points to.
	Each string `yaml:"each"`
	// Optional pointers may be null.
	Optional bool `yaml:"optional"`
	// Kept says that the library remembers the address, or those in the record
	// that it points to, and looks there after the call.
	Kept bool `yaml:"kept"`
	// Why gives the reason of what is undecided, or has no length.
	Why string `yaml:"why"`
	// Calls says how a callback is called; nil when nobody has said it.
	Calls *Calls `yaml:"calls"`
}

// ByItself is said of an either whose address tells where it is: what the
// library has handed out is its own, all else the caller's.
const ByItself = "itself"

// Answer is what a client answers without its library. Exactly one of
// NameOf, TextOf, Set and Own is used.
type Answer struct {
	// NameOf and TextOf name a parameter of an enumeration: the answer is the
	// name of the value, or its text. Otherwise is the value that stands for
	// all that the enumeration has not.
	NameOf    string `yaml:"name_of"`
	TextOf    string `yaml:"text_of"`
	Otherwise string `yaml:"otherwise"`
	// Set gives what parameters point to a value; Returns is the result.
	Set     yamlx.Ordered[yamlx.Scalar] `yaml:"set"`
	Returns yamlx.Scalar                `yaml:"returns"`
	// Own says that C code of the library's own answers.
	Own bool `yaml:"own"`
}

// Direction says who writes what a pointer points to.
type Direction string

// The directions: the caller, the library, or both.
const (
	In    Direction = "in"
	Out   Direction = "out"
	InOut Direction = "inout"
)

// Values implements yamlx.Enum.
func (Direction) Values() []string { return []string{string(In), string(Out), string(InOut)} }

// As says what a pointer stands for.
type As string

// What a pointer can stand for.
const (
	// One is one value of the type.
	One As = "one"
	// Array is as many as Count or Bytes say.
	Array As = "array"
	// Text ends with a zero.
	Text As = "string"
	// Device is an address of device memory, which no client looks into.
	Device As = "device"
	// Either is host or device memory: By says which.
	Either As = "either"
	// Host is an address of host memory as such, to be registered or freed.
	Host As = "host"
	// Token is a value of the caller's that a callback is given back.
	Token As = "token"
	// Symbol is the host's address of a kernel or a variable, as compilers
	// register it.
	Symbol As = "symbol"
	// Image is a code object or a bundle of them, whose size it says itself.
	Image As = "image"
	// Arguments are those of a kernel: one address for each, or HIP's list of
	// buffer and size. How large each is, the code object says.
	Arguments As = "arguments"
	// Local is memory of the library's own that the caller may read and not
	// free.
	Local As = "local"
	// Unused is what the library does not look at.
	Unused As = "unused"
	// Undecided: nobody has said yet. Stubs can be made, a protocol cannot.
	Undecided As = "undecided"
)

// Values implements yamlx.Enum.
func (As) Values() []string {
	return []string{string(One), string(Array), string(Text), string(Device), string(Either), string(Host),
		string(Token), string(Symbol), string(Image), string(Arguments), string(Local), string(Unused), string(Undecided)}
}

// Sync says when a call's work is done.
type Sync string

// The classes of calls.
const (
	// Wait: the result is needed before the call can return.
	Wait Sync = "wait"
	// Queue: work is put into a stream; the status alone comes back, and may
	// come later.
	Queue Sync = "queue"
	// Drain: the call returns when work that was queued before is done.
	Drain Sync = "drain"
	// Here: the client answers by itself.
	Here Sync = "here"
	// Unsorted: nobody has said yet.
	Unsorted Sync = "undecided"
)

// Values implements yamlx.Enum.
func (Sync) Values() []string {
	return []string{string(Wait), string(Queue), string(Drain), string(Here), string(Unsorted)}
}
