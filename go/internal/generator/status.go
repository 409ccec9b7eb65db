package generator

// Status has the fields that squall.State documents.
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

// withoutState is the status if no state is kept and the operating system serves every request.
var withoutState = Status{
	Engine: "none", Memory: "none",
	ForkGuard: "kernel", CloneGuard: "kernel", ReseedGuard: "kernel",
}
