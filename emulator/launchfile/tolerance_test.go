package launchfile

import (
	"encoding/binary"
	"math"
	"testing"
)

// A result that is as far away as the tolerance says is as expected, the next one is not.
func TestTolerance(t *testing.T) {
	at := func(bits uint32) []byte { return binary.LittleEndian.AppendUint32(nil, bits) }
	one := math.Float32bits(1)
	for _, c := range []struct {
		expect Expect
		got    uint32
		wrong  int
	}{
		{Expect{ULP: 2}, one + 2, 0}, {Expect{ULP: 2}, one + 3, 1}, {Expect{}, one, 0}, {Expect{}, one + 1, 1},
		{Expect{Abs: 0x1p-23}, one + 1, 0}, {Expect{Abs: 0x1p-24}, one + 1, 1}, {Expect{ULP: 1}, 0x7fc00000, 1},
	} {
		b := &bound{arg: &Arg{Expect: &c.expect}, typ: F32, want: at(one)}
		got, err := b.compare(&env{}, at(c.got))
		if err != nil || got.Wrong != c.wrong || got.Checked != true {
			t.Errorf("%x with %g ulp, %g: %+v, %v", c.got, c.expect.ULP, c.expect.Abs, got, err)
		}
	}
}
