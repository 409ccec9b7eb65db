//go:build linux && (amd64 || arm64) && !purego

package drbg

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
)

// text is bytes in hex.
type text []byte

func (t *text) UnmarshalText(digits []byte) error {
	*t = make([]byte, hex.DecodedLen(len(digits)))
	_, err := hex.Decode(*t, digits)
	return err
}

// vector is one of NIST's (CAVP), as vectors/README.md describes them.
type vector struct {
	Cipher          string
	IsResistant     bool `json:"prediction_resistance"`
	Entropy         text
	Personalization text
	ReseedEntropy   text `json:"reseed_entropy"`
	ReseedInput     text `json:"reseed_additional"`
	Input1          text `json:"additional_1"`
	Input2          text `json:"additional_2"`
	PREntropy1      text `json:"pr_entropy_1"`
	PREntropy2      text `json:"pr_entropy_2"`
	Output          text
}

// xored is entropy XORed with input that may be shorter.
func xored(entropy, input []byte) *[SeedLen]byte {
	material := [SeedLen]byte(entropy)
	for i, b := range input {
		material[i] ^= b
	}
	return &material
}

// input is additional input as Generate takes it.
func input(bytes []byte) *[SeedLen]byte {
	if len(bytes) == 0 {
		return nil
	}
	return xored(make([]byte, SeedLen), bytes)
}

// second is the second output of the procedure.
func (v *vector) second(engine aes256.Engine) []byte {
	drbg := DRBG{Engine: engine, State: new([SeedLen]byte), Keys: new([aes256.KeysSize]byte), Block: new([SeedLen]byte)}
	drbg.Reseed(xored(v.Entropy, v.Personalization))
	out := make([]byte, len(v.Output))
	if v.IsResistant {
		drbg.Reseed(xored(v.PREntropy1, v.Input1))
		drbg.Generate(out, nil)
		drbg.Reseed(xored(v.PREntropy2, v.Input2))
		drbg.Generate(out, nil)
		return out
	}
	if len(v.ReseedEntropy) > 0 {
		drbg.Reseed(xored(v.ReseedEntropy, v.ReseedInput))
	}
	drbg.Generate(out, input(v.Input1))
	drbg.Generate(out, input(v.Input2))
	return out
}

func TestCAVP(t *testing.T) {
	file, err := os.ReadFile("../../../drbg/vectors/ctr_drbg_no_df.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(aes256.Available()) == 0 {
		t.Skip("no engine runs on this CPU")
	}
	for _, engine := range aes256.Available() {
		run := 0
		for i, v := range vectors {
			if v.Cipher != "AES-256" {
				continue
			}
			run++
			if out := v.second(engine); !bytes.Equal(out, v.Output) {
				t.Errorf("%v: vector %d: %x, and not %x", engine, i, out, v.Output)
			}
		}
		if run < 100 {
			t.Errorf("%v: only %d vectors", engine, run)
		}
	}
}
