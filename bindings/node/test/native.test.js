// The native module checks memory itself, and keeps no copy of a key.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { folder, range, run, written } = require('./helpers.js');

const native = require(path.join(folder, 'native.js'));
const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const OUT_OF_RANGE = { code: 'ERR_OUT_OF_RANGE' };

test('the scratch memory is filled as far as requested, never beyond its end', () => {
  const scratch = new Uint8Array(native.scratch);
  const fill = (draw) => () => {
    scratch.fill(0);
    draw();
    return scratch;
  };
  assert.equal(scratch.length, 64);
  for (const length of [0, 1, 63, 64]) assert.deepEqual(written(fill(() => native.fillScratch(length))), range(0, length));
  assert.deepEqual(written(fill(native.fillWords)), range(0, 8));
  scratch.fill(0);
  for (const length of [65, 66, 128, 2 ** 32 - 1, -1, undefined, '1', 1n, {}]) assert.throws(() => native.fillScratch(length), OUT_OF_RANGE);
  assert.throws(() => native.fillScratch(), OUT_OF_RANGE);
  assert.ok(scratch.every((byte) => byte === 0));
});

test('the scratch memory cannot be transferred, so it is never freed', () => {
  const { scratch } = native;
  assert.throws(() => structuredClone(scratch, { transfer: [scratch] }));
  assert.deepEqual([scratch.transfer, scratch.resize, scratch.byteLength], [undefined, undefined, 64]);
});

test('two loads with one environment, as in other runtimes, fill each its own scratch memory', { skip: !hasCompiler && 'there is no C compiler' }, (t) => {
  const output = fs.mkdtempSync(path.join(os.tmpdir(), 'squall-'));
  t.after(() => fs.rmSync(output, { recursive: true }));
  const module = path.join(output, 'twice.node');
  const squall = path.join(folder, `squall.linux-${process.arch}.node`);
  execFileSync('cc', ['-shared', '-fPIC', `-DSQUALL="${squall}"`, '-o', module, path.join(__dirname, 'twice.c'), '-ldl']);
  // In a process of its own, where these loads are the first.
  const areFilled = run(
    `const loads = require(process.env.MODULE);
     const areFilled = [loads[0], loads[1], loads[0]].map(({ scratch, fillWords }) => {
       const word = new BigUint64Array(scratch, 0, 1);
       word[0] = 0n;
       fillWords();
       return word[0] !== 0n;
     });
     console.log(JSON.stringify(areFilled));`,
    { env: { MODULE: module } },
  );
  assert.deepEqual(areFilled, [true, true, true]);
});

test('an array is filled within its length, never beyond', () => {
  const memory = new Uint8Array(100);
  const array = memory.subarray(20, 84);
  for (const [start, length] of [[0, 65], [1, 64], [64, 1], [65, 0], [0, Infinity], [2 ** 53, 1], [2 ** 53, 2 ** 53]]) {
    assert.throws(() => native.fill(array, start, length), OUT_OF_RANGE, `${start}, ${length}`);
  }
  assert.ok(memory.every((byte) => byte === 0));
  const places = written(() => (native.fill(array, 1, 63), memory));
  assert.deepEqual(places, range(21, 84));
  for (const length of [0, 16, 31, 33, 64]) assert.throws(() => new native.Keystream(new Uint8Array(length)), OUT_OF_RANGE);
});

test('a keystream has the only copy of its key, and wipes it when it is collected', () => {
  const { before, during, copied, after } = run(
    `const fs = require('node:fs');
     const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
     // Numbers of an array are no bytes in a row.
     const key = Array.from({ length: 32 }, (_, i) => (151 * i + 7) % 256);
     const isKey = (bytes, at) => key.every((byte, i) => bytes[at + i] === byte);
     const memory = fs.openSync('/proc/self/mem');
     const chunk = Buffer.alloc(1 << 20);
     // How often the key is in the bytes from number start on. What was read is erased, because it is memory, too.
     function countIn(start, end) {
       let count = 0;
       for (let at = start; at < end; at += chunk.length - 31) {
         let length;
         try { length = fs.readSync(memory, chunk, 0, Math.min(chunk.length, end - at), BigInt(at)) } catch { continue }
         for (let found = chunk.indexOf(key[0]); found >= 0 && found < length; found = chunk.indexOf(key[0], found + 1)) count += isKey(chunk, found);
         chunk.fill(0);
       }
       return count;
     }
     function countKeys() {
       const writable = fs.readFileSync('/proc/self/maps', 'latin1').match(/^[0-9a-f]+-[0-9a-f]+ rw/gm);
       return writable.map((line) => countIn(...line.slice(0, -3).split('-').map((address) => parseInt(address, 16)))).reduce((a, b) => a + b);
     }
     // Not on V8's own heap: native code would have it moved, and V8 leaves what it moves.
     const bytesOfKey = () => { const bytes = new Uint8Array(new ArrayBuffer(32)); bytes.set(key); return bytes; };
     const counts = { before: countKeys() };
     const bytes = bytesOfKey();
     let stream = new native.Keystream(bytes);
     bytes.fill(0);
     counts.during = countKeys();
     const copy = bytesOfKey();
     counts.copied = countKeys();
     copy.fill(0);
     // Node.js frees what belongs to an object in a later turn than the collection.
     let turns = 0;
     const collected = new FinalizationRegistry(() => { turns = 1; });
     collected.register(stream);
     stream = undefined;
     (function wait() {
       gc();
       if (turns > 0) turns++;
       if (turns < 10) return setImmediate(wait);
       counts.after = countKeys();
       console.log(JSON.stringify(counts));
     })();`,
    { flags: ['--expose-gc'] },
  );
  // An expanded key of AES begins with the key, except in the portable engine.
  assert.ok(during <= 1, during);
  assert.deepEqual({ before, copied, after }, { before: 0, copied: during + 1, after: 0 });
});
