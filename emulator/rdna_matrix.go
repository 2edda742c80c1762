package emulator

func rdnaMatrix() map[string]*operation { return nil }
