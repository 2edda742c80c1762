package sdk

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// SettingsFile describes an SDK, at its top.
const SettingsFile = "SDKSettings.json"

// maxSettings bounds the description of an SDK that is read; Apple's have some
// 30 kB.
const maxSettings = 4 << 20

// readVersion reads the version of the SDK that zig's headers are from.
func readVersion(darwin fs.FS) (Version, error) {
	data, err := readFile(darwin, "darwin/"+SettingsFile)
	if err != nil {
		return Version{}, err
	}
	var s struct{ MinimalDisplayName string }
	if err := json.Unmarshal(data, &s); err != nil {
		return Version{}, fmt.Errorf("darwin/%s: %w", SettingsFile, err)
	}
	v, err := ParseVersion(s.MinimalDisplayName)
	if err != nil {
		return Version{}, fmt.Errorf("darwin/%s: %w", SettingsFile, err)
	}
	return v, nil
}

// settings writes SDKSettings.json. Clang reads Version, MaximumDeploymentTarget
// and VersionMap (clang/lib/Basic/DarwinSDKInfo.cpp), the latter only to be
// there; ld64.lld is told the version by clang.
func settings(v Version) []byte {
	data, err := json.MarshalIndent(struct {
		CanonicalName           string
		DisplayName             string
		MinimalDisplayName      string
		Version                 string
		MaximumDeploymentTarget string
		DefaultDeploymentTarget string
		IsBaseSDK               string
		VersionMap              map[string]map[string]string
	}{
		CanonicalName: "macosx" + v.String(), DisplayName: "macOS " + v.String(), MinimalDisplayName: v.String(), Version: v.String(),
		MaximumDeploymentTarget: fmt.Sprintf("%d.99", v.Major), DefaultDeploymentTarget: v.String(), IsBaseSDK: "YES",
		VersionMap: map[string]map[string]string{
			"macOS_iOSMac": {v.String(): "18.0"},
			"iOSMac_macOS": {"18.0": v.String()},
		},
	}, "", "  ")
	if err != nil {
		panic(err) // strings and maps of strings
	}
	return append(data, '\n')
}
