// The stream: the bytes of AES-256 in counter mode as Node's OpenSSL computes them, from any offset; its end; its errors.
'use strict';

const assert = require('node:assert/strict');
const { createCipheriv } = require('node:crypto');
const test = require('node:test');
const { Stream } = require('squall');

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => 7 * i + 1));

// Bytes from number `offset` on, by OpenSSL.
function expected(offset, length) {
  const counter = Buffer.from((offset / 16n).toString(16).padStart(32, '0'), 'hex');
  const skipped = Number(offset % 16n);
  return createCipheriv('aes-256-ctr', key, counter).update(Buffer.alloc(skipped + length)).subarray(skipped);
}

test('reads give the bytes of AES-256-CTR, however they are split', () => {
  const stream = new Stream(key);
  const parts = [1, 15, 16, 17, 0, 100, 5000, 1 << 20].map((length) => stream.read(length));
  const all = Buffer.concat(parts);
  assert.deepEqual(all, expected(0n, all.length));
  assert.deepEqual(new Stream(` ${key.toString('hex')}\n`).read(40), expected(0n, 40));
});

test('seek moves to any byte', () => {
  const stream = new Stream(key);
  for (const offset of [0, 1, 15, 16, 2 ** 36 - 8, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n + 5n]) {
    stream.seek(offset);
    assert.deepEqual(stream.read(50), expected(BigInt(offset), 50));
  }
});

test('fill writes all of a buffer or a view, and returns it', () => {
  const stream = new Stream(key);
  const memory = new ArrayBuffer(100);
  const view = new Uint32Array(memory, 20, 5);
  assert.equal(stream.fill(view), view);
  assert.deepEqual(Buffer.from(memory), Buffer.concat([Buffer.alloc(20), expected(0n, 20), Buffer.alloc(60)]));
  assert.equal(stream.fill(memory), memory);
  assert.deepEqual(Buffer.from(memory), expected(20n, 100));
});

test('the stream ends after 2^64 bytes, and stays where it is', () => {
  const stream = new Stream(key);
  stream.seek(2n ** 64n - 4n);
  assert.throws(() => stream.read(5), { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
  assert.deepEqual(stream.read(4), expected(2n ** 64n - 4n, 4));
  assert.throws(() => stream.read(1), { code: 'ERR_OUT_OF_RANGE' });
});

test('a key that was text is not left in the pool of buffers, also if it is refused', () => {
  const isInPool = (length) => Buffer.from(Buffer.allocUnsafe(1).buffer).includes(Buffer.alloc(length, 0x5a));
  const text = '5a'.repeat(32);
  new Stream(text);
  for (const refused of [text.slice(2), text.slice(1), `${text}5a`, `${text.slice(2)}zz`]) {
    assert.throws(() => new Stream(refused), { code: 'ERR_OUT_OF_RANGE' });
  }
  assert.equal(isInPool(8), false);
  // The control: it goes through the pool.
  Buffer.from(text, 'hex');
  assert.equal(isInPool(32), true);
});

test('wrong keys, sizes and offsets are errors', () => {
  const stream = new Stream(key);
  const TYPE = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const RANGE = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
  for (const wrong of [undefined, 5, {}, new Uint16Array(32)]) assert.throws(() => new Stream(wrong), TYPE);
  for (const wrong of [key.subarray(1), '', '0'.repeat(63), '0'.repeat(65), 'g'.repeat(64), '0'.repeat(66)]) assert.throws(() => new Stream(wrong), RANGE);
  for (const wrong of [undefined, '5', 5n]) assert.throws(() => stream.read(wrong), TYPE);
  for (const wrong of [-1, NaN, 2 ** 31]) assert.throws(() => stream.read(wrong), RANGE);
  for (const wrong of [undefined, 'buffer', [1]]) assert.throws(() => stream.fill(wrong), TYPE);
  for (const wrong of [undefined, '5']) assert.throws(() => stream.seek(wrong), TYPE);
  for (const wrong of [-1, 1.5, 2 ** 53, -1n, 2n ** 64n]) assert.throws(() => stream.seek(wrong), RANGE);
});
