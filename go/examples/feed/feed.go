package main

import "sync"

// totals counts the values and letters that goroutines took from the channel.
type totals struct{ values, letters int64 }

// feed starts a number of goroutines that make values each, and the same number that take them.
func feed(maker func() text, goroutines, values int) totals {
	channel := make(chan []byte)
	sums := make(chan totals)
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			text := maker()
			for range values {
				channel <- text()
			}
		})
		go func() {
			var sum totals
			for value := range channel {
				sum.values++
				sum.letters += int64(len(value))
			}
			sums <- sum
		}()
	}
	makers.Wait()
	close(channel)
	var all totals
	for range goroutines {
		sum := <-sums
		all.values += sum.values
		all.letters += sum.letters
	}
	return all
}
