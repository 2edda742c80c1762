package sdk

import (
	_ "embed"
	"strings"
)

// floor is the oldest macOS whose libc++ is known symbol by symbol: it was made
// of LLVM 16.
var floor = Version{Major: 14}

// baselineText is libcxx16.txt.
//
//go:embed libcxx16.txt
var baselineText string

// baseline is the set of symbols that libc++ of LLVM 16 had, the first that
// macOS 14 shipped. A symbol that is not among them, and that nothing dates,
// is taken for one that no macOS has: a link that fails is safer than a
// program that does not start.
func baseline() map[string]bool {
	set := make(map[string]bool, 2300)
	for line := range strings.Lines(baselineText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			if c, ok := strings.CutPrefix(name, "-"); ok {
				set[c] = true
			} else {
				set["__Z"+name] = true
			}
		}
	}
	return set
}

// unlisted dates symbols that libc++'s change log does not name, by the LLVM
// whose list of symbols was the first to have them. The lists of LLVM 15 to 19
// and 21 to 23 have been compared; what came between 19 and 21 counts as 21.
func unlisted() map[string]int {
	return map[string]int{
		"__ZNSt13exception_ptr31__from_native_exception_pointerEPv":                  18,
		"__ZNSt3__118__get_ostream_fileERNS_13basic_ostreamIcNS_11char_traitsIcEEEE": 18,
		"__ZNKSt3__119bad_expected_accessIvE4whatEv":                                 19,
		"__ZTINSt3__119bad_expected_accessIvEE":                                      19,
		"__ZTSNSt3__119bad_expected_accessIvEE":                                      19,
		"__ZTVNSt3__119bad_expected_accessIvEE":                                      19,
		"___cxa_call_terminate":                                                      19,
		"__ZNKSt3__117bad_function_call4whatEv":                                      21,
		"__ZTSNSt3__114__codecvt_utf8IDiEE":                                          21,
		"__ZNSt3__133__atomic_wait_native_with_timeoutILm8EEEvPKvS2_y":               22,
		"__ZNSt3__139__atomic_wait_global_table_with_timeoutEPKvxy":                  22,
		"__ZNKSt29__bad_variant_access_with_msg4whatEv":                              23,
		"__ZNSt3__121__get_locale_encodingEPKc":                                      23,
		"__ZTISt29__bad_variant_access_with_msg":                                     23,
		"__ZTSSt29__bad_variant_access_with_msg":                                     23,
		"__ZTVSt29__bad_variant_access_with_msg":                                     23,
	}
}
