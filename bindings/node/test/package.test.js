// The package: CommonJS and ES modules, types, threads, and the error on other platforms.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { Worker } = require('node:worker_threads');
const squall = require('squall');
const { folder, run } = require('./helpers.js');

test('ES modules import the same names, and the types list them', async () => {
  const names = Object.keys(squall).sort();
  const imported = await import('squall');
  for (const name of names) assert.equal(imported[name], squall[name]);
  const types = fs.readFileSync(path.join(folder, 'index.d.ts'), 'utf8');
  assert.deepEqual([...types.matchAll(/^export (?:const|function|class) (\w+)/gm)].map(([, name]) => name).sort(), names);
});

test('the status names the version of the package, and the protections', () => {
  const status = squall.status();
  assert.equal(status.version, require('squall/package.json').version);
  assert.ok(['clone_guard', 'fork_guard', 'reseed_guard', 'engine'].every((key) => typeof status[key] === 'string'));
});

test('on another platform, loading fails with one line that says what is needed', () => {
  const message = run(`
    Object.defineProperty(process, 'arch', { value: 'riscv64' });
    try { require('squall') } catch ({ message }) { console.log(JSON.stringify(message.split('\\n'))) }`);
  assert.match(message[0], /^squall cannot be loaded on linux riscv64: it needs Linux with glibc 2\.17 or later on x64 or arm64/);
  assert.equal(message.length, 1);
});

test('threads draw different bytes, and may end while others draw', async () => {
  const draw = `
    const { parentPort } = require('node:worker_threads');
    const squall = require('squall');
    parentPort.postMessage(squall.randomBytes(32).toString('hex'));
    parentPort.postMessage(squall.randomUUID());
    parentPort.postMessage(squall.random());`;
  const drawn = new Set();
  for (let round = 0; round < 3; round++) {
    const workers = Array.from({ length: 4 }, () => new Worker(draw, { eval: true }));
    for (const worker of workers) worker.on('message', (value) => drawn.add(value));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.on('exit', resolve))));
  }
  assert.equal(drawn.size, 36);
});
