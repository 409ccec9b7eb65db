package main

import "sync"

// taken is what goroutines took from the channel.
type taken struct{ values, letters int64 }

// feed has as many goroutines make values, each of them so many, as others take them.
func feed(maker func() text, goroutines, values int) taken {
	channel := make(chan []byte)
	sums := make(chan taken)
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			text := maker()
			for range values {
				channel <- text()
			}
		})
		go func() {
			var sum taken
			for value := range channel {
				sum.values++
				sum.letters += int64(len(value))
			}
			sums <- sum
		}()
	}
	makers.Wait()
	close(channel)
	var all taken
	for range goroutines {
		sum := <-sums
		all.values += sum.values
		all.letters += sum.letters
	}
	return all
}
