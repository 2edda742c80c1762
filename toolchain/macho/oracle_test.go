package macho

import "testing"

func oracle(t testing.TB, path string) {}
