package squall_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	squall "github.com/squall-rng/squall/go"
)

func TestText(t *testing.T) {
	seen := map[byte]bool{}
	for range 100 {
		text := squall.Text()
		if len(text) != 26 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
			t.Fatalf("%q is no 26 characters of base32", text)
		}
		for i := range len(text) {
			seen[text[i]] = true
		}
	}
	if len(seen) != 32 {
		t.Errorf("only %d characters of 32 are used", len(seen))
	}
}

func TestStatus(t *testing.T) {
	state := squall.Status()
	t.Log(state)
	if state.Engine != "none" && (state.Reseeds == 0 || state.Memory == "none") {
		t.Errorf("%+v: it cannot be so", state)
	}
	if isKVMClock := state.CloneGuard == "kvm-clock"; isKVMClock != state.HasKVMClock || isKVMClock != (squall.CloneSignal() == "kvm-clock") {
		t.Errorf("%+v, and the signal %q", state, squall.CloneSignal())
	}
}

// With a signal, there is a channel, which closes when the context ends; without one, an error.
func TestCloneGeneration(t *testing.T) {
	running, end := context.WithCancel(t.Context())
	generations, err := squall.NotifyClones(running)
	generation, known := squall.CloneGeneration()
	t.Logf("%q: %d, %t", squall.CloneSignal(), generation, known)
	if isNone := squall.CloneSignal() == ""; isNone == known || isNone != errors.Is(err, squall.ErrNoCloneSignal) {
		t.Errorf("known: %t, and the channel: %v", known, err)
	}
	end()
	if generations != nil {
		for range generations {
		}
	}
}

// It waits until no message of the last reseed can come. Before that, each call makes a system call.
func BenchmarkCloneGeneration(b *testing.B) {
	if _, known := squall.CloneGeneration(); !known {
		b.Skip("nothing on this machine shows clones")
	}
	time.Sleep(1100 * time.Millisecond)
	for b.Loop() {
		squall.CloneGeneration()
	}
}

func TestReaderFillsAll(t *testing.T) {
	for _, length := range []int{0, 1, 100_000} {
		n, err := squall.Reader.Read(make([]byte, length))
		if n != length || err != nil {
			t.Errorf("%d bytes of %d: %v", n, length, err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, length := range []int{4, 16, 32, 256, 4096, 1 << 16, 1 << 20} {
		buffer := make([]byte, length)
		run := func(name string, read func([]byte) (int, error)) {
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					read(buffer)
				}
			})
		}
		run("squall", squall.Read)
		run("crypto", rand.Read)
	}
}

// counting counts what is drawn from squall.
type counting struct{ bytes atomic.Int64 }

func (c *counting) Read(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return squall.Reader.Read(b)
}

// Checks which functions of Go's release draw from crypto/rand.Reader after a program has assigned squall
// to it: the list in the package's documentation.
func TestWhatGoDrawsFromTheReader(t *testing.T) {
	theirs := rand.Reader
	reader := &counting{}
	rand.Reader = reader
	defer func() { rand.Reader = theirs }()

	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rsaKey, err := rsa.GenerateKey(theirs, 2048)
	must(err)
	ecdsaKey, err := ecdsa.GenerateKey(elliptic.P256(), theirs)
	must(err)
	digest := sha256.Sum256(nil)
	cases := []struct {
		name   string
		isOurs bool
		call   func() error
	}{
		{"rand.Read", true, func() error { _, err := rand.Read(make([]byte, 16)); return err }},
		{"rand.Text", true, func() error { rand.Text(); return nil }},
		{"rand.Int", true, func() error { _, err := rand.Int(rand.Reader, big.NewInt(1000)); return err }},
		{"rsa.EncryptOAEP", true, func() error {
			_, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &rsaKey.PublicKey, []byte("it"), nil)
			return err
		}},
		{"rsa.SignPSS", true, func() error {
			_, err := rsa.SignPSS(rand.Reader, rsaKey, 5, digest[:], nil)
			return err
		}},
		{"tls: hello and session", true, func() error { return handshake(ecdsaKey) }},
		{"rand.Prime", false, func() error { _, err := rand.Prime(rand.Reader, 64); return err }},
		{"rsa.GenerateKey", false, func() error { _, err := rsa.GenerateKey(rand.Reader, 2048); return err }},
		{"ecdsa.GenerateKey", false, func() error {
			_, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			return err
		}},
		{"ecdsa.SignASN1", false, func() error { _, err := ecdsa.SignASN1(rand.Reader, ecdsaKey, digest[:]); return err }},
		{"ecdh.GenerateKey", false, func() error { _, err := ecdh.X25519().GenerateKey(rand.Reader); return err }},
		{"ed25519.GenerateKey", true, func() error { _, _, err := ed25519.GenerateKey(rand.Reader); return err }},
	}
	for _, c := range cases {
		before := reader.bytes.Load()
		must(c.call())
		drawn := reader.bytes.Load() - before
		t.Logf("%-24s %6d bytes from squall", c.name, drawn)
		if (drawn > 0) != c.isOurs {
			t.Errorf("%s draws %d bytes from rand.Reader: the package documents otherwise", c.name, drawn)
		}
	}
}

// handshake is one of TLS 1.3, both sides of it.
func handshake(key *ecdsa.PrivateKey) error {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"it"}}
	certificate, err := x509.CreateCertificate(bytes.NewReader(make([]byte, 1024)), template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	ended := make(chan error, 1)
	go func() {
		config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, SessionTicketsDisabled: true}
		ended <- tls.Server(server, config).Handshake()
	}()
	err = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake()
	if err != nil {
		return err
	}
	return <-ended
}
