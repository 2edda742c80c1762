package doctor

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// checkDisk compares the space that is wanted with what is free. Folders on
// one file system share its space, so their needs are added up.
func checkDisk(needs []DiskNeed) []Item {
	type volume struct {
		at   string
		free int64
		want int64
		what []string
	}
	var items []Item
	var volumes []*volume
	byDev := map[uint64]*volume{}
	for _, n := range needs {
		at, err := existing(n.Path)
		var free int64
		var dev uint64
		if err == nil {
			free, dev, err = freeSpace(at)
		}
		if err != nil {
			items = append(items, Item{Name: "disk", Status: Warn, Found: fmt.Sprintf("free space at %s is unknown: %v", n.Path, err)})
			continue
		}
		v := byDev[dev]
		if v == nil {
			v = &volume{at: at, free: free}
			byDev[dev] = v
			volumes = append(volumes, v)
		}
		if n.Bytes > 0 {
			v.want = addCapped(v.want, n.Bytes)
			v.what = append(v.what, fmt.Sprintf("%s %s", n.What, ui.Bytes(n.Bytes)))
		}
	}
	for _, v := range volumes {
		it := Item{Name: "disk", Status: OK, Path: v.at, Found: fmt.Sprintf("%s free at %s", ui.Bytes(v.free), v.at)}
		if v.want > 0 {
			it.Want = fmt.Sprintf("%s: %s", ui.Bytes(v.want), strings.Join(v.what, ", "))
		}
		if v.free < v.want {
			it.Status, it.Fatal = Missing, exit.Resources
		}
		items = append(items, it)
	}
	return items
}

// checkWritable looks whether a build may write where it will have to.
func checkWritable(needs []DiskNeed) []Item {
	var items []Item
	for _, n := range needs {
		it := Item{Name: n.What, Status: OK, Found: n.Path + ", writable", Path: n.Path}
		at, err := existing(n.Path)
		if err == nil {
			err = unix.Access(at, unix.W_OK)
		}
		if err != nil {
			it.Status, it.Want = Missing, "a folder that can be written to"
			it.Found = fmt.Sprintf("%s: %v", n.Path, err)
			it.Suggest = n.Otherwise
		}
		items = append(items, it)
	}
	return items
}

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// existing returns the nearest folder above name that is there.
func existing(name string) (string, error) {
	p, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for {
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			return p, nil
		}
		up := filepath.Dir(p)
		if up == p {
			return "", fmt.Errorf("no folder above %s exists", name)
		}
		p = up
	}
}

func checkMemory(h Host, want int64) Item {
	it := Item{Name: "memory", Status: OK}
	if want > 0 {
		it.Want = ui.Bytes(want)
	}
	n, from, err := TotalMemory(h)
	if err != nil {
		it.Status, it.Found = Warn, fmt.Sprintf("unknown: %v", err)
		return it
	}
	it.Found = ui.Bytes(n)
	if from != "" {
		it.Found += ", " + from
	}
	if n < want {
		it.Status, it.Fatal = Missing, exit.Resources
	}
	return it
}

// TotalMemory returns the memory in bytes that processes of this program may
// use together: that of the machine, or a control group's limit where that is
// less, which is then named.
func TotalMemory(h Host) (total int64, limitedBy string, err error) {
	if h.OS != "linux" {
		n, err := machineMemory()
		return n, "", err
	}
	total, err = memTotal(filepath.Join(h.Root, "proc/meminfo"))
	if err != nil {
		return 0, "", err
	}
	if limit, ok := cgroupLimit(h.Root); ok && limit < total {
		return limit, "limited by a control group", nil
	}
	return total, "", nil
}

// memTotal reads the MemTotal line of proc_meminfo(5), which is in KiB.
func memTotal(name string) (int64, error) {
	text, err := readSmall(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" && f[2] == "kB" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil || n <= 0 || n > math.MaxInt64/1024 {
				return 0, fmt.Errorf("%s: MemTotal is %q", name, f[1])
			}
			return n * 1024, nil
		}
	}
	return 0, fmt.Errorf("%s has no MemTotal", name)
}

// cgroupLimit returns the least memory limit of the control groups that this
// process is in, its own and every one above (cgroups(7): a line of
// /proc/self/cgroup is id:controllers:path; version 2 has id 0 and no
// controllers). In a container the path may be the one outside; the walk up
// then ends at the root of the mount, where the container's own limit is.
func cgroupLimit(root string) (int64, bool) {
	text, err := readSmall(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		mount, file := "", ""
		switch {
		case f[0] == "0" && f[1] == "":
			mount, file = "sys/fs/cgroup", "memory.max"
		case contains(f[1], "memory"):
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			if n, ok := limitIn(filepath.Join(root, mount, dir, file)); ok {
				least = min(least, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return least, least != math.MaxInt64
}

func contains(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// limitIn reads a limit. "max" (version 2) and numbers near 2^63 (version 1)
// mean none.
func limitIn(name string) (int64, bool) {
	text, err := readSmall(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n > 0 && n < 1<<60
}

// readSmall reads a file of the kernel's, at most 64 KiB of it.
func readSmall(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	n := 0
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if err != nil || k == 0 {
			break
		}
	}
	return string(buf[:n]), nil
}

// hostile lists variables that change what compilers, linkers and CMake find.
func hostile() []string {
	return []string{
		"ROCM_PATH", "ROCM_HOME", "HIP_PATH", "HIP_PLATFORM", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "DEVICE_LIB_PATH", "HSA_PATH", "LLVM_PATH",
		"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
		"CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH",
		"CMAKE_PREFIX_PATH", "CMAKE_TOOLCHAIN_FILE", "CMAKE_GENERATOR", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER",
	}
}

// checkForeign names what could have got into a build, were builds not kept
// apart from it.
func checkForeign(h Host) (Item, bool) {
	var found []string
	for _, name := range hostile() {
		if h.env(name) != "" {
			found = append(found, name)
		}
	}
	if dirs, err := filepath.Glob(filepath.Join(h.Root, "opt/rocm*")); err == nil {
		for _, dir := range dirs {
			found = append(found, "/opt/"+filepath.Base(dir))
		}
	}
	if len(found) == 0 {
		return Item{}, false
	}
	return Item{Name: "environment", Status: Warn, Found: strings.Join(found, ", "), Want: "ignored: no build sees them"}, true
}
