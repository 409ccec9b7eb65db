//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// In the code for arm64 each check has its barrier in front of the loads of marks, and each mark's store a
// barrier behind it. What the barriers do cannot be tested in emulators on x86-64, which perform loads in order.
func TestBarriersAreCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests build nothing")
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-S", ".")
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	// The barriers, and Go's atomic loads and stores, of a function.
	parts := regexp.MustCompile(`\b(readBeforeChecking|markBeforeGoingOn)\(|\s(LDAR|STLR)\s`)
	check := regexp.MustCompile(`^readBeforeChecking\(( LDAR)+$`)
	mark := regexp.MustCompile(`^(STLR )+markBeforeGoingOn\($`)
	for function, order := range map[string]*regexp.Regexp{
		"IsFresh": check, "IsCurrent": check, "WasPresent": check,
		"BeginSeeding": mark, "SetGeneration": mark, "SetFreshnessTag": mark, "BeginWatch": mark,
	} {
		_, code, _ := strings.Cut(string(output), "guard.(*Page)."+function+" STEXT")
		code, _, _ = strings.Cut(code, " STEXT")
		found := strings.Join(strings.Fields(strings.Join(parts.FindAllString(code, -1), " ")), " ")
		if !order.MatchString(found) {
			t.Errorf("%s: %q", function, found)
		}
	}
}
