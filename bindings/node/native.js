// Loads the native module for this machine's CPU. If that fails, throws an error of one line that says what it needs.
'use strict';

const { startupSnapshot } = require('node:v8');

const { arch, platform } = process;

if (startupSnapshot?.isBuildingSnapshot?.()) {
  const advice = 'load it when the program starts from the snapshot';
  throw new Error(`squall cannot be part of a startup snapshot, which holds no native modules: ${advice}`);
}
try {
  // Bundlers find files by the text in `require`, and forgive one that is missing within `try`.
  switch (`${platform}-${arch}`) {
    case 'linux-x64':
      module.exports = require('./squall.linux-x64.node');
      break;
    case 'linux-arm64':
      module.exports = require('./squall.linux-arm64.node');
      break;
    default:
      throw new Error('it has no module for them');
  }
} catch (cause) {
  const needs = 'it needs Linux with glibc 2.17 or later on x64 or arm64';
  const [reason] = cause.message.split('\n');
  throw new Error(`squall cannot be loaded on ${platform} ${arch}: ${needs} (${reason})`, { cause });
}
