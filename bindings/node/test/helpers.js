// Functions that tests share: they describe results of calls as values to compare, and run programs in another Node.js.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

// The folder of the installed package.
exports.folder = path.dirname(require.resolve('squall/package.json'));

// Describes what a call did: the error that it threw, or the kind of its result.
exports.outcome = (call) => {
  try {
    const result = call();
    return { type: Object.prototype.toString.call(result), length: result?.byteLength };
  } catch ({ constructor, name, code, message }) {
    return { error: constructor.name, name, code, message };
  }
};

// Calls `draw`, which returns bytes, 32 times, and returns the indices of bytes that were not always zero. A random byte
// is always zero with a probability of 2^-256.
exports.written = (draw) => {
  const seen = Uint8Array.from(draw());
  for (let i = 1; i < 32; i++) draw().forEach((byte, at) => (seen[at] |= byte));
  return [...seen.keys()].filter((at) => seen[at]);
};

exports.range = (start, end) => Array.from({ length: end - start }, (_, i) => start + i);

// Runs a program, given as its text, from a file in this folder, and returns what it prints as JSON.
exports.run = (program, { flags = [], type = 'cjs', env = {} } = {}) => {
  const folder = fs.mkdtempSync(path.join(__dirname, 'run-'));
  const file = path.join(folder, `program.${type}`);
  try {
    fs.writeFileSync(file, program);
    const options = { cwd: __dirname, env: { ...process.env, NODE_OPTIONS: '', ...env } };
    return JSON.parse(execFileSync(process.execPath, [...flags, file], options));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
};
