package app

// ballast is memory that is taken and never touched, so it costs address space
// and no RAM: 40 MB.
//
// Go collects garbage when the heap has doubled, from 4 MB on (package runtime,
// GOGC). Verbs such as plan hold most of what they allocate and end soon, and
// would spend a quarter of their time on collecting again and again. With the
// ballast the heap doubles at about 80 MB for the first time, which a plan of a
// thousand components does not reach.
type ballast []byte

func newBallast() ballast { return make(ballast, 40<<20) }
