package importer

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// Again makes the description of a library anew, as the folder has it beside its
// annotations: of the version and the packages that the old one names, and with the
// descriptions that it uses. Headers that have not changed give the same bytes.
func (c Clang) Again(ctx context.Context, folder fs.FS, library string, symbols Symbols) ([]byte, error) {
	old, err := api.Load(folder, library)
	if err != nil {
		return nil, err
	}
	file := path.Join("annotations", library+".yaml")
	data, err := fs.ReadFile(folder, file)
	if err != nil {
		return nil, err
	}
	notes, err := ReadAnnotations(file, data)
	if err != nil {
		return nil, err
	}
	if notes.Library != library {
		return nil, fmt.Errorf("%s is about %s", file, notes.Library)
	}
	tree, err := c.Tree(ctx, notes, symbols)
	if err != nil {
		return nil, err
	}
	res, err := Import(Input{
		Tree: tree, Annotations: notes, Symbols: symbols,
		Version: old.Version, Origin: old.Origin, Used: old.Used(),
	})
	if err != nil {
		return nil, err
	}
	return res.Library.Bytes(), c.Verify(ctx, notes, res.Library)
}
