//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"debug/elf"
	"math"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// Bytes of the kernel's RNG, written to a page and nowhere else: by the vDSO without a system call, with their
// generation, or by the system call.
//
// getrandom in the vDSO (Linux 6.11) keeps an opaque state in memory of ours and refills it when
// the kernel reseeds. Two facts about it are not part of the kernel's promised interface: where in
// the state the generation stands, and where the kernel's current generation stands in the vDSO's
// data. Neither is trusted: an address is used only while its value equals the generation that the
// vDSO itself recorded with the bytes it just gave, which every seeding checks.

// stateGenerationAt is the offset of the generation in a state of 144 bytes: after a batch of 96 bytes and
// a key of 32.
const stateGenerationAt = 128

// VDSO is the vDSO's getrandom.
type VDSO struct {
	getrandom uintptr
}

// findVDSO finds the function, and checks that its state has the known length.
func findVDSO() *VDSO {
	if failpoint.HideVDSO.IsActive() || vdsoBase == 0 {
		return nil
	}
	vdso := new(VDSO)
	if vdso.getrandom = vdso.function(getrandomName); vdso.getrandom == 0 {
		return nil
	}
	// struct vgetrandom_opaque_params (include/uapi/linux/random.h).
	var params struct {
		stateLength, mmapProt, mmapFlags uint32
		reserved                         [13]uint32
	}
	status := callGetrandom(vdso.getrandom, nil, 0, unsafe.Pointer(&params), math.MaxUint)
	if status != 0 || params.stateLength != vdsoLen {
		return nil
	}
	return vdso
}

// vdsoBase is where the vDSO is; 0 if there is none.
var vdsoBase = func() uintptr {
	const sysinfoEhdr = 33 // AT_SYSINFO_EHDR
	vector, err := unix.Auxv()
	if err != nil {
		return 0
	}
	for _, entry := range vector {
		if entry[0] == sysinfoEhdr {
			return entry[1]
		}
	}
	return 0
}()

// function finds a function in the image, which comes from the kernel and is trusted to be well formed
// (System V ABI, chapter 4); 0 if there is none of that name. debug/elf would take as long as the rest of a
// first request.
func (v *VDSO) function(name string) uintptr {
	// SAFETY: the kernel gave the address of the image it mapped, whole and from its first byte on, and
	// the image's tables tell where its parts are.
	header := (*elf.Header64)(v.at(0))
	sections := unsafe.Slice((*elf.Section64)(v.at(int(header.Shoff))), header.Shnum)
	for _, section := range sections {
		if elf.SectionType(section.Type) != elf.SHT_DYNSYM {
			continue
		}
		names := sections[section.Link]
		text := unsafe.Slice((*byte)(v.at(int(names.Off))), names.Size)
		symbols := unsafe.Slice((*elf.Sym64)(v.at(int(section.Off))), section.Size/elf.Sym64Size)
		for _, symbol := range symbols {
			if unix.ByteSliceToString(text[symbol.Name:]) == name && symbol.Shndx != 0 {
				// The image is linked to begin at address 0.
				return vdsoBase + uintptr(symbol.Value)
			}
		}
	}
	return 0
}

// at returns the address of a byte of the image, or of the data below it.
func (v *VDSO) at(offset int) unsafe.Pointer {
	address := vdsoBase + uintptr(offset)
	return pointer(address)
}

// pointer converts an address that is not in Go's heap.
func pointer(address uintptr) unsafe.Pointer {
	// SAFETY: the collector ignores what does not point into the heap. By way of memory, because an
	// address that the kernel gave is none of the conversions that vet knows.
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// fill writes length bytes to out, at most 256, with the state that is in the page; and returns the
// kernel's generation they belong to, or 0 if the vDSO does not serve. The caller must own the page.
func (v *VDSO) fill(page *Page, out unsafe.Pointer, length uintptr) uint64 {
	// SAFETY: the state is within one page that a fork empties, was zero at first, and is this P's.
	got := callGetrandom(v.getrandom, out, length, unsafe.Pointer(&page.vdso), vdsoLen)
	generation := *(*uint64)(unsafe.Pointer(&page.vdso[stateGenerationAt]))
	if failpoint.FreezeGeneration.IsActive() {
		generation = frozen
	}
	// It counts up from 1, about once a minute. Were the state laid out anew at the same length,
	// there would be a key's bytes here.
	if got != int64(length) || generation >= 1<<40 {
		return 0
	}
	return generation
}

// patience is the number of seedings after which an address that holds another generation is wrong: the
// kernel may have reseeded in between, but not that often.
const patience = 4

// SeedFromKernel fills the page's Seed from the kernel's RNG, and returns the generation that the
// bytes belong to; false if the kernel refuses. The caller must own the page.
func (p *Policy) SeedFromKernel(page *Page) (generation uint64, ok bool) {
	seed := unsafe.Pointer(&page.Seed)
	for attempt := 1; p.vdso != nil; attempt++ {
		generation := p.vdso.fill(page, seed, StateLen)
		if generation == 0 {
			break
		}
		if failpoint.ZeroKernelBytes.IsActive() {
			clear(page.Seed[:])
		}
		if p.vdso.confirmAddress(generation) || attempt > patience {
			return generation, true
		}
		if attempt == patience {
			p.vdso.findAnotherAddress(generation)
		}
	}
	before := mappedGeneration()
	if before == 0 {
		before = NoGeneration
	}
	return before, FreshSeed(page)
}

// FreshSeed fills the page's Seed by the system call; false if it fails. The caller must own the page,
// and the kernel's RNG must be ready, so that the call does not wait.
func FreshSeed(page *Page) bool {
	got, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&page.Seed)), StateLen, 0)
	if failpoint.ZeroKernelBytes.IsActive() {
		clear(page.Seed[:])
	}
	return errno == 0 && got == StateLen
}

// WaitForKernel waits until the kernel's RNG is ready, after which it stays ready; false if the system call
// is not available.
func WaitForKernel() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, 0, 0, unix.GRND_NONBLOCK)
	for errno == unix.EAGAIN || errno == unix.EINTR {
		_, _, errno = unix.Syscall(unix.SYS_GETRANDOM, 0, 0, 0)
	}
	return errno == 0
}
