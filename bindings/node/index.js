// squall for Node.js: the random functions of node:crypto and of the Web Crypto API, with the same arguments, results
// and errors, a seeded stream, the status of the generator, and notifications of clones of the machine.
//
// Every call draws from squall, which checks that its state is still unique. No random byte is kept for a later call.
// Arguments that squall does not accept are passed to Node's own function, which throws its error. If Node's function
// returns instead, squall throws.
'use strict';

const crypto = require('node:crypto');
const { EventEmitter } = require('node:events');
const { setImmediate } = require('node:timers');
const { isAnyArrayBuffer, isUint8Array } = require('node:util').types;
const native = require('./native.js');

// Node's own functions, before `squall/register` replaces them.
const stock = {
  randomBytes: crypto.randomBytes,
  randomFill: crypto.randomFill,
  randomFillSync: crypto.randomFillSync,
  randomInt: crypto.randomInt,
  randomUUID: crypto.randomUUID,
  // New in Node.js 24. Before, `randomUUID` throws the same errors.
  randomUUIDv7: crypto.randomUUIDv7 ?? crypto.randomUUID,
  getRandomValues: crypto.webcrypto.getRandomValues.bind(crypto.webcrypto),
};

// Limits of node:crypto: the longest request, and the largest range of a random integer.
const MAX_LENGTH = 2 ** 31 - 1;
const MAX_RANGE = 2 ** 48 - 1;
// The longest request of the Web Crypto API, in bytes.
const MAX_QUOTA = 65536;
// Bytes that a request with a callback generates in one turn of the event loop. It takes about 0.1 ms.
const BYTES_PER_TURN = 2 ** 20;

// Short results go through this memory, which is zero between calls.
const scratch = new Uint8Array(new ArrayBuffer(native.SCRATCH_LENGTH));
const words = new Uint32Array(scratch.buffer, 0, 2);
const fillScratch = native.scratchFiller(scratch);

const isFunction = (value) => typeof value === 'function';
const isFunctionOrAbsent = (value) => value === undefined || isFunction(value);

// Throws Node's own error for these arguments. Node's function gets callbacks without effect in place of the caller's.
function refuse(name, ...args) {
  const withoutEffect = (arg) => (isFunction(arg) ? Object.defineProperty(() => {}, 'name', { value: arg.name }) : arg);
  stock[name](...args.map(withoutEffect));
  throw new TypeError(`squall does not accept these arguments of ${name}`);
}

// The memory of an ArrayBuffer or a view; undefined if `buffer` is neither.
function bytesOf(buffer) {
  if (isUint8Array(buffer)) return buffer;
  if (ArrayBuffer.isView(buffer)) return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return isAnyArrayBuffer(buffer) ? new Uint8Array(buffer) : undefined;
}

// Converts a count of elements to bytes. Returns NaN if it is more than `most`, or if Node.js refuses it.
function toByteCount(count, buffer, most) {
  const bytes = typeof count === 'number' ? count * (buffer.BYTES_PER_ELEMENT || 1) : NaN;
  return bytes >= 0 && bytes <= Math.min(most, MAX_LENGTH) ? Math.floor(bytes) : NaN;
}

// Returns what to fill: the memory, the first byte and the length in bytes; undefined if Node.js refuses the arguments.
function rangeOf(buffer, offset, size) {
  const bytes = bytesOf(buffer);
  if (bytes === undefined) return undefined;
  const start = toByteCount(offset, buffer, bytes.length);
  const left = bytes.length - start;
  const length = size === undefined ? left : toByteCount(size, buffer, left);
  return length >= 0 ? [bytes, start, length] : undefined;
}

// Fills `length` bytes, beginning at index `start`. Throws if the array has fewer: JavaScript would drop what is written
// behind the end of an array whose memory was transferred or shrunk, but the native module refuses it.
function fill(bytes, start, length) {
  if (length > scratch.length || start + length > bytes.length) {
    native.fill(bytes, start, length);
    return;
  }
  fillScratch(length);
  for (let i = 0; i < length; i++) {
    bytes[start + i] = scratch[i];
    scratch[i] = 0;
  }
}

// An integer from 0 to below `range`, each equally likely: D. Lemire, "Fast Random Integer Generation in an Interval"
// (ACM TOMACS 29, 2019), algorithm 5, for words of 32 bits if JavaScript's numbers hold their products.
function below(range) {
  if (range > 2 ** 21) return native.below(range);
  for (;;) {
    fillScratch(4);
    const product = words[0] * range;
    words[0] = 0;
    const low = product >>> 0;
    if (low >= range || low >= 2 ** 32 % range) return (product - low) / 2 ** 32;
  }
}

// Fills in later turns of the event loop, and then calls `done` with an error or null. It is an error if the program has
// transferred or shrunk the memory by then.
function fillInLaterTurns(bytes, start, length, done) {
  setImmediate(() => {
    const now = Math.min(length, BYTES_PER_TURN);
    try {
      native.fill(bytes, start, now);
    } catch (error) {
      done(error);
      return;
    }
    if (now < length) fillInLaterTurns(bytes, start + now, length - now, done);
    else done(null);
  });
}

function randomBytes(size, callback) {
  if (!(typeof size === 'number' && size >= 0 && size <= MAX_LENGTH && isFunctionOrAbsent(callback))) {
    refuse('randomBytes', size, callback);
  }
  size = Math.floor(size);
  // Not from a pool, because `randomBytes(8).buffer` must have these 8 bytes and no others.
  const buffer = size > scratch.length ? Buffer.allocUnsafeSlow(size) : Buffer.alloc(size);
  if (callback === undefined) {
    fill(buffer, 0, size);
    return buffer;
  }
  fillInLaterTurns(buffer, 0, size, (error) => (error ? callback(error) : callback(null, buffer)));
}

