package build

import (
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/explain"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// Of a component that was never built a forecast keeps no text, and a build
// takes none of it: a record without its key's text would be of no use.
func TestAForecastIsTheKeyThatABuildTakes(t *testing.T) {
	k := newKeyed(t)
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := base()
	n.Build, n.Enabled = nil, true
	k.builder.Graph = &plan.Graph{Build: "linux-amd64", Nodes: []*plan.Node{n}}
	k.builder.Store = s
	want, err := k.builder.Key(t.Context(), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, built := range []bool{false, true} {
		forecast, verdicts := k.builder.Survey(t.Context())
		f := forecast[n.ID]
		if !f.Known || f.Cached || f.Key.ID != want.ID || (f.Key.Text != "") != built {
			t.Errorf("built %v: %+v", built, f)
		}
		if state := verdicts[n.ID].State; (state == explain.New) == built {
			t.Errorf("built %v: its state is %s", built, state)
		}
		k.builder.forecast = forecast
		if taken, err := k.builder.keyed(t.Context(), n, nil); err != nil || taken != want {
			t.Errorf("built %v: a build takes the key %v, %v", built, taken, err)
		}
		if told, _, err := k.builder.Contents(t.Context(), n); err != nil || told != want {
			t.Errorf("built %v: told is the key %v, %v", built, told, err)
		}
		if got, want := k.builder.Expect(n), time.Duration(0); got != want {
			t.Errorf("built %v: it is expected to take %v", built, got)
		}
		// An earlier result, under another key.
		other := base()
		other.Build, other.Version = nil, "0.9.0"
		old, err := k.builder.Key(t.Context(), other, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Seal(t.Context(), store.Action{Component: n.Component, Host: n.Host, Key: old}, t.TempDir(), nil); err != nil {
			t.Fatal(err)
		}
	}
}
