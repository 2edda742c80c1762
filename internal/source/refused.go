package source

import (
	"errors"
	"fmt"

	"github.com/stonemason-hip/stonemason/internal/archive"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/fetch"
)

// refused says that a source could not be had, and what can be done about it.
func refused(name string, err error) error {
	err = exit.With(exit.Source, fmt.Errorf("source %s: %w", name, err))
	var network *fetch.Error
	var content *archive.Error
	switch {
	case errors.As(err, &network):
		return exit.Hint(err, "build again, or name another address under mirrors in therock.yaml")
	case errors.As(err, &content) && content.Rule != archive.RuleWrite && content.Rule != archive.RuleDest:
		return exit.Hint(err, "pin another archive in toolchain/releases.yaml, then: go tool mage lock")
	}
	return err
}
