// Loads the native module for this machine's CPU. If that fails, throws an error of one line that says what it needs.
'use strict';

const { arch, platform } = process;

try {
  module.exports = require(`./squall.${platform}-${arch}.node`);
} catch (cause) {
  const needs = 'it needs Linux with glibc 2.17 or later on x64 or arm64';
  const [reason] = cause.message.split('\n');
  throw new Error(`squall cannot be loaded on ${platform} ${arch}: ${needs} (${reason})`, { cause });
}
