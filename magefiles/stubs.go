//go:build mage

package main

import (
	"context"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// Stub writes link stubs of libraries that the project describes, comma-separated, as C with CMake files, into the folder -out=FOLDER.
func (API) Stub(ctx context.Context, libraries string, out *string) error {
	return door(app.New().APIStub(ctx, libraries, value(out)))
}
