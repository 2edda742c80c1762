package store

import (
	"os"
	"testing"
	"time"
)

func TestTrimTakesTheLongestUnusedAndKeepsWhatIsInUse(t *testing.T) {
	s := open(t)
	old, used, kept, fresh := seal(t, s, "old", "1"), seal(t, s, "used", "2"), seal(t, s, "kept", "3"), seal(t, s, "fresh", "4")
	for i, a := range []Action{old, used, kept, fresh} {
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(s.actionFile(a.Component, a.Key.ID), when, when); err != nil {
			t.Fatal(err)
		}
	}
	s.Used(used)
	// Room for two: old and kept are the longest unused, and kept is in use.
	objects, bytes, err := s.Trim(t.Context(), old.Bytes*2, []Content{kept.Content})
	if err != nil || objects != 2 || bytes != old.Bytes+fresh.Bytes {
		t.Errorf("Trim removed %d objects, %d bytes, %v", objects, bytes, err)
	}
	for name, c := range map[string]struct {
		a    Action
		want bool
	}{"old": {old, false}, "used": {used, true}, "kept": {kept, true}, "fresh": {fresh, false}} {
		if _, ok, err := s.Lookup("tool", c.a.Key.ID); ok != c.want || err != nil {
			t.Errorf("%s is there: %v, %v; want %v", name, ok, err, c.want)
		}
	}
	if left, _ := os.ReadDir(s.Root() + "/tmp"); len(left) != 0 {
		t.Errorf("tmp holds %v", left)
	}
	if objects, _, err := s.Trim(t.Context(), 1<<40, nil); objects != 0 || err != nil {
		t.Errorf("Trim below the cap removed %d, %v", objects, err)
	}
}