function randomFillSync(buffer, offset = 0, size) {
  const [bytes, start, length] = rangeOf(buffer, offset, size) ?? refuse('randomFillSync', buffer, offset, size);
  fill(bytes, start, length);
  return buffer;
}

function randomFill(buffer, offset, size, callback) {
  const args = [buffer, offset, size, callback];
  if (isFunction(offset)) [offset, size, callback] = [0, undefined, offset];
  else if (isFunction(size)) [size, callback] = [undefined, size];
  const range = isFunction(callback) ? rangeOf(buffer, offset, size) : undefined;
  const [bytes, start, length] = range ?? refuse('randomFill', ...args);
  fillInLaterTurns(bytes, start, length, (error) => (error ? callback(error) : callback(null, buffer)));
}

function randomInt(min, max, callback) {
  const args = [min, max, callback];
  if (isFunctionOrAbsent(max)) [min, max, callback] = [0, min, max];
  const isRange = Number.isSafeInteger(min) && Number.isSafeInteger(max) && max > min && max - min <= MAX_RANGE;
  if (!(isRange && isFunctionOrAbsent(callback))) refuse('randomInt', ...args);
  const number = min + below(max - min);
  if (callback === undefined) return number;
  process.nextTick(callback, undefined, number);
}

function checkOptions(name, options) {
  if (options === undefined) return;
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  const { disableEntropyCache = false } = isObject ? options : {};
  if (!isObject || typeof disableEntropyCache !== 'boolean') refuse(name, options);
}

function randomUUID(options) {
  checkOptions('randomUUID', options);
  return native.randomUUID();
}

function randomUUIDv7(options) {
  checkOptions('randomUUIDv7', options);
  return native.randomUUIDv7(Date.now());
}

// Returns the name of a typed array's type, also if it is of another realm; undefined for other values.
const typeOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;

function getRandomValues(typedArray) {
  const isOfIntegers = typeOf.call(typedArray)?.startsWith('Float') === false;
  if (!(isOfIntegers && typedArray.byteLength <= MAX_QUOTA)) refuse('getRandomValues', ...arguments);
  fill(bytesOf(typedArray), 0, typedArray.byteLength);
  return typedArray;
}

function check(isValid, ErrorClass, code, message) {
  if (isValid) return;
  throw Object.assign(new ErrorClass(message), { code });
}

// Expands a key to 2^64 reproducible bytes: AES-256 in counter mode from counter 0, as `squall stream --seed` does.
class Stream {
  #keystream;

  constructor(key) {
    const isText = typeof key === 'string';
    check(isText || isUint8Array(key), TypeError, 'ERR_INVALID_ARG_TYPE', 'The key must be a Uint8Array or a string');
    const bytes = isText ? Buffer.from(key.trim(), 'hex') : key;
    try {
      const isValid = bytes.length === 32 && (!isText || key.trim().length === 64);
      check(isValid, RangeError, 'ERR_OUT_OF_RANGE', 'The key must be 32 bytes, or 64 hexadecimal digits');
      this.#keystream = new native.Keystream(bytes);
    } finally {
      // The bytes of a text lie in Node's pool, which other buffers share, also if the key was refused.
      if (isText) bytes.fill(0);
    }
  }

  read(size) {
    check(typeof size === 'number', TypeError, 'ERR_INVALID_ARG_TYPE', 'The size must be a number');
    check(size >= 0 && size <= MAX_LENGTH, RangeError, 'ERR_OUT_OF_RANGE', `The size must be from 0 to ${MAX_LENGTH}`);
    return this.fill(Buffer.allocUnsafeSlow(Math.floor(size)));
  }

  fill(buffer) {
    const bytes = bytesOf(buffer);
    check(bytes, TypeError, 'ERR_INVALID_ARG_TYPE', 'The buffer must be an ArrayBuffer or a view');
    check(this.#keystream.fill(bytes), RangeError, 'ERR_OUT_OF_RANGE', 'The stream ends after 2^64 bytes');
    return buffer;
  }

  seek(offset) {
    const isInteger = typeof offset === 'bigint' || typeof offset === 'number';
    check(isInteger, TypeError, 'ERR_INVALID_ARG_TYPE', 'The offset must be a number or a bigint');
    const isInRange = (typeof offset === 'bigint' || Number.isSafeInteger(offset)) && offset >= 0 && offset < 2n ** 64n;
    check(isInRange, RangeError, 'ERR_OUT_OF_RANGE', 'The offset must be an integer from 0 to below 2^64');
    this.#keystream.seek(BigInt(offset));
  }
}

// A multiple of 2^-53 from 0 to below 1.
function random() {
  fillScratch(8);
  const number = ((words[0] >>> 5) * 2 ** 26 + (words[1] >>> 6)) * 2 ** -53;
  words[0] = words[1] = 0;
  return number;
}

const status = () => JSON.parse(native.status());

const cloneGeneration = native.cloneGeneration;

// Emits 'clone', with the new generation, whenever the machine may have been cloned, and 'error' if the watch fails.
// The first listener of 'clone' starts the watch. After an error, the next one that is added starts it again.
const clones = new EventEmitter();
let isWatching = false;
clones.on('newListener', (event) => {
  if (event !== 'clone' || isWatching) return;
  native.watchClones((reason) => {
    if (reason === null) {
      clones.emit('clone', cloneGeneration());
      return;
    }
    isWatching = false;
    clones.emit('error', new Error(reason));
  });
  isWatching = true;
});

module.exports = {
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
  getRandomValues,
  random,
  Stream,
  status,
  cloneGeneration,
  clones,
};
