//! libsquall-preload.so: squall in the place of getrandom, getentropy, arc4random and /dev/urandom, for programs as they are.
