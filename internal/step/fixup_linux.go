package step

import "github.com/stonemason-hip/stonemason/toolchain/macho"

// machOEditor is our own code where there are no tools of Apple's.
func machOEditor() macho.Editor { return macho.Editor{} }
