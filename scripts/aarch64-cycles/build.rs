//! Assembles the loops of OpenSSL and AWS-LC, where the environment names their assembly.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(openssl, aws_lc)");
    for (cfg, variable) in [
        ("openssl", "OPENSSL_AES"),
        ("openssl", "OPENSSL_CHACHA"),
        ("aws_lc", "AWS_LC_AES"),
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
        let Ok(source) = env::var(variable) else {
            continue;
        };
        let object = format!("{}/{variable}.o", env::var("OUT_DIR").unwrap());
        let mut compiler = Command::new("aarch64-linux-gnu-gcc");
        compiler.args(["-c", "-march=armv8.2-a+crypto+sha3", "-o", &object, &source]);
        for folder in env::var("INCLUDES").unwrap().split(':') {
            compiler.arg(format!("-I{folder}"));
        }
        assert!(compiler.status().unwrap().success(), "{source}");
        println!("cargo::rustc-link-arg={object}");
        println!("cargo::rustc-cfg={cfg}");
    }
}
