package expr

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func scope() Scope {
	components := []string{"amd-llvm", "comgr", "hipify"}
	oses := []string{"darwin", "linux"}
	return Scope{
		"host":           {Type: String},
		"host.os":        {Type: String, Known: oses},
		"host.arch":      {Type: String},
		"build":          {Type: String},
		"native":         {Type: Bool},
		"has_gpu_driver": {Type: Bool},
		"channel":        {Type: String, Known: []string{"upstream", "debian"}},
		"gpus":           {Type: Set, Known: []string{"gfx90a", "gfx942"}},
		"llvm.version":   {Type: String},
		"enabled":        {Type: Func, Known: components},
	}
}

func env() Env {
	return Env{
		"host":           StringValue("darwin-arm64"),
		"host.os":        StringValue("darwin"),
		"host.arch":      StringValue("arm64"),
		"build":          StringValue("linux-amd64"),
		"native":         BoolValue(false),
		"has_gpu_driver": BoolValue(false),
		"channel":        StringValue("debian"),
		"gpus":           SetValue("gfx942", "gfx90a"),
		"llvm.version":   StringValue("22.1.0"),
		"enabled":        FuncValue(func(name string) bool { return name == "comgr" }),
	}
}

func TestEval(t *testing.T) {
	tests := []struct {
		src     string
		want    bool
		explain string
	}{
		{`true`, true, `true is true`},
		{`native`, false, `native is false`},
		{`not native`, true, `native is false`},
		{`not not native`, false, `native is false`},
		{`host.os == "linux"`, false, `host.os == "linux" is false (host.os is "darwin")`},
		{`host.os != 'linux'`, true, `host.os != "linux" is true (host.os is "darwin")`},
		{`"darwin" == host.os`, true, `"darwin" == host.os is true (host.os is "darwin")`},
		{`host == build`, false, `host == build is false (host is "darwin-arm64", build is "linux-amd64")`},
		{`host in ["darwin-arm64", "linux-arm64",]`, true, `host in ["darwin-arm64", "linux-arm64"] is true (host is "darwin-arm64")`},
		{`host not in []`, true, `host not in [] is true (host is "darwin-arm64")`},
		{`"gfx942" in gpus`, true, `"gfx942" in gpus is true (gpus is ["gfx90a", "gfx942"])`},
		{`"gfx90a" not in gpus`, false, `"gfx90a" not in gpus is false (gpus is ["gfx90a", "gfx942"])`},
		{`enabled("comgr")`, true, `enabled("comgr") is true`},
		{`enabled("hipify")`, false, `enabled("hipify") is false`},
		{`semver(llvm.version, ">=19, <23")`, true, `semver(llvm.version, ">=19, <23") is true (llvm.version is "22.1.0")`},
		{`semver(llvm.version, "~21")`, false, `semver(llvm.version, "~21") is false (llvm.version is "22.1.0")`},
		{`semver("7.0.2+dfsg", "7.x")`, true, `semver("7.0.2+dfsg", "7.x") is true`},
		{`native == false`, true, `native == false is true (native is false)`},
		{`(native or true) == true`, true, `(native or true) == true is true (native is false)`},

		// and binds tighter than or, not tighter than and.
		{`true or false and false`, true, `true is true`},
		{`(true or false) and false`, false, `false is false`},
		{`not true and false`, false, `true is true, false is false`},
		{`not (true and false)`, true, `false is false`},

		{`host.os == "linux" and has_gpu_driver and channel == "debian"`, false,
			`host.os == "linux" is false (host.os is "darwin"), has_gpu_driver is false`},
		{`native or has_gpu_driver`, false, `native is false, has_gpu_driver is false`},
		{`native or channel == "debian" or enabled("comgr")`, true, `channel == "debian" is true (channel is "debian")`},
		{`not (native or has_gpu_driver)`, true, `native is false, has_gpu_driver is false`},
		{`native and (has_gpu_driver or not enabled("comgr"))`, false, `native is false, has_gpu_driver is false, enabled("comgr") is true`},
		{`native and native`, false, `native is false`},
	}
	for _, tt := range tests {
		e, err := Parse(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if err := e.Check(scope()); err != nil {
			t.Errorf("%s: %v", tt.src, err)
		}
		got, err := e.Eval(env())
		if err != nil || got != tt.want {
			t.Errorf("%s = %v, %v; want %v", tt.src, got, err, tt.want)
		}
		if got := e.Explain(env()); got != tt.explain {
			t.Errorf("%s is explained as\n%s\nwant\n%s", tt.src, got, tt.explain)
		}
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat("(", 51) + "native" + strings.Repeat(")", 51)
	tests := []struct{ src, want string }{
		{"", "column 1: found the end, expected a name, a string, a list, true, false, not or ("},
		{"   ", "column 4: found the end, expected a name, a string, a list, true, false, not or ("},
		{"native and", "column 11: found the end, expected a name, a string, a list, true, false, not or ("},
		{"native native", "column 8: found native, expected and, or, or the end"},
		{"(native", "column 8: found the end, expected ) for the ( at column 1"},
		{"native)", "column 7: found ), expected and, or, or the end"},
		{`a && b`, `column 3: unknown operator &&: did you mean "and"?`},
		{`a || b`, `column 3: unknown operator ||: did you mean "or"?`},
		{`!a`, `column 1: unknown operator !: did you mean "not"?`},
		{`a = "b"`, `column 3: unknown operator =: did you mean "=="?`},
		{`a === "b"`, `column 3: unknown operator ===: did you mean "=="?`},
		{`a < "b"`, `column 3: operator < does not exist: compare versions with semver(name, "<1.2")`},
		{`a == "é" # b`, `column 10: unexpected character '#'`},
		{"a == \xff", "column 6: byte 0xff is not valid UTF-8"},
		{"a == \"\xff\"", "column 6: the string is not valid UTF-8"},
		{`a == "b`, `column 6: a string that opens here is not closed`},
		{"a == \"b\n\"", `column 6: a string that opens here is not closed`},
		{`a == "b\n"`, `column 8: strings have no escapes: \ is not accepted`},
		{`a == b == c`, `column 8: comparisons do not chain: join them by and`},
		{`a not b`, `column 7: found b, expected in after "not"`},
		{`a in [b]`, `column 7: found b, expected a string or ]`},
		{`a in ["b" "]"]`, `column 11: found the string "]", expected , or ]`},
		{`a in ["b"`, `column 10: found the end, expected , or ]`},
		{`a..b`, `column 1: name a..b has an empty part`},
		{`host. == "x"`, `column 1: name host. has an empty part`},
		{`enabled()`, `column 1: enabled takes one string in quotes`},
		{`enabled(comgr)`, `column 1: enabled takes one string in quotes`},
		{`enabled("a", "b")`, `column 1: enabled takes one string in quotes`},
		{`enabled(("a"))`, `column 9: found (, expected a string, a name or )`},
		{`enabled("a" "b")`, `column 13: found the string "b", expected , or )`},
		{`semver(llvm.version)`, `column 1: semver takes a version and a constraint in quotes: semver(llvm.version, ">=19")`},
		{`semver(llvm.version, ">=x.y")`, `column 22: ">=x.y" is no version constraint`},
		{`and`, `column 1: found and, expected a name, a string, a list, true, false, not or (`},
		{deep, "column 51: the expression nests deeper than 50 levels"},
		{strings.Repeat("not ", 51) + "a", "column 201: the expression nests deeper than 50 levels"},
		{strings.Repeat("a", 4097), "column 1: the expression has 4097 bytes, more than the 4096 that are accepted"},
	}
	for _, tt := range tests {
		e, err := Parse(tt.src)
		var own *Error
		if !errors.As(err, &own) || err.Error() != tt.want {
			t.Errorf("Parse(%.60q) = %v, %v\nwant %s", tt.src, e, err, tt.want)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	tests := []struct{ src, want string }{
		{`hots == "x"`, `column 1: unknown name hots: did you mean "host"?`},
		{`native and zzz`, `column 12: unknown name zzz, expected one of build, channel, gpus, has_gpu_driver, host, host.arch, host.os, llvm.version, native`},
		{`host`, `column 1: host is a string, but a condition has to be a boolean`},
		{`gpus`, `column 1: gpus is a set of strings, but a condition has to be a boolean`},
		{`"x"`, `column 1: "x" is a string, but a condition has to be a boolean`},
		{`native and host`, `column 12: host is a string, but what and joins has to be a boolean`},
		{`not host`, `column 5: host is a string, but what not turns around has to be a boolean`},
		{`host == native`, `column 6: cannot compare a string (host) with a boolean (native)`},
		{`gpus == ["gfx942"]`, `column 6: sets have no ==: ask for members, as in "gfx942" in gpus`},
		{`host in "linux"`, `column 9: "linux" is a string, but what is right of in has to be a set of strings`},
		{`native in gpus`, `column 1: native is a boolean, but what is left of in has to be a string`},
		{`host.os == "lniux"`, `column 12: host.os is never "lniux": did you mean "linux"?`},
		{`host.os in ["linux", "windows"]`, `column 12: host.os is never "windows", expected one of "darwin", "linux"`},
		{`"gfx924" in gpus`, `column 1: gpus never has "gfx924": did you mean "gfx942"?`},
		{`enabled("hipfy")`, `column 9: enabled knows no "hipfy": did you mean "hipify"?`},
		{`enable("comgr")`, `column 1: unknown function enable: did you mean "enabled"?`},
		{`enabled`, `column 1: enabled is a function: call it, as in enabled("...")`},
		{`native("x")`, `column 1: native is a boolean and no function`},
		{`semver(native, "1")`, `column 8: native is a boolean, but the version has to be a string`},
	}
	for _, tt := range tests {
		e, err := Parse(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		err = e.Check(scope())
		var own *Error
		if !errors.As(err, &own) || err.Error() != tt.want {
			t.Errorf("%s: %v\nwant %s", tt.src, err, tt.want)
		}
	}
}

// An expression that nobody checked still ends in an error, not in a guess.
func TestEvalErrors(t *testing.T) {
	tests := []struct{ src, want string }{
		{`missing`, `column 1: missing has no value`},
		{`native or missing`, `column 11: missing has no value`},
		{`host`, `column 1: host is a string and no boolean`},
		{`host == native`, `column 6: == does not apply to a string and a boolean`},
		{`host in host`, `column 6: in does not apply to a string and a string`},
		{`missing("x")`, `column 1: function missing does not exist`},
		{`host("x")`, `column 1: function host does not exist`},
		{`semver(host, "1")`, `column 8: host is "darwin-arm64", which is no version`},
		{`semver(native, "1")`, `column 8: native is false, which is no version`},
	}
	for _, tt := range tests {
		e, err := Parse(tt.src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(env()); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v\nwant %s", tt.src, err, tt.want)
		}
		if got := e.Explain(env()); got != tt.want {
			t.Errorf("%s is explained as %s", tt.src, got)
		}
	}
	// What is not asked cannot fail.
	for src, want := range map[string]bool{`native and missing`: false, `not native or missing`: true} {
		e, _ := Parse(src)
		if got, err := e.Eval(env()); got != want || err != nil {
			t.Errorf("%s = %v, %v", src, got, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ src, want string }{
		{"( native )", "native"},
		{"a and(b and c)or(d)", "a and b and c or d"},
		{"(a or b) and c", "(a or b) and c"},
		{"not(a or b)", "not (a or b)"},
		{"not(a == 'x')", `not a == "x"`},
		{"(not a) == true", "(not a) == true"},
		{"(a == b) == (c in d)", "(a == b) == (c in d)"},
		{`a == 'say "x"'`, `a == 'say "x"'`},
		{"a\n\tnot  in['x' ,]", `a not in ["x"]`},
		{"f( 'x' )", `f("x")`},
	}
	for _, tt := range tests {
		e, err := Parse(tt.src)
		if err != nil || e.String() != tt.want {
			t.Errorf("%q reads as %q, %v; want %q", tt.src, e, err, tt.want)
		}
	}
}

func TestIdents(t *testing.T) {
	e, err := Parse(`host == build and (native or "x" in gpus) and not native and enabled("comgr") and enabled("a") and semver(v, "1")`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.Idents(), []string{"build", "gpus", "host", "native", "v"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Idents = %q, want %q", got, want)
	}
	if got, want := e.Args("enabled"), []string{"a", "comgr"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Args = %q, want %q", got, want)
	}
}

func TestZero(t *testing.T) {
	for _, e := range []*Expr{nil, {}} {
		if ok, err := e.Eval(nil); !ok || err != nil || !e.IsZero() || e.String() != "" || e.Check(nil) != nil || e.Explain(nil) != "" || e.Idents() != nil {
			t.Errorf("the absent condition is not simply true: %v, %v", ok, err)
		}
	}
	var e Expr
	if err := e.UnmarshalText([]byte("native ")); err != nil || e.String() != "native" {
		t.Errorf("UnmarshalText gives %q, %v", &e, err)
	}
	if err := e.UnmarshalText([]byte("(")); err == nil || e.String() != "native" {
		t.Errorf("a mistake replaced the expression by %q, %v", &e, err)
	}
	if text, err := e.MarshalText(); string(text) != "native" || err != nil {
		t.Errorf("MarshalText = %q, %v", text, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`host.os == "linux" and not (native or has_gpu_driver)`, `"gfx942" in gpus`, `semver(llvm.version, ">=19") or enabled("comgr")`,
		`host not in ["a", 'b"']`, `((((`, `not not true`, `a.b.c == true`, "\"\xff", `(a and b) == (c or d)`, `a==b!=c`, "é",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := Parse(src)
		if err != nil {
			var own *Error
			if !errors.As(err, &own) || own.Col < 1 || own.Col > len(src)+1 {
				t.Fatalf("Parse(%q): %v", src, err)
			}
			return
		}
		text := e.String()
		again, err := Parse(text)
		if err != nil {
			if len(text) > maxLength {
				return // spaces and parentheses made it longer
			}
			t.Fatalf("%q reads as %q, which does not read: %v", src, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q becomes %q, then %q", src, text, again)
		}
		bad := e.Check(scope())
		got, err := e.Eval(env())
		if bad == nil && err != nil && !strings.Contains(err.Error(), "no version") {
			t.Errorf("%q passes the check, but: %v", src, err)
		}
		if other, otherErr := again.Eval(env()); other != got || (err == nil) != (otherErr == nil) {
			t.Errorf("%q is %v, its canonical form %v", src, got, other)
		}
		if e.Explain(env()) == "" {
			t.Errorf("%q has no explanation", src)
		}
	})
}
