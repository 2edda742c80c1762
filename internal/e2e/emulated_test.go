//go:build e2e && linux

package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"testing"

	gpu "github.com/stonemason-hip/stonemason/emulator"
)

// Operations and answers of testdata/emulated/runtime.cpp.
const (
	callAlloc = iota + 1
	callFree
	callWrite
	callRead
	callFill
	callCopy
	callLoad
	callKernel
	callLaunch
	callSymbol

	hipSuccess       = 0
	hipInvalidValue  = 1
	hipLaunchFailure = 719
	hipNoBinary      = 209
)

// served is one program's device.
type served struct {
	dev          *gpu.Device
	modules      []*gpu.Module
	instructions int64
	launches     int
	failed       string // the first launch that ended before its time
	budget       int64
}

// emulated runs a program that is linked with the runtime of testdata/emulated, and
// returns what it said, how it ended, and what its kernels did.
func emulated(ctx context.Context, t *testing.T, target, dir string, argv ...string) (said string, s *served, ended error) {
	t.Helper()
	dev, err := gpu.NewDevice(target)
	if err != nil {
		t.Fatal(err)
	}
	s = &served{dev: dev, budget: 3e9}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "device"), os.NewFile(uintptr(pair[1]), "program")
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close() // the connection has a copy
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.ExtraFiles = dir, []*os.File{theirs}
	cmd.Env = append(host(), "EMULATED_GPU="+target)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, conn) }()
	ended = cmd.Wait()
	cancel()
	_ = conn.Close()
	if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
		t.Log(err)
	}
	return out.String(), s, ended
}

// serve answers until the program ends.
func (s *served) serve(ctx context.Context, conn net.Conn) error {
	le := binary.LittleEndian
	for {
		var head [16]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		n := le.Uint64(head[8:])
		if n > 4<<30 {
			return fmt.Errorf("a request of %d bytes", n)
		}
		request := make([]byte, n)
		if _, err := io.ReadFull(conn, request); err != nil {
			return err
		}
		status, reply := s.answer(ctx, le.Uint64(head[:]), request)
		le.PutUint64(head[:], status)
		le.PutUint64(head[8:], uint64(len(reply)))
		if _, err := conn.Write(append(head[:], reply...)); err != nil {
			return err
		}
	}
}

func (s *served) answer(ctx context.Context, op uint64, b []byte) (status uint64, reply []byte) {
	le := binary.LittleEndian
	word := func(n int) uint64 { return le.Uint64(b[8*n:]) }
	memory := func(n int, size uint64) []byte {
		mem, err := s.dev.Bytes(gpu.Pointer(word(n)), size)
		if err != nil {
			return nil
		}
		return mem
	}
	switch op {
	case callAlloc:
		p, err := s.dev.Alloc(word(0))
		if err != nil {
			return hipInvalidValue, nil
		}
		return hipSuccess, le.AppendUint64(nil, uint64(p))
	case callFree:
		if s.dev.Free(gpu.Pointer(word(0))) != nil {
			return hipInvalidValue, nil
		}
	case callWrite:
		n := uint64(len(b) - 8)
		if n > 0 && copy(memory(0, n), b[8:]) == 0 {
			return hipInvalidValue, nil
		}
	case callRead:
		if mem := memory(0, word(1)); mem != nil || word(1) == 0 {
			return hipSuccess, mem
		}
		return hipInvalidValue, nil
	case callFill:
		mem := memory(0, word(1))
		for i := range mem {
			mem[i] = byte(le.Uint32(b[16:]))
		}
	case callCopy:
		if to := memory(0, word(2)); word(2) > 0 && copy(to, memory(1, word(2))) == 0 {
			return hipInvalidValue, nil
		}
	case callLoad:
		m, err := s.dev.Load(b)
		if err != nil {
			s.fail(err)
			return hipNoBinary, nil
		}
		s.modules = append(s.modules, m)
		return hipSuccess, le.AppendUint32(nil, uint32(len(s.modules)-1))
	case callKernel, callLaunch, callSymbol:
		id := le.Uint32(b)
		if int(id) >= len(s.modules) {
			return hipInvalidValue, nil
		}
		return s.inModule(ctx, op, s.modules[id], b[4:])
	default:
		return hipInvalidValue, nil
	}
	return hipSuccess, nil
}

func (s *served) fail(err error) {
	if s.failed == "" {
		s.failed = err.Error()
	}
}

func (s *served) inModule(ctx context.Context, op uint64, m *gpu.Module, b []byte) (uint64, []byte) {
	le := binary.LittleEndian
	if op == callSymbol {
		p, size, err := m.Symbol(string(b))
		if err != nil {
			return hipInvalidValue, nil
		}
		return hipSuccess, le.AppendUint64(le.AppendUint64(nil, uint64(p)), size)
	}
	var dims [8]uint32
	name := string(b)
	if op == callLaunch {
		for i := range dims {
			dims[i] = le.Uint32(b[4*i:])
		}
		b = b[32:]
		name = string(b[:dims[7]])
		b = b[dims[7]:]
	}
	k, ok := m.Object().Kernel(name)
	if !ok {
		return hipInvalidValue, nil
	}
	var reply []byte
	var args [][]byte
	for _, a := range k.Explicit() {
		if op == callKernel {
			reply = le.AppendUint32(le.AppendUint32(reply, uint32(a.Size)), uint32(a.Offset))
			continue
		}
		args, b = append(args, b[:a.Size]), b[a.Size:]
	}
	if op == callKernel {
		return hipSuccess, reply
	}
	var printed bytes.Buffer
	s.launches++
	c, err := m.Launch(ctx, name, gpu.Dim3{X: dims[0], Y: dims[1], Z: dims[2]}, gpu.Dim3{X: dims[3], Y: dims[4], Z: dims[5]}, args,
		gpu.Options{DynamicLDS: dims[6], Output: &printed, Budget: s.budget})
	s.instructions += int64(c.Instructions)
	s.budget -= int64(c.Instructions)
	if err != nil {
		s.fail(err)
		return hipLaunchFailure, []byte(err.Error())
	}
	return hipSuccess, printed.Bytes()
}

// command runs a program and returns what it said.
func command(dir string, argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	return string(said), err
}
