package local

// Status is what squall.Status documents.
type Status struct {
	Engine, Memory                     string
	ForkGuard, CloneGuard, ReseedGuard string
	KernelGeneration                   uint64
	IsVM, HasVMGenID, HasVMClock       bool
	HasVDSOGetrandom, FollowsTick      bool
	Reseeds, BytesDiscarded            uint64
}
