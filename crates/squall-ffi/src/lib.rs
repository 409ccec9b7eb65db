//! libsquall, for C and C++.
