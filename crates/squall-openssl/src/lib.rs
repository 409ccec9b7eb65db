//! A provider that gives OpenSSL 3 its random bytes.
