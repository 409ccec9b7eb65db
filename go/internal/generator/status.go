package generator

// Status is what squall.Status documents.
type Status struct {
	Engine, Memory               string
	ForkGuard, CloneGuard        string
	ReseedGuard                  string
	KernelGeneration             uint64
	IsVM, HasVMGenID, HasVMClock bool
	HasVMGenIDPage               bool
	CounterShowsStops            bool
	HasVDSOGetrandom             bool
	Reseeds, BytesDiscarded      uint64
}

// withoutState is what there is where no state is kept: every request is one to the operating system.
var withoutState = Status{
	Engine: "none", Memory: "none",
	ForkGuard: "kernel", CloneGuard: "kernel", ReseedGuard: "kernel",
}
