module squall.invalid/bench

go 1.22
