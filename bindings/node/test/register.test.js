// `squall/register`: which functions draw from squall, in which threads and processes. The control: without it, none do.
'use strict';

const assert = require('node:assert/strict');
const { randomUUIDv7 } = require('node:crypto');
const path = require('node:path');
const test = require('node:test');
const { folder, run } = require('./helpers.js');

// Counts draws from squall, ahead of `squall/register`.
const COUNT_DRAWS = path.join(__dirname, 'count-draws.js');
const REGISTER = ['--require', COUNT_DRAWS, '--require', 'squall/register'];

// How often each of these draws from squall.
const CALLS = `
const array = new Uint8Array(16);
const calls = {
  randomBytes: () => crypto.randomBytes(5), prng: () => crypto.prng(5), rng: () => crypto.rng(5),
  pseudoRandomBytes: () => crypto.pseudoRandomBytes(5), randomFillSync: () => crypto.randomFillSync(array),
  randomInt: () => crypto.randomInt(5), randomUUID: () => crypto.randomUUID(),
  getRandomValues: () => crypto.getRandomValues(array),
  webcrypto: () => crypto.webcrypto.getRandomValues(array), webcryptoUUID: () => crypto.webcrypto.randomUUID(),
  global: () => globalThis.crypto.getRandomValues(array), globalUUID: () => globalThis.crypto.randomUUID(),
  math: () => Math.random(),
  ...(whole.randomUUIDv7 && { randomUUIDv7: () => whole.randomUUIDv7() }),
};
const counts = {};
for (const [name, call] of Object.entries(calls)) {
  const before = globalThis.draws ?? 0;
  call();
  counts[name] = (globalThis.draws ?? 0) - before;
}
const before = globalThis.draws ?? 0;
crypto.randomFill(array, () => {
  counts.randomFill = (globalThis.draws ?? 0) - before;
  console.log(JSON.stringify(counts));
});`;
const REQUIRED = `const crypto = require('node:crypto'), whole = crypto;${CALLS}`;
const NAMES = ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'getRandomValues'];
const IMPORTED = `
import { ${NAMES}, webcrypto, default as whole } from 'node:crypto';
const crypto = { __proto__: whole, ${NAMES}, webcrypto };${CALLS}`;

const all = (counts, expected) => {
  assert.equal(Object.keys(counts).length, randomUUIDv7 ? 15 : 14);
  for (const [name, count] of Object.entries(counts)) assert.equal(count, expected, name);
};

test('with --require, all names draw from squall', () => all(run(REQUIRED, { flags: REGISTER }), 1));
test('with --import, all names draw from squall', () => {
  all(run(REQUIRED, { flags: ['--require', COUNT_DRAWS, '--import', 'squall/register'] }), 1);
});
test('named imports of ES modules draw from squall', () => all(run(IMPORTED, { flags: REGISTER, type: 'mjs' }), 1));
test('without it, no name draws from squall, even if squall is loaded', () => {
  const flags = ['--require', COUNT_DRAWS, '--require', 'squall'];
  all(run(REQUIRED, { flags }), 0);
  all(run(IMPORTED, { flags, type: 'mjs' }), 0);
});

test("the Web Crypto API's methods still throw on other objects and without arguments", () => {
  const errors = `
    const errors = [];
    const { getRandomValues, randomUUID } = crypto;
    for (const call of [() => getRandomValues(new Uint8Array(1)), randomUUID, () => crypto.getRandomValues()]) {
      try { call() } catch ({ name, code, message }) { errors.push({ name, code, message }) }
    }
    console.log(JSON.stringify(errors));`;
  const found = run(errors, { flags: REGISTER });
  assert.equal(found.length, 3);
  assert.deepEqual(found, run(errors));
});

test('a named import of an ES module that was loaded before draws from squall too', () => {
  const program = `
    import { randomBytes } from 'node:crypto';
    const { randomBytes: own } = await import('squall');
    const before = randomBytes === own;
    await import('squall/register');
    console.log(JSON.stringify([before, randomBytes === own]));`;
  assert.deepEqual(run(program, { type: 'mjs' }), [false, true]);
});

test('a name that was copied before is not replaced', () => {
  const [copied, looked_up] = run(
    `const crypto = require('node:crypto');
     const { randomBytes } = crypto;
     require('squall/register');
     const { randomBytes: own } = require('squall');
     console.log(JSON.stringify([randomBytes === own, crypto.randomBytes === own]));`,
  );
  assert.deepEqual([copied, looked_up], [false, true]);
});

// Whether Math.random of a worker and of child processes is squall's, by how they are started.
const descendants = (first = '') => `
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { fork, spawn } = require('node:child_process');
if (isMainThread && !process.send) { ${first} }
const is = !/native code/.test(Math.random);
if (!isMainThread) {
  parentPort.postMessage(is);
} else if (process.send) {
  process.send(is);
} else {
  const started = {
    worker: new Worker(__filename),
    workerOfCode: new Worker("require('node:worker_threads').parentPort.postMessage(!/native code/.test(Math.random))", { eval: true }),
    workerWithoutFlags: new Worker(__filename, { execArgv: [] }),
    fork: fork(__filename),
    spawn: spawn(process.execPath, [__filename], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  };
  const result = { main: is };
  for (const [name, child] of Object.entries(started)) child.on('message', (answer) => { result[name] = answer; });
  process.on('exit', () => console.log(JSON.stringify(result)));
}`;

test('flags reach workers and forks, NODE_OPTIONS everything, --import no worker of code, a call of require nothing', () => {
  const nothing = { main: false, worker: false, workerOfCode: false, workerWithoutFlags: false, fork: false, spawn: false };
  const everything = { main: true, worker: true, workerOfCode: true, workerWithoutFlags: true, fork: true, spawn: true };
  const register = path.join(folder, 'register.js');
  const flags = { ...everything, workerWithoutFlags: false, spawn: false };
  assert.deepEqual(run(descendants()), nothing);
  assert.deepEqual(run(descendants("require('squall/register')")), { ...nothing, main: true });
  assert.deepEqual(run(descendants(), { flags: ['--require', register] }), flags);
  assert.deepEqual(run(descendants(), { flags: ['--import', register] }), { ...flags, workerOfCode: false });
  assert.deepEqual(run(descendants(), { env: { NODE_OPTIONS: `--require ${register}` } }), everything);
  assert.deepEqual(run(descendants(), { env: { NODE_OPTIONS: `--import ${register}` } }), { ...everything, workerOfCode: false });
});
