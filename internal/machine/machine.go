// Package machine finds out what the build machine has: programs, compilers,
// an LLVM, a GPU driver, cores and memory.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/sandbox"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

// Machine is what was found.
type Machine struct {
	Platform platform.Platform
	// Tools are absolute paths of programs by name.
	Tools map[string]string
	// Path is the search path of build steps: the folders of the tools, and
	// the system's.
	Path []string
	// LLVM is the LLVM that is used and adopted, nil when there is none;
	// LLVMs all that were looked at, with what is wrong with them.
	LLVM  *llvm.Install
	LLVMs []llvm.Install
	// CC and CXX are the host compilers, nil when there are none; CCError
	// says why.
	CC, CXX   *hostcc.Compiler
	CCError   error
	GPUDriver bool
	// MacSDK is the macOS SDK that the user names, "" for none.
	MacSDK string
	// CrossPath are the folders in which compilers for other processors are
	// looked for.
	CrossPath []string
	// Memory in bytes, 0 when unknown.
	Memory int64

	// Isolation is what therock.yaml says of it.
	Isolation spec.Isolation

	sandbox struct {
		once   sync.Once
		status sandbox.Status
	}
	sdk struct {
		once  sync.Once
		found sdk.SDK
		err   error
	}
	cache *statcache.Cache
	tools sync.Map // name → digest of a tool
	llvm  struct {
		sync.Mutex
		digest string
	}
}

// Options of a probe.
type Options struct {
	// LLVMPrefix is a prefix the user names; it is looked at first.
	LLVMPrefix string
	// LLVMTools are the programs an LLVM must have to be usable.
	LLVMTools []string
	// MacSDK is the macOS SDK the user names.
	MacSDK string
	// CC and CXX are the compilers the user names.
	CC, CXX string
	// Cache remembers earlier probes; nil asks everything anew.
	Cache  *statcache.Cache
	Memory int64
}

// toolNames are the programs that steps may run.
func toolNames() []string {
	return []string{"cmake", "ninja", "git", "patchelf", "perl", "python3", "ccache"}
}

// Probe looks at the machine. What is missing is no error here: the doctor
// reports it, and a step that needs it fails.
func Probe(ctx context.Context, opts Options) *Machine {
	m := &Machine{
		Platform: platform.Native(), Tools: map[string]string{}, Memory: opts.Memory,
		MacSDK: opts.MacSDK, CrossPath: []string{"/usr/bin"}, cache: opts.Cache,
	}
	for _, name := range toolNames() {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				m.Tools[name] = path
			}
		}
	}
	m.Path = searchPath(m.Tools)
	// Both ask compilers about themselves, which takes a while each.
	var both sync.WaitGroup
	both.Go(func() { m.findLLVM(ctx, opts) })
	both.Go(func() { m.CC, m.CXX, m.CCError = compilers(ctx, opts) })
	both.Wait()
	_ = m.cache.Save() // not to keep what was learnt costs time, and nothing else
	_, err := os.Stat("/dev/kfd")
	m.GPUDriver = runtime.GOOS == "linux" && err == nil
	return m
}

// findLLVM sets LLVM and LLVMs.
func (m *Machine) findLLVM(ctx context.Context, opts Options) {
	var prefixes []string
	if opts.LLVMPrefix != "" {
		prefixes = []string{opts.LLVMPrefix}
	}
	found, err := llvm.Detect(ctx, llvm.Options{ExtraPrefixes: prefixes, MinMajor: 19, Required: opts.LLVMTools, Cache: opts.Cache})
	if err != nil {
		return // as a machine without one
	}
	if opts.LLVMPrefix != "" { // what the user names is meant, be it older
		found = slices.DeleteFunc(found, func(i llvm.Install) bool { return i.Prefix != filepath.Clean(opts.LLVMPrefix) })
	}
	m.LLVMs = found
	if i := slices.IndexFunc(found, func(i llvm.Install) bool { return i.Usable() }); i >= 0 {
		m.LLVM = &found[i]
	}
}

func compilers(ctx context.Context, opts Options) (cc, cxx *hostcc.Compiler, err error) {
	found, err := hostcc.Detect(ctx, hostcc.Options{CC: opts.CC, CXX: opts.CXX, Cache: opts.Cache})
	if err != nil {
		return nil, nil, err
	}
	return &found.C, &found.CXX, nil
}

// searchPath is the folders of the tools found, then the system's.
func searchPath(tools map[string]string) []string {
	system := []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}
	var path []string
	for _, name := range toolNames() {
		dir := filepath.Dir(tools[name])
		if tools[name] != "" && !slices.Contains(system, dir) && !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	return append(path, system...)
}

// ToolDigest identifies a program by the hash of its file.
func (m *Machine) ToolDigest(name string) (string, error) {
	if digest, ok := m.tools.Load(name); ok {
		return digest.(string), nil
	}
	file, ok := m.Tools[name]
	if !ok {
		return "", fmt.Errorf("%s is missing: go tool mage doctor", name)
	}
	digest, err := m.cache.Digest(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	_ = m.cache.Save()
	m.tools.Store(name, digest)
	return digest, nil
}

// Sandbox says whether build steps can be isolated here. It is tried out when it
// is first asked for: a build that has nothing to do does not need to know.
func (m *Machine) Sandbox(ctx context.Context) sandbox.Status {
	m.sandbox.once.Do(func() { m.sandbox.status = sandbox.Probe(ctx, os.Getenv("PATH")) })
	return m.sandbox.status
}

// LLVMVersion is the version of the LLVM that would be adopted, or "".
func (m *Machine) LLVMVersion() string {
	if m.LLVM == nil {
		return ""
	}
	return m.LLVM.Version
}

// LLVMDigest identifies the LLVM by the content of its files.
func (m *Machine) LLVMDigest(ctx context.Context) (string, error) {
	if m.LLVM == nil {
		return "", errors.New("no usable LLVM was found: go tool mage doctor")
	}
	m.llvm.Lock()
	defer m.llvm.Unlock()
	if m.llvm.digest != "" {
		return m.llvm.digest, nil
	}
	digest, err := llvm.Digest(ctx, *m.LLVM, m.cache)
	if err != nil {
		return "", fmt.Errorf("llvm at %s: %w", m.LLVM.Prefix, err)
	}
	m.llvm.digest = digest
	// Not to keep what was learnt costs time, and nothing else.
	_ = m.cache.Save()
	return digest, nil
}

// LinkJobs is how many links of LLVM-sized programs fit into memory: one for
// every 4 GiB, and no more than the jobs.
func (m *Machine) LinkJobs(jobs int) int {
	if m.Memory == 0 {
		return 1
	}
	return max(1, min(jobs, int(m.Memory/(4<<30))))
}
