package squall_test

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	squall "github.com/squall-rng/squall/go"
)

// Read works like crypto/rand.Read.
func ExampleRead() {
	var key [32]byte
	n, err := squall.Read(key[:])
	fmt.Println(n, err, key != [32]byte{})
	// Output: 32 <nil> true
}

// A fair coin: each bit of a uniform number is one.
func ExampleUint64() {
	heads := 0
	for range 10_000 {
		heads += int(squall.Uint64() & 1)
	}
	fmt.Println(heads > 4_500 && heads < 5_500)
	// Output: true
}

// Dice, shuffles and permutations that nobody can predict.
func ExampleSource() {
	dice := rand.New(squall.Source())
	roll := 1 + dice.IntN(6)
	fmt.Println(roll >= 1 && roll <= 6)

	cards := []string{"ace", "king", "queen", "jack"}
	dice.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	slices.Sort(cards)
	fmt.Println(cards)

	order := dice.Perm(5)
	slices.Sort(order)
	fmt.Println(order)
	// Output:
	// true
	// [ace jack king queen]
	// [0 1 2 3 4]
}

// A random walk, which a clone of the machine may repeat without harm.
func ExampleSimulationSource() {
	steps := rand.New(squall.SimulationSource{})
	position := 0
	for range 10_000 {
		position += 2*steps.IntN(2) - 1
	}
	fmt.Println(position > -1_000 && position < 1_000)
	// Output: true
}

// The whole program's crypto/rand. Set it first thing in main, before anything draws.
func ExampleReader() {
	theirs := cryptorand.Reader
	defer func() { cryptorand.Reader = theirs }()

	cryptorand.Reader = squall.Reader
	n, err := cryptorand.Int(cryptorand.Reader, big.NewInt(1_000))
	fmt.Println(n.Cmp(big.NewInt(1_000)) < 0, err)
	// Output: true <nil>
}

// A key that lives for years, made from new bytes of the kernel's RNG.
func ExampleFresh() {
	var key [32]byte
	squall.Fresh(key[:])
	fmt.Println(key != [32]byte{})
	// Output: true
}

// A nonce for AES-GCM.
func ExampleBytes() {
	nonce := squall.Bytes(12)
	fmt.Println(len(nonce))
	// Output: 12
}

// A token for a link or a session.
func ExampleText() {
	token := squall.Text()
	fmt.Println(len(token), token != squall.Text())
	// Output: 26 true
}

// The protections of a program on this machine, for its log.
func ExampleStatus() {
	state := squall.Status()
	fmt.Println(strings.HasPrefix(state.String(), "engine "+state.Engine+", memory "+state.Memory))
	// Output: true
}

// A server can replace here what it must not share with clones of its machine.
func ExampleNotifyClones() {
	generations, err := squall.NotifyClones(context.Background())
	if err != nil {
		fmt.Println(err) // squall.ErrNoCloneSignal: clones of this machine are not noticed
		return
	}
	go func() {
		for generation := range generations {
			fmt.Println("cloned:", generation)
		}
	}()
}
