package step

import "github.com/stonemason-hip/stonemason/toolchain/macho"

// machOEditor is Apple's own tools on a Mac: the signature is codesign's then,
// which is what other tools of Apple's expect to find. What they have done is
// read back and compared with what was meant, as our own edits are.
func machOEditor() macho.Editor {
	return macho.Editor{Tool: macho.InstallNameTool{Program: "/usr/bin/install_name_tool", Codesign: "/usr/bin/codesign"}}
}
